/** Effects of Claude Code's flags on a run, in both spellings. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const PRICE = "price = { input = 1000000, output = 1000000 }";
const look = (id: string) => ({ calls: [{ id, name: "ls", args: { path: "." } }] });

/** `--flag value` and `--flag=value`. */
const forms = (
  flag: string,
  value: string,
): readonly (readonly string[])[] => [[flag, value], [`${flag}=${value}`]];

async function play(flags: readonly string[], { script = [{ text: "hi" }], provider = "" }: {
  script?: Parameters<typeof startModelServer>[0];
  provider?: string;
} = {}) {
  await using server = startModelServer(script, { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url, "", provider));
  await world.write("prompt.md", "You are a parrot.");
  const done = await world.run(["-p", "go", "--output-format", "stream-json", "--verbose", ...flags]);
  const lines = readSdkLines(done.stdout);
  return { ...done, lines, result: lines.at(-1), requests: server.requests };
}

Deno.test("--max-turns ends the run after N rounds of calls", async () => {
  for (const flag of forms("--max-turns", "1")) {
    const { code, result } = await play(flag, { script: [look("c1"), look("c2")].slice(0, 1) });
    assertEquals([flag, code, result.subtype, result.errors.length], [flag, 4, "error_max_turns", 1]);
  }
  assertEquals((await play(["--max-turns", "0"]).catch(() => ({ code: 2 }))).code, 2);
});

Deno.test("--max-budget-usd ends the run before the request after the money is spent", async () => {
  for (const flag of forms("--max-budget-usd", "0.01")) {
    const { code, result } = await play(flag, { script: [look("c1")], provider: PRICE });
    assertEquals([flag, code, result.subtype], [flag, 4, "error_max_budget_usd"]);
    assert(result.total_cost_usd > 0.01);
  }
});

Deno.test("--system-prompt replaces and --append-system-prompt adds to the system prompt", async () => {
  for (const flag of forms("--system-prompt", "You are a parrot.")) {
    const { requests } = await play(flag);
    const system = requests[0]?.json.messages[0].content;
    assert(system.startsWith("You are a parrot.") && !system.includes("You are Reasonix"), system);
  }
  for (const flag of forms("--system-prompt-file", "prompt.md")) {
    assert((await play(flag)).requests[0]?.json.messages[0].content.startsWith("You are a parrot."));
  }
  for (const flag of forms("--append-system-prompt", "-- Sprich deutsch. 请用中文")) {
    const system = (await play(flag)).requests[0]?.json.messages[0].content;
    assertStringIncludes(system, "You are Reasonix");
    assert(system.includes("\n\n-- Sprich deutsch. 请用中文"), system);
  }
});

Deno.test("--tools leaves exactly the named tools, by either program's names", async () => {
  const cases: [string, string[]][] = [
    ["Read,Grep", ["read_file", "grep"]],
    ["bash glob", ["glob", "bash"]],
    [
      "",
      [],
    ],
  ];
  for (const [list, names] of cases) {
    for (const flag of forms("--tools", list)) {
      const { lines, requests } = await play(flag);
      assertEquals([flag, [...lines[0].tools].sort()], [flag, [...names].sort()]);
      assertEquals(requests[0]?.json.tools?.length ?? 0, names.length);
    }
  }
  assert((await play(["--tools", "default"])).lines[0].tools.length > 10);
  await using server = startModelServer([{ text: "hi" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "--tools=", "--", "go", "--tools="]);
  const { messages, tools } = server.requests[0]?.json;
  assertEquals([messages.at(-1).content, tools ?? []], ["go --tools=", []]);
});

Deno.test("--session-id names the session, and --fork-session continues in a copy of another", async () => {
  await using server = startModelServer([], { fallback: { text: "hi" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const [first, second] = ["3f0c7f6e-1111-4222-8333-444455556666", "3f0c7f6e-1111-4222-8333-777788889999"];
  const session = async (...flags: readonly string[]) => {
    const done = await world.run(["-p", "go", "--output-format=stream-json", ...flags]);
    return new Set(readSdkLines(done.stdout).map(({ session_id }) => session_id));
  };
  assertEquals(await session("--session-id", first), new Set([first]));
  assertEquals(await session("--resume", first), new Set([first]));
  const forked = [...await session("--resume", first, "--fork-session")];
  assert(forked.length === 1 && forked[0] !== first);
  assertEquals(
    await session(`--resume=${first}`, "--fork-session", `--session-id=${second}`),
    new Set([second]),
  );
  assertEquals(await session("-c"), new Set([second]));
  const said = server.requests.at(-1)?.json.messages.map((each: { content: string }) => each.content);
  assertEquals(said.filter((text: string) => text === "go").length, 4);
});

Deno.test("--include-partial-messages shows pieces, and without it there are none", async () => {
  const pieces = async (flags: readonly string[]) =>
    (await play(flags)).lines.filter(({ type }) => type === "stream_event").length;
  assert(await pieces(["--include-partial-messages"]) >= 5);
  assertEquals(await pieces([]), 0);
});

Deno.test("--permission-mode accepts the names of Claude Code and reports them in init", async () => {
  for (const mode of ["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"]) {
    for (const flag of forms("--permission-mode", mode)) {
      assertEquals((await play(flag)).lines[0].permissionMode, mode);
    }
  }
  assertEquals((await play(["--dangerously-skip-permissions"])).lines[0].permissionMode, "bypassPermissions");
});

Deno.test("--model of Anthropic keeps the default model with a notice, and a configured model is used", async () => {
  for (const name of ["sonnet", "opus", "claude-sonnet-4-5", "claude-opus-4-1[1m]"]) {
    for (const flag of forms("--model", name)) {
      const { lines, requests } = await play(flag);
      assertEquals([flag, requests[0]?.json.model], [flag, "mock-1"]);
      assertStringIncludes(lines[1].content, `"${name}"`);
    }
  }
  const { requests } = await play(["--model", "sonnet"], { provider: 'models = ["mock-1", "sonnet"]' });
  assertEquals(requests[0]?.json.model, "sonnet");
  assertEquals((await play(["--model", "gpt-9"])).code, 6);
});

Deno.test("replay shows a session in the messages of the SDKs", async () => {
  await using server = startModelServer([{ reasoning: "hm", text: "x", calls: look("c1").calls }, {
    text: "hi",
  }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "go"]);
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const done = await world.run(["replay", session.id, "--output-format", "stream-json"]);
  assertEquals(readSdkLines(done.stdout).at(-1).type, "result");
});
