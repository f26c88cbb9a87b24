/** Several turns of a headless run: continuation, end, and printed output. */
import { type ScriptedTurn, startModelServer } from "../support/model_server.ts";
import { WIRES } from "../support/wires/wires.ts";
import { type Finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

const ROOT = new URL("../../", import.meta.url);
const READ = { id: "a", name: "read_file", args: { path: "a.txt" } };
const SCRIPT: readonly ScriptedTurn[] = [
  { text: "Let me look.", calls: [READ] },
  { text: "I have read the file." },
  { text: "It has two lines.\n%%DONE%%" },
];

interface Ran extends Finished {
  // deno-lint-ignore no-explicit-any
  readonly requests: readonly any[];
}

interface Staging {
  readonly script?: readonly ScriptedTurn[];
  readonly settings?: string;
  readonly provider?: string;
}

async function run(args: readonly string[], staging: Staging = {}): Promise<Ran> {
  const { script = SCRIPT, settings = "", provider = "" } = staging;
  await using server = startModelServer(script);
  await using world = await makeWorld(mockConfig(server.url, settings, provider));
  await world.write("a.txt", "one\ntwo\n");
  const done = await world.run(["run", ...args]);
  return { ...done, requests: server.requests.map(({ json }) => json) };
}

interface Message {
  readonly role: string;
  readonly content: string;
}

function wireOf(kind: string) {
  const wire = WIRES[kind]?.();
  return wire ? { wire } : {};
}

const said = (request: { readonly messages: readonly Message[] }) =>
  request.messages.filter(({ role }) => role === "user").map(({ content }) => content).slice(1);

Deno.test("run --steps starts further turns with a late status until the model reports that it has finished", async () => {
  const { code, stdout, requests } = await run(["--steps", "4", "count"]);
  assertEquals([code, stdout, requests.length], [0, "It has two lines.\n", 3]);
  assertEquals(said(requests[2]), [
    "count",
    "<status>Turn 1 of 4</status>",
    "Go on with the task.",
    "<status>Turn 2 of 4</status>",
  ]);
  assertEquals(new Set(requests.map(({ messages }) => messages[0].content)).size, 1);
  assertStringIncludes(requests[0].messages[0].content, "exactly\n%%DONE%%");
  assert(!JSON.stringify(said(requests[2])).includes("%%"));
});

Deno.test("run with several turns prints the last answer, all texts, or nothing", async () => {
  const cases: readonly (readonly [args: readonly string[], stdout: string])[] = [
    [["--output", "final"], "It has two lines.\n"],
    [["--output", "final", "--stream"], "It has two lines.\n"],
    [["--output", "full"], "Let me look.\nI have read the file.\nIt has two lines.\n%%DONE%%\n"],
    [["--output", "none"], ""],
  ];
  for (const [args, stdout] of cases) {
    const done = await run(["--steps", "3", ...args, "count"]);
    assertEquals([done.code, done.stdout], [0, stdout], args.join(" "));
    const shown = args.includes("final");
    const progress = done.stderr.split("\n").filter((line) =>
      /^(?:Let me look|I have read|It has)/.test(line)
    );
    assertEquals(progress, shown ? ["Let me look.", "I have read the file."] : [], args.join(" "));
  }
  const json = JSON.parse((await run(["--steps", "3", "--output-format", "json", "count"])).stdout);
  assertEquals([json.result, json.num_turns], ["It has two lines.", 3]);
});

Deno.test("run ends several turns at the end mark, but not at a mention of it", async () => {
  const cases: readonly (readonly [answers: readonly string[], requests: number, stdout: string])[] = [
    [["Ready. %%DONE%%"], 1, "Ready.\n"],
    [["Ready.\n%%COMPLETED%%\n"], 1, "Ready.\n"],
    [["%%COMPLETE%%\n\nReady."], 1, "Ready.\n"],
    [["I shall write %%DONE%% at the end.", "Now. **%%DONE%%**"], 2, "Now.\n"],
    [["The answer is 42.", "%%DONE%%"], 2, "The answer is 42.\n"],
    [["one", "two", "three"], 3, "three\n"],
  ];
  for (const [answers, count, stdout] of cases) {
    const done = await run(["--steps", "3", "go"], { script: answers.map((text) => ({ text })) });
    assertEquals([done.requests.length, done.stdout], [count, stdout], answers[0]);
    assertEquals(done.stderr.includes("All 3 turns are used up"), count === 3);
  }
});

Deno.test("run ends several turns with the turn that fails, and counts the cost of all", async () => {
  const priced = "price = { input = 1000000, output = 0 }";
  const answers = [1, 2, 3].map((n) => ({ text: `part ${n}`, usage: { input: 2 } }));
  const costs = await run(["--steps", "3", "--max-cost", "3", "go"], { script: answers, provider: priced });
  assertEquals([costs.code, costs.requests.length, costs.stdout], [4, 2, "part 2\n"]);
  assertMatch(costs.stderr, /cost limit of 3 reached/);
  assertStringIncludes(costs.stderr, "in 4 ");
  const refused = { status: 401, body: { error: { message: "no such key" } } };
  const failed = await run(["--steps", "3", "go"], { script: [{ text: "part 1" }, refused] });
  assertEquals([failed.code, failed.requests.length], [5, 2]);
});

Deno.test("preset memex has five turns and a note about writing, and settings change both", async () => {
  const memex = await run(["--preset", "memex", "count"]);
  assertEquals([memex.stdout, memex.requests.length], ["It has two lines.\n", 3]);
  assertStringIncludes(
    memex.requests[0].messages[0].content,
    "Files are not to be changed in this run; use the",
  );
  assertEquals(said(memex.requests[0])[1], "<status>Turn 1 of 5</status>");
  const own = "[agent_mode]\ndefault_steps = 2\noutput = 'full'\nstatus = false\n[tools]\nwrites = 'deny'\n";
  const set = await run(["go"], { settings: own, script: [{ text: "one" }, { text: "two" }] });
  assertEquals([set.stdout, said(set.requests[1])], ["one\ntwo\n", ["go", "Go on with the task."]]);
  assertStringIncludes(
    set.requests[0].messages[0].content,
    "put the change into your answer as a unified diff",
  );
  const plain = await run(["--steps", "1", "go"], { settings: own, script: [{ text: "one" }] });
  assertEquals(plain.requests.length, 1);
  assert(!plain.requests[0].messages[0].content.includes("%%DONE%%"));
});

Deno.test("run --raw prints the provider's last reply and nothing else", async () => {
  const whole = SCRIPT.map((turn) => ({ ...turn, json: true }));
  const json = await run(["--steps", "3", "--raw", "count"], { script: whole });
  assertEquals(json.code, 0, json.stderr);
  assertEquals(JSON.parse(json.stdout).choices[0].message.content, "It has two lines.\n");
  assertEquals(json.requests.map(({ stream, stream_options }) => [stream, stream_options]), [
    [false, undefined],
    [false, undefined],
    [false, undefined],
  ]);
  // A server that streams although the request does not.
  const events = (await run(["--raw", "count"], { script: [{ text: "Two." }] })).stdout.trimEnd().split("\n");
  assert(events.length > 1);
  assertEquals(events.map((line) => JSON.parse(line).object), events.map(() => "chat.completion.chunk"));
});

for (const kind of ["anthropic", "google", "responses"]) {
  Deno.test(`run --raw prints the reply of a server of kind ${kind}`, async () => {
    await using server = startModelServer([{ text: "Two.", json: true }], wireOf(kind));
    const entry = mockConfig(server.url).replace('kind = "openai"', `kind = "${kind}"`);
    await using world = await makeWorld(entry);
    const { code, stdout, stderr } = await world.run(["run", "--raw", "count"]);
    assertEquals(code, 0, stderr);
    assertStringIncludes(JSON.stringify(JSON.parse(stdout)), '"Two."');
    assertEquals(server.requests[0]?.json.stream, kind === "google" ? undefined : false);
  });
}

Deno.test("run --verbose writes the system prompt once and each message of several turns once", async () => {
  const { stderr } = await run(["--steps", "3", "--verbose", "count"]);
  const times = (text: string) => stderr.split(text).length - 1;
  assertEquals(
    ["--- system ---", "--- user ---\ncount", "Turn 1 of 3</status>", "--- result of a ---", "Let me look."]
      .map(times),
    [1, 1, 1, 1, 1],
  );
  assertStringIncludes(stderr, '--- assistant ---\n(shown above)\nread_file {"path":"a.txt"}');
  const quiet = await run(["--steps", "3", "--verbose", "--quiet", "count"]);
  assertEquals(quiet.stderr, "");
  assertEquals((await run(["--verbose", "count"])).stderr.includes("--- system"), false);
});

Deno.test("run refuses flags of several turns that contradict each other", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
  const cases: readonly (readonly [args: readonly string[], expected: string])[] = [
    [["--raw", "--output", "full"], "Cannot use --raw together with --output full"],
    [["--raw", "--output-format", "jsonl"], "Cannot use --raw together with --output-format jsonl"],
    [["--steps", "2", "--json-schema", "{}"], "Cannot use --json-schema together with 2 turns"],
    [["--steps", "0"], 'Cannot use "0" for --steps: give a whole number above zero'],
    [["--output", "some"], "some"],
  ];
  for (const [args, expected] of cases) {
    const { code, stdout, stderr } = await world.run(["run", ...args, "go"]);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(stdout + stderr, expected);
  }
});

Deno.test("a project cannot set the number of headless turns", async () => {
  await using server = startModelServer([{ text: "one" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("reasonix.toml", "[agent_mode]\ndefault_steps = 9\n");
  assertEquals((await world.run(["run", "go"])).stdout, "one\n");
});

Deno.test("a subagent has exactly one turn", async () => {
  await using server = startModelServer([
    { calls: [{ name: "task", args: { agent: "explore", prompt: "Where is it?" } }] },
    { text: "In a.txt." },
    { text: "So it is there." },
    { text: "It is in a.txt. %%DONE%%" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stdout, stderr } = await world.run(["run", "--steps", "3", "find it"]);
  assertEquals([code, stdout], [0, "It is in a.txt.\n"], stderr);
  const prompts = server.requests.map(({ json }) => json.messages[0].content.includes("exactly\n%%DONE%%"));
  assertEquals(prompts, [true, false, true, true]);
});

Deno.test("the example of the page about several turns matches the output of the program", async () => {
  const page = await Deno.readTextFile(new URL("docs/agent-mode.md", ROOT));
  const [, line = "", shown = ""] = /```console\n\$ reasonix run (.*)\n([^]*?)```/.exec(page) ?? [];
  const args = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
  const script = [{ calls: [READ] }, ...SCRIPT.slice(1)];
  const { stdout, stderr } = await run(args, { script });
  const lines = stderr.split("\n").filter((text) => text !== "" && !/^· \d+ step/.test(text));
  assertEquals(`${lines.join("\n")}\n${stdout}`, shown);
});
