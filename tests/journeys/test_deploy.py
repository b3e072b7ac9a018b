"""What `deploy/` starts: as much of it as can be held against our own command line without a container engine."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from awf.application.doctor.settings import OWN_VARIABLES
from awf.bootstrap import App
from awf.bootstrap.gateways import GatewayHouse
from awf.interfaces.cli.app import cli

pytestmark = pytest.mark.journey
ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"] == "awf"]
UNITS = sorted((DEPLOY / "systemd").iterdir())
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def parsed(arguments):
    """What our command line makes of these words; it raises for what it does not know."""
    name, command, context = "awf", cli, None
    while isinstance(command, click.Group):
        context = click.Context(command, context)
        name, command, arguments = command.resolve_command(context, list(arguments))
    return command.make_context(name, list(arguments), context)


def lines(unit, key):
    text = unit.read_text(encoding="utf-8")
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def steps(instruction):
    return re.findall(rf"^{instruction} (.*)$", CONTAINERFILE, re.MULTILINE)


# -- compose -----------------------------------------------------------------------------------------------------------


def test_there_are_a_database_two_workers_two_gateways_and_a_balancer():
    assert sorted(OURS) == ["gateway-1", "gateway-2", "worker-1", "worker-2"]
    assert sorted(SERVICES) == sorted([*OURS, "postgres", "balancer"])


@pytest.mark.parametrize("name", OURS)
def test_what_a_container_runs_is_understood_by_our_command_line(name):
    service = SERVICES[name]
    context = parsed(service["command"])
    assert context.info_name in {"worker", "serve"}
    test = service["healthcheck"]["test"]
    if test[1] == "awf":
        assert parsed(test[2:]).info_name == "history"
    else:
        compile(test[3], "healthcheck", "exec")
        assert f":{context.params['port']}/readyz" in test[3]


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_a_container_is_one_that_awf_reads(name):
    variables = {one for one in SERVICES[name]["environment"] if one.startswith("AWF_")}
    assert "AWF_DATABASE_URL_FILE" in variables
    assert variables <= OWN_VARIABLES


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_watched_and_refers_to_nothing_that_is_missing(name):
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert set(service.get("depends_on", {})) <= set(SERVICES)
    assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
    named = [one.split(":")[0] for one in service.get("volumes", []) if not one.startswith((".", "$"))]
    assert set(named) <= set(COMPOSE["volumes"])
    assert "/" not in service["image"]  # no registry is named


@pytest.mark.parametrize("name", OURS)
def test_a_container_of_ours_is_not_root_and_may_write_where_it_must_only(name):
    service = SERVICES[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_each_gateway_tells_the_others_its_own_name_and_port():
    told = [SERVICES[name]["environment"]["AWF_GATEWAY_ADVERTISE"] for name in ("gateway-1", "gateway-2")]
    assert told == ["http://gateway-1:8931", "http://gateway-2:8931"]


def test_no_secret_stands_in_a_file_of_ours():
    for file in DEPLOY.rglob("*"):
        if file.is_file() and file.name != "README.md":
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"postgres(ql)?://[^\s/]*:[^\s/]*@", text), file
            assert "POSTGRES_PASSWORD:" not in text


def test_the_balancer_knows_the_gateways_and_nobody_else():
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert re.findall(r"^\s*server (\S+:\d+)", text, re.MULTILINE) == ["gateway-1:8931", "gateway-2:8931"]
    assert text.count("{") == text.count("}")
    for needed in ("proxy_buffering off;", "proxy_set_header Host $http_host;", "proxy_http_version 1.1;"):
        assert needed in text
    assert "non_idempotent" not in text  # a call must not happen twice
    statements = [line.split("#")[0].strip() for line in text.splitlines()]
    assert all(line.endswith((";", "{", "}")) for line in statements if line)


# -- the gateway's file ------------------------------------------------------------------------------------------------


def test_the_gateways_file_is_one(tmp_path):
    """With a token in a file, as the container has it."""
    token = tmp_path / "token"
    token.write_text("a-token-that-nobody-guesses\n")
    text = (
        (DEPLOY / "gateway.yaml")
        .read_text(encoding="utf-8")
        .replace("/run/secrets/gateway_token", str(token))
    )
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    house = GatewayHouse(App(cwd=str(tmp_path), environment={"HOME": str(tmp_path)}), str(file))
    assert house.file.listen.tokens == ["a-token-that-nobody-guesses"]
    assert house.file.listen.needs_token
    assert house.file.audit is not None


# -- systemd -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_what_a_unit_starts_is_understood_by_our_command_line(unit):
    (line,) = lines(unit, "ExecStart")
    program, *arguments = shlex.split(line.replace("%i", "8931"))
    assert program.endswith("/bin/awf")
    context = parsed(arguments)
    if context.info_name == "worker":
        (patience,) = lines(unit, "TimeoutStopSec")
        assert int(patience) > context.params["drain"]  # it may use all of it


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_variable_of_a_unit_is_one_that_awf_reads(unit):
    variables = {line.partition("=")[0] for line in lines(unit, "Environment")}
    assert "AWF_DATABASE_URL_FILE" in variables
    assert variables <= OWN_VARIABLES
    assert lines(unit, "User") == ["awf"]


def test_systemd_has_nothing_to_say_against_the_units(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here")
    program = tmp_path / "awf"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copies = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name)
        text = unit.read_text(encoding="utf-8")
        copies[-1].write_text(text.replace("/opt/awf/bin/awf", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, copies)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [
        line for line in done.stderr.splitlines() if any(unit.name.split(".")[0] in line for unit in UNITS)
    ]
    assert ours == []


# -- the image ---------------------------------------------------------------------------------------------------------


def test_the_image_is_not_root_and_names_no_registry():
    assert steps("USER") == ["10001:10001"]
    assert {line.split(" ")[0] for line in steps("FROM")} == {"python:3.13-slim"}
    assert steps("ENTRYPOINT") == ['["awf"]']
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text(encoding="utf-8").split()
    copied = [word for line in steps("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert {f"!{word}" for word in copied} == {word for word in ignored if word.startswith("!")}
    assert all((ROOT / word).exists() for word in copied)


@pytest.mark.timeout(900)
def test_its_steps_install_a_command_that_works(tmp_path):
    """Those of the first stage, in a folder that holds what the image would get, and nothing else."""
    place, source = tmp_path / "opt", tmp_path / "src"
    source.mkdir()
    for line in steps("COPY"):
        if "--from" in line:
            continue
        *words, target = line.split()
        for word in words:
            if (ROOT / word).is_dir():
                shutil.copytree(ROOT / word, source / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / word, source / target)
    runs = [line for line in steps("RUN") if "/opt/awf" in line]
    assert len(runs) == 2
    for line in runs:
        words = shlex.split(line.replace("/opt/awf", str(place)))
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(words, cwd=source, capture_output=True, text=True, check=False)
        if done.returncode and "No matching distribution" in done.stderr:
            pytest.skip(f"packages cannot be had here: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr[-3000:]
    awf = str(place / "bin" / "awf")
    told = subprocess.run(
        [awf, "gateway", "serve", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "--advertise" in told.stdout
    found = subprocess.run(
        [awf, "doctor"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
    )  # fmt: skip
    assert "extra postgres" in found.stdout
    assert "installed, for teams" in found.stdout, found.stdout
