/** The plugin map in runs of the program with a scripted model: its tools, the cache, and hidden files. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { writeFiles } from "../support/tool_context.ts";

const call = (tool: string, args: Record<string, unknown>) => ({ name: `mcp__map__${tool}`, args });

Deno.test("the tools of map run without approval, also in a second process, and leave out hidden files", async () => {
  const calls = [
    call("repo_map", { focus: "drawCircle" }),
    call("outline", { path: "src/draw.go" }),
    call("find_symbol", { name: "drawCircle", kind: "function" }),
    call("find_references", { name: "drawCircle" }),
    call("outline", { path: "secret/key.ts" }),
    call("find_symbol", { name: "secretKey" }),
  ];
  await using server = startModelServer([{ calls }, { text: "Done." }, { calls }, { text: "Done." }], {
    fallback: { text: "ok" },
    check: { prefix: false },
  });
  const entry = `
[[plugins]]
name = "map"
command = "reasonix"
args = ["plugin", "map"]
[permissions]
deny = ["Read(secret/**)"]
`;
  await using world = await makeWorld(mockConfig(server.url) + entry);
  await writeFiles(world.dir, {
    "src/draw.go": "package draw\n\nfunc drawCircle(radius int) int {\n\treturn radius\n}\n",
    "src/main.go": "package draw\n\nfunc main() {\n\tdrawCircle(2)\n}\n",
    "secret/key.ts": "export const secretKey = 1;\n",
  });
  const runs: string[][] = [];
  for (const _ of [1, 2]) {
    const done = await world.run(["run", "--on-ask", "deny", "look"]);
    assertEquals([done.code, done.stdout.trim()], [0, "Done."], done.stderr);
    const messages: { role: string; content: string }[] = server.requests.at(-1)?.json.messages;
    runs.push(messages.filter(({ role }) => role === "tool").map(({ content }) => content));
  }
  const [first = [], second] = runs;
  assertEquals(second, first);
  const [map = "", outline = "", symbol = "", references = "", refused = "", unknown = ""] = first;
  assertStringIncludes(
    map,
    "src/draw.go:3 func drawCircle(radius int) int\nsrc/main.go:3 func main()\n[2 of 2 definitions in 2 files",
  );
  assertStringIncludes(outline, "1\tsrc/draw.go:3-5 func drawCircle(radius int) int");
  assertStringIncludes(symbol, "1\tsrc/draw.go:3-5 func drawCircle(radius int) int");
  assertStringIncludes(references, "1\tsrc/main.go:4 drawCircle(2)");
  assertMatch(refused, /secret\/key\.ts/);
  assert(!refused.includes("secretKey"), refused);
  assertStringIncludes(unknown, "No definition named secretKey in 2 files");
});
