// What the gateway made of a tool: two definitions become one outline, whose lines say what happened to them. Pure.
//
// The definitions are walked side by side. An object's keys are matched by name, or by the renaming; a list of plain
// values by value; other lists by place. Whatever has no partner is taken away or added, as a whole.

const DEEPEST = 60;
const SCHEMAS = new Set(["inputSchema", "outputSchema"]);

export const WORDS = {
  hidden: "hidden from agents",
  sent: "hidden, always sent by the gateway",
  renamed: "renamed",
  narrowed: "no longer allowed",
  required: "asked for",
  optional: "no longer asked for",
  result: "left out of results",
  removed: "removed",
  added: "added",
  changed: "changed",
};

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isPlain = (value) => value === null || typeof value !== "object";
const own = (object, key) => Object.hasOwn(object, key);

export function same(one, other, depth = 0) {
  if (Object.is(one, other)) return true;
  if (isPlain(one) || isPlain(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  if (depth > DEEPEST) return JSON.stringify(one) === JSON.stringify(other);
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length
    && keys.every((key) => own(other, key) && same(one[key], other[key], depth + 1));
}

/** Whether agents see the tool otherwise than its server defines it. */
export const isChanged = (tool) => isPublished(tool) && !same(tool.original, tool.published);

/** A tool that agents do not get has no published definition, or an empty one. */
export const isPublished = (tool) => isObject(tool.published) && Object.keys(tool.published).length > 0;

/** The outline: `lines` of {mark, depth, text, word}, and `changes` of {kind, key, to, part, field, isField}. */
export function compare(tool) {
  const walk = new Walk(tool.edits ?? null);
  walk.objects(tool.original ?? {}, tool.published ?? {}, 0, { part: "", field: "" });
  return { lines: walk.lines, changes: walk.changes };
}

/** One definition alone, in the same form. */
export function outline(definition) {
  const walk = new Walk(null);
  for (const [key, value] of Object.entries(definition ?? {})) walk.whole(" ", key, value, 0, "");
  return walk.lines;
}

class Walk {
  constructor(edits) {
    this.lines = [];
    this.changes = [];
    this.edits = edits && {
      hidden: new Set(edits.hidden ?? []),
      sent: new Set(edits.sent ?? []),
      renamed: new Map(Object.entries(edits.renamed ?? {})),
    };
  }

  line(mark, depth, text, word = "") {
    this.lines.push({ mark, depth, text, word });
  }

  /** A value that stands on one side only. The word is said once. */
  whole(mark, label, value, depth, word) {
    if (isPlain(value)) return this.line(mark, depth, `${label}: ${JSON.stringify(value)}`, word);
    const entries = Object.entries(value);
    if (!entries.length || depth > DEEPEST) return this.line(mark, depth, `${label}: ${brief(value)}`, word);
    this.line(mark, depth, `${label}:`, word);
    for (const [key, item] of entries) this.whole(mark, Array.isArray(value) ? "-" : key, item, depth + 1, "");
    return undefined;
  }

  pair(label, before, after, depth, place) {
    if ((depth > DEEPEST || isPlain(before)) && same(before, after)) {
      this.line(" ", depth, `${label}: ${isPlain(before) ? JSON.stringify(before) : brief(before)}`);
    } else if (depth <= DEEPEST && isObject(before) && isObject(after)) {
      this.head(label, before, after, depth);
      this.objects(before, after, depth + 1, place);
    } else if (depth <= DEEPEST && Array.isArray(before) && Array.isArray(after)) {
      this.head(label, before, after, depth);
      this.lists(before, after, depth + 1, place);
    } else {
      this.note("changed", place, depth === 0 ? after : undefined);
      this.whole("-", label, before, depth, WORDS.changed);
      this.whole("+", label, after, depth, WORDS.changed);
    }
  }

  head(label, before, after, depth) {
    const empty = !Object.keys(before).length && !Object.keys(after).length;
    this.line(" ", depth, empty ? `${label}: ${brief(before)}` : `${label}:`);
  }

  objects(before, after, depth, place) {
    const renamed = place.fields ? this.renamings(before, after, place) : new Map();
    const taken = new Set(renamed.values());
    for (const [key, value] of Object.entries(before)) {
      const inner = within(place, key);
      if (inner.fields) inner.requiredNames = before.required;
      if (renamed.has(key)) this.renamedField(key, renamed.get(key), value, after, depth, inner);
      else if (own(after, key) && !taken.has(key)) this.pair(key, value, after[key], depth, inner);
      else this.gone(key, value, depth, inner);
    }
    for (const [key, value] of Object.entries(after)) {
      if (own(before, key) ? renamed.has(key) && !taken.has(key) : !taken.has(key)) {
        const inner = within(place, key);
        if (key === "enum" && inner.field && Array.isArray(value)) this.note("narrowed", inner, value);
        else this.note("added", inner);
        this.whole("+", key, value, depth, WORDS.added);
      }
    }
  }

  renamedField(key, name, value, after, depth, inner) {
    this.note("renamed", inner, name);
    this.line("-", depth, `${key}:`, `${WORDS.renamed} to ${name}`);
    this.line("+", depth, `${name}:`, `${WORDS.renamed} from ${key}`);
    if (isObject(value) && isObject(after[name])) this.objects(value, after[name], depth + 1, inner);
  }

  gone(key, value, depth, place) {
    const kind = place.isField ? this.fate(place) : "removed";
    this.note(kind, place);
    this.whole("-", key, value, depth, WORDS[kind]);
  }

  /** What became of a field that agents do not see. One that is required and gone can only be sent by the gateway. */
  fate(place) {
    if (place.part === "outputSchema") return "result";
    const known = this.edits;
    if (known && matches(known.sent, place)) return "sent";
    if (known && matches(known.hidden, place)) return "hidden";
    return place.required ? "sent" : "hidden";
  }

  /** Fields of one object: the server's name → the agents'. Told by the override, else by an equal schema. */
  renamings(before, after, place) {
    const found = new Map();
    const lost = Object.keys(before).filter((key) => !own(after, key));
    const fresh = Object.keys(after).filter((key) => !own(before, key));
    for (const key of Object.keys(before)) {
      const inner = within(place, key);
      const told = this.edits?.renamed.get(inner.field) ?? null;
      if (told && own(after, told)) found.set(key, told);
    }
    if (this.edits) return found;
    for (const key of lost) {
      const like = (name) => same(before[key], after[name]);
      const candidates = fresh.filter(like);
      const rivals = lost.filter((other) => same(before[other], before[key]));
      if (candidates.length === 1 && rivals.length === 1) found.set(key, candidates[0]);
    }
    return found;
  }

  lists(before, after, depth, place) {
    if ([...before, ...after].every(isPlain)) return this.values(before, after, depth, place);
    before.forEach((item, index) => {
      if (index < after.length) this.pair("-", item, after[index], depth, place);
      else this.whole("-", "-", item, depth, WORDS.removed);
    });
    after.slice(before.length).forEach((item) => this.whole("+", "-", item, depth, WORDS.added));
    return undefined;
  }

  values(before, after, depth, place) {
    const left = new Set(after);
    const known = new Set(before);
    const fewer = place.key === "enum";
    const lost = { enum: WORDS.narrowed, required: WORDS.optional }[place.key] ?? WORDS.removed;
    if (fewer && before.some((item) => !left.has(item))) this.note("narrowed", place, after);
    else if (place.key !== "required" && !same(before, after)) this.note("changed", place); // the fields tell of the former
    for (const item of before) {
      if (left.has(item)) this.line(" ", depth, `- ${JSON.stringify(item)}`);
      else this.line("-", depth, `- ${JSON.stringify(item)}`, lost);
    }
    for (const item of after) {
      if (!known.has(item)) this.line("+", depth, `- ${JSON.stringify(item)}`, place.key === "required" ? WORDS.required : WORDS.added);
    }
  }

  note(kind, place, to = undefined) {
    this.changes.push({ kind, key: place.key, to, part: place.part, field: place.field, isField: Boolean(place.isField) });
  }
}

function matches(paths, place) {
  if (!place.shared) return paths.has(place.field);
  // Inside of shared definitions there is no path of its own; the last name has to do.
  return [...paths].some((path) => path === place.key || path.endsWith(`.${place.key}`));
}

/** Where a key leads: which field of the arguments, and whether its children are fields. */
function within(place, key) {
  if (!place.part) return { part: key, key, field: "", fields: false };
  if (place.fields) {
    const name = key.replaceAll(".", "\\.");
    return {
      part: place.part, key, isField: true, shared: place.shared, fields: false,
      field: place.field ? `${place.field}.${name}` : name,
      required: Array.isArray(place.requiredNames) && place.requiredNames.includes(key),
    };
  }
  const fields = key === "properties" && SCHEMAS.has(place.part);
  const next = { part: place.part, key, field: place.field, fields, shared: place.shared };
  if (key === "items") next.field = `${place.field}[]`;
  if (key === "$defs" || key === "definitions") next.shared = true;
  return next;
}

function brief(value) {
  if (!Object.keys(value).length) return Array.isArray(value) ? "[]" : "{}";
  return Array.isArray(value) ? "[…] (too deep to show)" : "{…} (too deep to show)";
}
