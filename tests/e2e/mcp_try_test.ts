/** `reasonix mcp` with real servers: output, exit codes, and servers that never start. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import type { Behaviour } from "../support/mcp/behaviour.ts";
import { readRecord, scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

/** The entry of a scripted server. */
function entry(name: string, behaviour: Behaviour, more = ""): string {
  const { command, args } = scriptedServer(behaviour);
  return `[[plugins]]\nname = "${name}"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n${more}\n`;
}

const CRASH = '[[plugins]]\nname = "crash"\ncommand = "sh"\nargs = ["-c", "echo no key here >&2; exit 7"]\n';

async function nothingLeft(record: string): Promise<void> {
  const pids = new Set((await readRecord(record)).map(({ pid }) => pid));
  assert(pids.size > 0, "a server has started");
  for (const pid of pids) {
    let alive = true;
    try {
      Deno.kill(pid, "SIGCONT");
    } catch {
      alive = false;
    }
    assertEquals(alive, false, `process ${pid} is left`);
  }
}

Deno.test("mcp test prints each step with its time and the server's capabilities, and leaves no files", async () => {
  const record = await Deno.makeTempFile();
  await using world = await makeWorld(entry("good", { record, child: true, stubborn: true }));
  const { code, stdout, stderr } = await world.run(["mcp", "test", "good"]);
  assertEquals(code, 0, stdout + stderr);
  assertStringIncludes(stderr, "Starting (at most 30 s)");
  assertMatch(stdout, /✓ +\d[\d.]* m?s {2}scripted 1\.0\.0 answers, protocol 2026-07-28/);
  assertMatch(stdout, /✓ +\d[\d.]* m?s {2}11 tools, 2 prompts, 4 resources; supports completions, /);
  assertMatch(stdout, /\n {2}echo {2,}ro {2}Scripted tool echo \(text: string\)\n/);
  assertMatch(stdout, /✓ +\d[\d.]* m?s {2}ended/);
  await nothingLeft(record);
});

for (
  const [what, config, words] of [
    ["crashes", CRASH, [
      "the server ended with exit code 7",
      "Its last words:\n    no key here\n",
      "crash.log",
    ]],
    ["is no program", '[[plugins]]\nname = "crash"\ncommand = "no-such-program-at-all"\n', [
      'There is no program "no-such-program-at-all" on PATH',
      "install no-such-program-at-all",
    ]],
    [
      "says nothing",
      entry("crash", { silentOn: ["initialize", "server/discover"] }, "startup_timeout_seconds = 2"),
      [
        "it did not start within 2 s",
      ],
    ],
    [
      "is at an address without a server",
      '[[plugins]]\nname = "crash"\ntype = "http"\nurl = "http://127.0.0.1:1/mcp"\n',
      [
        "✗",
      ],
    ],
    ["has an old transport", '[[plugins]]\nname = "crash"\ntype = "sse"\nurl = "http://127.0.0.1:1/sse"\n', [
      'transport "sse"',
      'type = "http"',
    ]],
  ] as [string, string, string[]][]
) {
  Deno.test(`mcp test of a server that ${what} prints the reason and the end of its log, and fails`, async () => {
    await using world = await makeWorld(config);
    const { code, stdout, stderr } = await world.run(["mcp", "test", "crash"]);
    assertEquals(code, 1, stderr);
    for (const text of words) assertStringIncludes(stdout, text);
    const status = await world.run(["mcp", "status"]);
    assertEquals([status.code, status.stdout.startsWith("✗ crash")], [1, true]);
    const list = await world.run(["mcp", "list"]);
    assertEquals(list.code, 0);
    assertStringIncludes(list.stdout, "its last start failed");
  });
}

Deno.test("mcp status, tools, prompts and resources show every server, the broken ones too, also as JSON", async () => {
  const off = entry("off", {}, "enabled = false");
  const missing = '[[plugins]]\nname = "missing"\ncommand = "sh"\nenv = { T = "${GONE_FOR_GOOD}" }\n';
  await using world = await makeWorld(entry("good", {}, 'disabled_tools = ["die"]') + CRASH + off + missing);
  const before = await world.run(["mcp", "list"]);
  assertStringIncludes(before.stdout, "on · never started · user");
  const status = await world.run(["mcp", "status"]);
  assertEquals(status.code, 1);
  assertMatch(status.stdout, /✓ good {2}10 tools, 2 prompts, 4 resources {2}\d+ ms, protocol 2026-07-28\n/);
  assertStringIncludes(status.stdout, "✗ crash  failed: the server ended with exit code 7");
  assertStringIncludes(
    status.stdout,
    "! missing ${GONE_FOR_GOOD} in its env.T is not set; set GONE_FOR_GOOD",
  );
  const json = JSON.parse((await world.run(["mcp", "status", "--json"])).stdout);
  assertEquals(json.map(({ name, state }: Record<string, string>) => [name, state]), [
    ["crash", "failed"],
    ["good", "ready"],
    ["missing", "left out"],
  ]);
  const tools = await world.run(["mcp", "tools", "good"]);
  assertMatch(tools.stdout, /^ {2}echo {2,}ro {2}Scripted tool echo \(text: string\)$/m);
  assert(!tools.stdout.includes("mcp__good__"), tools.stdout);
  assert(!tools.stdout.includes("die"), tools.stdout);
  const [{ tools: listed }] = JSON.parse((await world.run(["mcp", "tools", "good", "--json"])).stdout);
  assertEquals([listed.length, listed[0].calledBy], [10, "mcp__good__ask"]);
  assertStringIncludes(
    (await world.run(["mcp", "prompts", "good"])).stdout,
    "  /mcp__good__greet <name> [tone]  A greeting\n",
  );
  assertStringIncludes(
    (await world.run(["mcp", "resources", "good"])).stdout,
    "  @good:scripted://page/1  page 1\n",
  );
  // A command that names a disabled server starts it.
  assertEquals((await world.run(["mcp", "test", "off"])).code, 0);
  assertStringIncludes(
    (await world.run(["mcp", "list"])).stdout,
    "on · 10 tools, 2 prompts, 4 resources · user",
  );
  const wrong = await world.run(["mcp", "tools", "goood"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, "did you mean good?");
  const broken = await world.run(["mcp", "test", "missing"]);
  assertEquals(broken.code, 6);
  assertStringIncludes(broken.stderr, "set GONE_FOR_GOOD");
});

Deno.test("mcp call prints results and progress, and its exit code distinguishes failures", async () => {
  await using world = await makeWorld(
    `${entry("good", {})}[permissions]\ndeny = ["mcp__good__die"]\nask = ["mcp__good__echo"]\n`,
  );
  const call = (...words: string[]) => world.run(["mcp", "call", "good", ...words]);
  const echo = await call("echo", '{"text": "世界 \\u001b[31mred"}');
  assertEquals([echo.code, echo.stdout, echo.stderr], [0, "世界 red\n", ""]);
  const progress = await call("progress");
  assertStringIncludes(progress.stderr, "· 1/3 step 1\n");
  assertEquals([progress.code, progress.stdout], [0, "all steps done\n"]);
  const failed = await call("result", '{"kind": "error"}');
  assertEquals([failed.code, failed.stdout], [1, "it did not work\n"]);
  assertStringIncludes((await call("result", '{"kind": "image"}')).stdout, "[image: image/png, ");
  const whole = JSON.parse((await call("result", '{"kind": "both"}', "--json")).stdout);
  assertEquals(whole.structuredContent, { answer: 42 });
  assertEquals(
    (await call("mcp__good__echo", '{"text": "by its other name"}')).stdout,
    "by its other name\n",
  );
  assertEquals((await call("echo", "text=a=b {1}")).stdout, "a=b {1}\n");
  assertEquals((await call("echo", "text=42")).stdout, "42\n");
  assertEquals((await call("size", "bytes=3")).stdout, "xxx\n");
  const completed = await world.run(["complete", "--", "mcp", "call", "good", "ec"]);
  assertEquals(completed.stdout, "echo\n");
  const denied = await call("die");
  assertEquals([denied.code, denied.stdout], [3, ""]);
  assertStringIncludes(denied.stderr, "the rule deny mcp__good__die (");
  for (
    const [words, message, remedy] of [
      [["ech"], 'offers no tool "ech"', "did you mean echo?"],
      [["echo", "hi"], '"hi" as arguments', "JSON in quotes"],
      [["echo", "[1]"], '"[1]" as arguments', "JSON in quotes"],
      [["echo", "text=a", "b"], '"b" as arguments: it is no key=value', "write text=hello"],
      [["echo", "text=a", "text=b"], '"text=b" as arguments: "text" is given twice', "write text=hello"],
      [["size", "bytes=many"], '"bytes=many" as arguments: bytes is to be integer', "count=3"],
    ] as const
  ) {
    const { code, stderr } = await call(...words);
    assertEquals(code, 2);
    assertStringIncludes(stderr, message);
    assertStringIncludes(stderr, remedy);
  }
});

Deno.test("doctor lists each server in one line with the next step, and tests servers with --online", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  const missing = '[[plugins]]\nname = "missing"\ncommand = "sh"\nenv = { T = "${GONE_FOR_GOOD}" }\n';
  await using world = await makeWorld(
    `${mockConfig(server.url)}${entry("good", {})}${CRASH}${missing}${entry("off", {}, "enabled = false")}`,
  );
  await world.write(".mcp.json", '{"mcpServers": {"theirs": {"command": "sh"}}}');
  const before = await world.run(["doctor"]);
  for (
    const line of [
      "\nMCP servers\n  good  never started; `reasonix doctor --online` tries it  (",
      "\n  crash  never started; ",
      "\n  off  switched off  (",
      '\n  theirs  it would run "sh" as an MCP server; look at it with `reasonix trust`  (',
      "\n  missing  ${GONE_FOR_GOOD} in its env.T is not set; set GONE_FOR_GOOD",
    ]
  ) assertStringIncludes(before.stdout, line);
  const online = await world.run(["doctor", "--online"]);
  assertEquals(online.code, 1);
  assertMatch(online.stdout, /\n {2}good {2}11 tools, 2 prompts, 4 resources, ready in \d+ ms/);
  assertStringIncludes(online.stdout, "✗ crash: the server ended with exit code 7");
  assertStringIncludes(online.stdout, "try `reasonix mcp test crash`");
  const after = JSON.parse((await world.run(["doctor", "--json"])).stdout);
  assertEquals(after.servers.map(({ name }: { name: string }) => name), [
    "good",
    "crash",
    "off",
    "theirs",
    "missing",
  ]);
  assertStringIncludes(after.servers[0].state, "11 tools");
  assertStringIncludes(after.servers[1].state, "its last start failed");
});

Deno.test("tools and prompts of a server with an unusual name get normalized names", async () => {
  await using world = await makeWorld(
    `${entry("my.server", {}, 'disabled_tools = ["ech"]')}[permissions]\ndeny = ["Mcp(my.server)"]\n`,
  );
  const { stdout } = await world.run(["mcp", "tools", "my.server"]);
  assertStringIncludes(stdout, "! disabled_tools names ech, which it does not offer; did you mean echo?\n");
  const listed = (await world.run(["mcp", "tools", "my.server", "--json"])).stdout;
  const name = /mcp__my_server__echo_\w{6}/.exec(listed)?.[0] ?? "";
  assertMatch((await world.run(["mcp", "prompts"])).stdout, /^ {2}\/mcp__my_server__greet_\w{6} <name> /m);
  const check = await world.run(["permissions", "check", "--tool", name, '{"text": "x"}']);
  assertEquals(check.code, 3, check.stdout + check.stderr);
  assertStringIncludes(check.stdout, "Mcp(my.server)");
});
