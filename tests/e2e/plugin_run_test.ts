/** The example plugin in runs of the real program, with a scripted model: tools, prompt and resources. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, programFile, type World } from "../support/program.ts";

const TEXT = "one two 三\n";
const call = (tool: string) => ({ calls: [{ name: `mcp__example__${tool}`, args: { text: TEXT } }] });

// deno-lint-ignore no-explicit-any
type Json = any;

/** The events of a run in their order. */
async function events(world: World, task: string): Promise<Json[]> {
  const done = await world.run(["run", "--output-format", "jsonl", task]);
  assertEquals(done.code, 0, done.stderr);
  return done.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Runs with the plugin of `entry`: the first run waits for it, the second does not. */
async function drive(entry: string): Promise<void> {
  const turns = [call("wordcount"), call("echo"), { text: "Counted." }];
  await using server = startModelServer([...turns, ...turns], {
    fallback: { text: "ok" },
    check: { prefix: false },
  });
  await using world = await makeWorld(`${mockConfig(server.url)}\n[[plugins]]\nname = "example"\n${entry}`);
  const offered = (request: number) =>
    server.requests[request]?.json.tools.map((tool: Json) => tool.function.name);
  const last = (request: number) => server.requests[request]?.json.messages.at(-1).content;
  for (const first of [0, 3]) {
    const seen = await events(world, "count");
    const tools = offered(first).filter((name: string) => name.startsWith("mcp__"));
    assertEquals(tools, ["mcp__example__echo", "mcp__example__wordcount"]);
    assertStringIncludes(last(first + 1), '{"lines":1,"words":3,"characters":10}');
    assertStringIncludes(last(first + 2), TEXT.trim());
    const prefix = seen.findIndex(({ type }) => type === "context.prefix");
    const starting = seen.findIndex(({ type, state }) => type === "mcp.server" && state === "starting");
    const notices = seen.filter(({ type, code }) => type === "notice" && code === "mcp").map(({ text }) =>
      text
    );
    const isFirst = first === 0;
    assertEquals(
      notices,
      isFirst ? ["Starting example for the first time (waiting at most 5 s)"] : [],
    );
    assert(starting >= 0 && starting < prefix === isFirst, "it did not start when it should");
  }
  await world.run(["run", "/mcp__example__summarize 'one sentence'"]);
  assertStringIncludes(last(6), "Summarize this conversation: one sentence.");
  await world.run(["run", "look at @example:example://guide and @example:example://greeting/Ada"]);
  assertStringIncludes(last(7), "the tools `echo` and `wordcount`");
  assertStringIncludes(last(7), "Hello, Ada!");
}

Deno.test("the example plugin works in a run over its standard streams", async () => {
  const args = ["run", ...START_FLAGS, "--no-config", await programFile(), "plugin", "example"];
  await drive(`command = ${JSON.stringify(Deno.execPath())}\nargs = ${JSON.stringify(args)}\n`);
});

Deno.test("the example plugin works in a run over HTTP", async () => {
  await using world = await makeWorld();
  const child = await world.spawn(["plugin", "example", "--http", "0"], { stdin: "null" });
  const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const [url = ""] = /http\S+/.exec((await lines.read()).value ?? "") ?? [];
    await drive(`type = "http"\nurl = "${url}"\n`);
  } finally {
    child.kill("SIGTERM");
    while (!(await lines.read()).done) { /* until it has closed */ }
    await child.stdout.cancel();
    await child.status;
  }
});
