import { assertEquals } from "../../support/assert.ts";
import { checkArguments } from "../../../src/tool/arguments.ts";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    all: { type: "boolean" },
    mode: { type: "string", enum: ["files", "count"] },
    names: { type: "array", items: { type: "string" } },
    edits: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { old: { type: "string" } },
        required: ["old"],
        additionalProperties: false,
      },
    },
  },
  required: ["path"],
  additionalProperties: false,
};

function check(given: unknown): unknown {
  const result = checkArguments(SCHEMA, given, { synonyms: { file: "path", note: null } });
  return "problem" in result ? result.problem : result.args;
}

Deno.test("checkArguments returns valid arguments unchanged", () => {
  const args = { path: "a", limit: 3, all: true, mode: "count", names: ["x"], edits: [{ old: "y" }] };
  assertEquals(check(args), args);
});

Deno.test("checkArguments fixes values with only one meaning", () => {
  assertEquals(check({ path: 5, limit: "3", all: "True", mode: "FILES" }), {
    path: "5",
    limit: 3,
    all: true,
    mode: "files",
  });
  assertEquals(check({ path: "a", names: "x", edits: { old: "y" } }), {
    path: "a",
    names: ["x"],
    edits: [{ old: "y" }],
  });
  assertEquals(check({ path: "a", names: '["x","y"]', limit: null }), { path: "a", names: ["x", "y"] });
  assertEquals(check('{"path":"a"}'), { path: "a" });
  assertEquals(check({ path: "a", limit: 0 }), { path: "a" });
  assertEquals(check({ path: "a", mode: "files_with_matches" }), { path: "a", mode: "files" });
});

Deno.test("checkArguments renames synonyms unless the real name is present", () => {
  assertEquals(check({ file: "a", note: "why" }), { path: "a" });
  assertEquals(check({ file: "a", path: "b" }), { path: "b" });
});

Deno.test("checkArguments reports the field, the value and the expected type", () => {
  assertEquals(check({}), "path is required (a string)");
  assertEquals(check({ path: ["a"] }), 'path must be a string, got ["a"]');
  assertEquals(check({ path: "a", limit: "many" }), 'limit must be an integer, got "many"');
  assertEquals(check({ path: "a", limit: 1.5 }), "limit must be an integer, got 1.5");
  assertEquals(check({ path: "a", limit: -1 }), "limit must be at least 1, got -1");
  assertEquals(check({ path: "a", limit: 101 }), "limit must be at most 100, got 101");
  assertEquals(check({ path: "a", mode: "x" }), 'mode must be one of files, count, got "x"');
  assertEquals(check({ path: "a", all: 1 }), "all must be a boolean, got 1");
  assertEquals(check({ path: "a", edits: [] }), "edits must have at least 1 entries, got 0");
  assertEquals(check({ path: "a", edits: [{ old: "x" }, {}] }), "edits[1].old is required (a string)");
  assertEquals(
    check({ path: "a", limt: 3 }),
    "limt is not an argument; did you mean limit? (known: path, limit, all, mode, names, edits)",
  );
  assertEquals(check([1]), "arguments must be an object, got [1]");
});

Deno.test("checkArguments ignores keywords outside its schema subset", () => {
  const schema = { type: "object", properties: { x: { anyOf: [{ type: "string" }, { type: "null" }] } } };
  assertEquals(checkArguments(schema, { x: null, other: 1 }), { args: { x: null, other: 1 } });
});
