// The shared cases of the tool gateway, played with the Node class. src/awf/testing/gateway_cases.py says what steps mean.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { GatewayError, ToolGateway } from "../lib/index.js";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.AWF_CASES ?? join(here, "../../../tests/contracts/tool_gateway");
const { cases } = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
const names = { python: process.env.AWF_CASES_PYTHON ?? "python3", server: join(folder, "tool_server.py") };

for (const one of cases) {
  test(one.name, async () => {
    const workspace = mkdtempSync(join(tmpdir(), "awf-cases-"));
    const gateway = new ToolGateway({ workspace, ...one.options });
    try {
      await play(one, gateway);
    } finally {
      await gateway.close();
      rmSync(workspace, { recursive: true });
    }
  });
}

async function play(one, gateway) {
  const known = { ...names };
  for (const [at, step] of one.steps.entries()) {
    const where = `step ${at + 1} (${step.do})`;
    const given = filled(step.args, known);
    if (step.raises !== undefined) {
      await refused(step, () => gateway[step.do](...given), where);
      continue;
    }
    let result = await gateway[step.do](...given);
    if (step.expect !== undefined) {
      hold(result, filled(step.expect, known), where, known);
    }
    for (const [key, first, second] of step.same ?? []) {
      assert.equal(result[first][key], result[second][key], `${where}: ${key}`);
    }
    for (const [key, first, second] of step.differ ?? []) {
      assert.notEqual(result[first][key], result[second][key], `${where}: ${key}`);
    }
    if (step.save !== undefined) {
      for (const key of step.at ?? []) {
        result = result[key];
      }
      known[step.save] = result;
    }
  }
}

async function refused(step, work, where) {
  let error;
  try {
    await work();
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof GatewayError, `${where}: ${error}`);
  assert.ok([error.code, ...error.problems.map((one) => one.code)].includes(step.raises), `${where}: ${error.code}`);
  if (step.problems !== undefined) {
    assert.deepEqual(error.problems.map((one) => one.path.join(".")).sort(), [...step.problems].sort(), where);
  }
}

function filled(value, known) {
  if (typeof value === "string" && value.startsWith("$")) {
    return known[value.slice(1)] ?? value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => filled(item, known));
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, known)]));
  }
  return value;
}

function hold(found, wanted, where, known) {
  if (Array.isArray(wanted)) {
    assert.ok(Array.isArray(found), `${where}: no list`);
    assert.equal(found.length, wanted.length, `${where}: ${JSON.stringify(found)}`);
    wanted.forEach((item, at) => hold(found[at], item, `${where}[${at}]`, known));
  } else if (wanted !== null && typeof wanted === "object") {
    const mark = Object.keys(wanted).find((key) => key.startsWith("$"));
    if (mark !== undefined) {
      holdMark(found, mark, wanted[mark], where, known);
      return;
    }
    assert.ok(found !== null && typeof found === "object", `${where}: no object`);
    for (const [key, item] of Object.entries(wanted)) {
      hold(found[key], item, `${where}.${key}`, known);
    }
  } else {
    assert.equal(found, wanted, where);
  }
}

function holdMark(found, mark, said, where, known) {
  const fits = {
    $contains: () => typeof found === "string" && found.includes(said),
    $hash: () => /^[0-9a-f]{64}$/.test(found),
    $number: () => Number.isInteger(found) && found >= 0,
    $absent: () => found === undefined || found === null,
    $save: () => {
      known[said] = found;
      return true;
    },
  };
  assert.ok(fits[mark](), `${where}: ${JSON.stringify(found)} does not fit ${mark} ${said}`);
}
