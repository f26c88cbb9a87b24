/**
 * The official servers in a run of the program. They are not among the packages of the project: the test runs
 * where `REASONIX_MCP_SERVERS` names a directory in which they were installed, by
 * `npm install @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
 * @modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking`.
 */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { needs } from "../support/tools.ts";

const DIRECTORY = Deno.env.get("REASONIX_MCP_SERVERS") ?? "";
const NAMES = ["everything", "filesystem", "memory", "sequential-thinking"];

const isThere = DIRECTORY !== "" && NAMES.every((name) => {
  try {
    return Deno.statSync(`${DIRECTORY}/node_modules/.bin/mcp-server-${name}`).isFile;
  } catch {
    return false;
  }
});

const THOUGHT = { thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
const ADA = { entities: [{ name: "Ada", entityType: "person", observations: ["likes 数学"] }] };

/** Calls in order, with the required text of each result. */
const CALLS: readonly (readonly [tool: string, args: Record<string, unknown>, result: RegExp])[] = [
  ["everything__echo", { message: "世界" }, /^Echo: 世界$/],
  ["everything__get-sum", { a: 1, b: 2 }, /^The sum of 1 and 2 is 3\.$/],
  ["everything__get-tiny-image", {}, /\[image: image\/png, 4 KB, saved as \S+\.png\]/],
  ["everything__get-structured-content", { location: "New York" }, /^\{"temperature":.*\}$/],
  ["everything__get-resource-links", { count: 2 }, /\[resource demo:\/\/resource\/dynamic\/text\/\d/],
  ["everything__get-resource-reference", { resourceType: "Text", resourceId: 1 }, /<resource uri="demo:/],
  ["everything__trigger-long-running-operation", { duration: 0.2, steps: 2 }, /operation completed/],
  ["everything__get-roots-list", {}, /URI: file:\/\//],
  ["filesystem__write_file", { path: "a.txt", content: "hello" }, /^Successfully wrote to a\.txt$/],
  ["filesystem__read_text_file", { path: "a.txt" }, /^hello$/],
  ["filesystem__read_text_file", { path: "/etc/passwd" }, /^error: Access denied/],
  ["memory__create_entities", ADA, /likes 数学/],
  ["memory__read_graph", {}, /likes 数学/],
  ["sequential-thinking__sequentialthinking", THOUGHT, /"thoughtHistoryLength": 1/],
];

Deno.test({
  ...needs("official MCP servers", isThere, "the official servers work in a run", "they are not installed"),
  fn: async () => {
    const calls = CALLS.map(([tool, args]) => ({ calls: [{ name: `mcp__${tool}`, args }] }));
    await using server = startModelServer([...calls, { text: "done" }], { check: { prefix: false } });
    await using world = await makeWorld();
    const args: Readonly<Record<string, string>> = {
      everything: '"stdio"',
      filesystem: JSON.stringify(world.dir),
    };
    const tables = NAMES.map((name) =>
      `[[plugins]]\nname = "${name}"\ncommand = ${
        JSON.stringify(`${DIRECTORY}/node_modules/.bin/mcp-server-${name}`)
      }\n` +
      `args = [${args[name] ?? ""}]\nenv = { MEMORY_FILE_PATH = "${world.home}/memory.json" }\n`
    );
    const allow = JSON.stringify(NAMES.map((name) => `mcp__${name}`));
    const rules =
      `[permissions]\nallow = ${allow}\n[tools]\nmcp_startup_wait_seconds = 60\nmcp_index_above_tokens = 0\n`;
    await Deno.writeTextFile(
      `${world.home}/config.toml`,
      mockConfig(server.url, "", tables.join("\n")) + rules,
    );
    const done = await world.run(["run", "try them"]);
    assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
    for (const [at, [tool, , result]] of CALLS.entries()) {
      assertMatch(server.requests[at + 1]?.json.messages.at(-1).content, result, tool);
    }
    assert((await Deno.readTextFile(`${world.dir}/a.txt`)) === "hello");
  },
});
