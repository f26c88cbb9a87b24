import { PLUGINS } from "../../plugins/plugins.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { needs } from "../support/tools.ts";

Deno.test("--version and version print the version, also as JSON", async () => {
  await using world = await makeWorld();
  const manifest = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  assertEquals((await world.run(["--version"])).stdout, `reasonix ${manifest.version}\n`);
  assertEquals(JSON.parse((await world.run(["version", "--json"])).stdout).reasonix, manifest.version);
});

Deno.test("every help page fits into 80 columns", async () => {
  await using world = await makeWorld();
  const pages = [
    "",
    "run",
    "setup",
    "doctor",
    "config",
    "config show",
    "config set",
    "session",
    "session list",
    "replay",
  ];
  for (const page of pages) {
    const { code, stdout } = await world.run([...page.split(" ").filter(Boolean), "--help"]);
    assertEquals(code, 0);
    for (const line of stdout.split("\n")) assert([...line].length <= 80, `${page}: ${line}`);
  }
});

Deno.test("the first help page has at most 40 lines, and run --help has its flags in groups", async () => {
  await using world = await makeWorld();
  const first = (await world.run(["--help"])).stdout;
  assert(first.trimEnd().split("\n").length <= 40, first);
  for (const text of ["reasonix -c", "reasonix -p", "config.toml", "reasonix COMMAND --help", "uninstall"]) {
    assertStringIncludes(first, text);
  }
  const run = (await world.run(["run", "--help"])).stdout;
  assertMatch(run, /\nUsage\n {2}reasonix run \[flags\] \[task\.\.\.\]\n/);
  assertEquals(run.match(/^[A-Z][A-Za-z ]*$/gm), [
    "Usage",
    "Arguments",
    "Model",
    "Session",
    "What it may do",
    "Output",
    "Limits",
    "Goals and plans",
    "Batch",
    "More",
  ]);
  assertMatch(run, / {2}-m, --model NAME {2,}/);
  assertMatch(run, /\nMore\n {2}-h, --help .*\n.*\n {6}-- /, "every flag has its group");
  assert(!run.includes("--max-turns"), run);
  const all = (await world.run(["run", "--help-all"])).stdout;
  assertMatch(all, /--max-turns N {2,}Claude Code's name of --max-steps/);
  assertEquals((await world.run(["run", "--max-turns", "0", "x"])).code, 2, "a hidden flag still counts");
  const group = await world.run(["config"]);
  assertMatch(group.stdout + group.stderr, /Usage\n {2}reasonix config COMMAND/);
});

Deno.test("trust --list reports an empty list, and --max-goal-turns requires a goal", async () => {
  await using world = await makeWorld();
  assertMatch((await world.run(["trust", "--list"])).stdout, /^Nothing in \S+ is trusted\n$/);
  const { code, stderr } = await world.run(["run", "--max-goal-turns", "3", "x"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "--max-goal-turns belongs to a goal");
});

Deno.test("setup writes a valid configuration and never overwrites one", async () => {
  await using world = await makeWorld();
  const first = await world.run(["setup", "--yes"]);
  assertEquals(first.code, 0);
  assertStringIncludes(first.stdout, "config.toml");
  assertEquals((await world.run(["config", "get", "tools.bash_timeout_seconds"])).stdout, "120\n");
  const text = await Deno.readTextFile(`${world.home}/config.toml`);
  const second = await world.run(["setup", "--yes"]);
  assertEquals(second.code, 2);
  assertStringIncludes(second.stderr, "not overwritten");
  assertEquals(await Deno.readTextFile(`${world.home}/config.toml`), text);
  assertEquals((await world.run(["setup", "--yes", "reasonix.toml"])).code, 0);
  assertEquals(((await Deno.stat(`${world.home}/config.toml`)).mode ?? 0) & 0o777, 0o600);
});

Deno.test("config set keeps comments and refuses an invalid value", async () => {
  await using world = await makeWorld("# mine\n[tools]\nbash_timeout_seconds = 60 # short\n");
  assertEquals((await world.run(["config", "set", "tools.bash_timeout_seconds", "90"])).code, 0);
  assertEquals(
    await Deno.readTextFile(`${world.home}/config.toml`),
    "# mine\n[tools]\nbash_timeout_seconds = 90 # short\n",
  );
  const wrong = await world.run(["config", "set", "tools.writes", "maybe"]);
  assert(wrong.code !== 0);
  assertStringIncludes(wrong.stderr, "maybe");
  const unknown = await world.run(["config", "get", "tools.writse"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(unknown.stderr, "writes");
});

Deno.test("config set --local keeps the project file readable and refuses user-only settings", async () => {
  await using world = await makeWorld();
  await world.write("reasonix.toml", "# ours\n");
  await Deno.chmod(`${world.dir}/reasonix.toml`, 0o644);
  assertEquals((await world.run(["config", "set", "--local", "sandbox.bash", "enforce"])).code, 0);
  assertEquals((await Deno.stat(`${world.dir}/reasonix.toml`)).mode ?? 0, 0o100644);
  const refused = await world.run(["config", "set", "--local", "agent.max_steps", "3"]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "only your own file can");
  assertEquals(await world.read("reasonix.toml"), '# ours\n\n[sandbox]\nbash = "enforce"\n');
});

Deno.test("config show --origin names file, line and column", async () => {
  await using world = await makeWorld("[tools]\nbash_timeout_seconds = 60\n");
  await world.write("reasonix.toml", '[permissions]\ndeny = ["Bash(rm:*)"]\n');
  const { stdout } = await world.run(["config", "show", "--origin"]);
  assertMatch(stdout, /tools\.bash_timeout_seconds = 60 {2}# user .*config\.toml:2:1/);
  assertMatch(stdout, /permissions\.deny = \["Bash\(rm:\*\)"\] {2}# project .*reasonix\.toml:2:1/);
  assertStringIncludes((await world.run(["config", "path"])).stdout, `${world.home}/config.toml`);
  assertStringIncludes((await world.run(["config", "presets"])).stdout, "offline");
});

Deno.test("doctor reports files, origins, keys and the sandbox, and hides secrets", async () => {
  await using server = startModelServer([], { models: ["mock-1"] });
  const secret = "sk-test-0123456789abcdef0123456789";
  await using world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MOCK_KEY"'));
  await Deno.writeTextFile(`${world.home}/.env`, `MOCK_KEY=${secret}\n`);
  const text = await world.run(["doctor", "--online"]);
  assertEquals(text.code, 0);
  assertStringIncludes(text.stdout, "key: set in the home  reachable, 1 model\n");
  assert(!text.stdout.includes("no effect"), text.stdout);
  const config = await Deno.readTextFile(`${world.home}/config.toml`);
  await Deno.writeTextFile(`${world.home}/config.toml`, `${config}[lsp.servers.go]\ninstall_hint = "x"\n`);
  assertMatch(
    (await world.run(["doctor"])).stdout,
    /! \S*config\.toml:\d+:1: lsp\.servers\.go\.install_hint has no effect\./,
  );
  await Deno.writeTextFile(`${world.home}/config.toml`, config);
  const report = JSON.parse((await world.run(["doctor", "--json"])).stdout);
  assertEquals(report.problems, []);
  assertEquals(report.permissions.denied, ["ffi", "import"]);
  assertEquals(report.config.files.map((file: { found: boolean }) => file.found), [false, true]);
  assert(!(text.stdout + JSON.stringify(report)).includes(secret));
});

/** An agent and a skill as collections on the web have them: the colon should be in quotes. */
const PUBLIC_FILES = {
  ".claude/agents/debugger.md": "---\nname: debugger\ndescription: Debugs: the hard ones\n---\nDebug.\n",
  ".claude/skills/pdf-tools/SKILL.md": "---\nname: pdf-tools\ndescription: Reads: PDF files\n---\nRead.\n",
};

Deno.test("doctor, agents list and skills list report broken agents and skills, and runs do not", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  for (const [path, text] of Object.entries(PUBLIC_FILES)) await world.write(path, text);
  for (const args of [["hello"], ["--output-format", "jsonl", "hello"]]) {
    const { stdout, stderr } = await world.run(["run", ...args]);
    assert(!/colon|debugger|pdf-tools/.test(stderr + (args.length > 1 ? "" : stdout)), stderr);
    assert(!/"notice".*(?:debugger|pdf-tools)/.test(stdout), stdout);
  }
  const doctor = await world.run(["doctor"]);
  assertMatch(doctor.stdout, /\nWarnings\n/);
  assertMatch(doctor.stdout, /! \S*debugger\.md:3: the text has a colon/);
  assertMatch(doctor.stdout, /! \S*SKILL\.md: line 3: the text has a colon/);
  assertStringIncludes((await world.run(["agents", "list"])).stderr, "debugger.md:3:");
  assertStringIncludes((await world.run(["skills", "list"])).stdout, "has a colon");
});

Deno.test("doctor shows problems first and the rest with --verbose, and reports a missing window", async () => {
  await using world = await makeWorld(
    '[[providers]]\nname = "own"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "made-up-1"\n',
  );
  const { stdout } = await world.run(["doctor"]);
  assertMatch(stdout, /^(?:No problems found|Problems)\n/);
  assertStringIncludes(stdout, "own: the context window of made-up-1 is unknown");
  assert(stdout.split("\n").length <= 24, stdout);
  for (const title of ["Versions", "Language servers", "danger-full-access"]) assert(!stdout.includes(title));
  const all = (await world.run(["doctor", "--verbose"])).stdout;
  for (const title of ["Versions", "Paths", "Sandbox", "danger-full-access"]) {
    assertStringIncludes(all, title);
  }
});

Deno.test("doctor --online reports a server whose window is smaller than the configured one", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => Response.json({ data: [{ id: "mock-1", max_model_len: 4096 }] }),
  );
  const url = `http://127.0.0.1:${server.addr.port}/v1`;
  await using world = await makeWorld(mockConfig(url, "", "context_window = 32768"));
  const { stdout } = await world.run(["doctor", "--online"]);
  assertStringIncludes(stdout, "mock: the server gives mock-1 a window of 4096 tokens");
  assertStringIncludes(stdout, "set context_window = 4096");
  await using fitting = await makeWorld(mockConfig(url, "", "context_window = 4096"));
  assertStringIncludes((await fitting.run(["doctor", "--online"])).stdout, "No problems found");
  await server.shutdown();
});

/** A server that answers each path by the table and counts the requests. */
function pages(table: Readonly<Record<string, () => Response>>) {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return table[pathname]?.() ?? new Response("no such page", { status: 404 });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/v1`, asked, shutdown: () => server.shutdown() };
}

Deno.test("doctor --online distinguishes a server that refuses from an unreachable one", async () => {
  for (const status of [400, 401, 402, 404, 502]) {
    const answer = () => Response.json({ error: { message: "so not" } }, { status });
    const server = pages({ "/v1/models": answer, "/v1/chat/completions": answer });
    await using world = await makeWorld(mockConfig(server.url));
    const { code, stdout } = await world.run(["doctor", "--online"]);
    assertEquals(code, 1, stdout);
    assertStringIncludes(stdout, "reached, but refused");
    assertMatch(stdout, new RegExp(`✗ .*status ${status}: so not`));
    assert(!stdout.includes("NOT reachable") && !stdout.includes('model name ""'), stdout);
    await server.shutdown();
  }
  const gone = pages({});
  await gone.shutdown();
  await using world = await makeWorld(mockConfig(gone.url));
  assertStringIncludes((await world.run(["doctor", "--online"])).stdout, "NOT reachable");
});

Deno.test("doctor --online reports a model that the server does not list as a problem", async () => {
  const server = pages({ "/v1/models": () => Response.json({ data: [{ id: "a" }, { id: "b" }] }) });
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 4096"));
  const { code, stdout } = await world.run(["doctor", "--online"]);
  assertEquals(code, 1);
  assertStringIncludes(stdout, "✗ mock: the server does not list mock-1; choose one of a, b");
  assertEquals(server.asked.filter((path) => path === "/v1/models").length, 1);
  await server.shutdown();
});

Deno.test("doctor --online accepts a server that answers without a list of models", async () => {
  const answer = 'data: {"choices":[{"index":0,"delta":{"content":"OK"}}]}\n\n' +
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const server = pages({
    "/v1/chat/completions": () => new Response(answer, { headers: { "content-type": "text/event-stream" } }),
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { stdout } = await world.run(["doctor", "--online"]);
  assertStringIncludes(stdout, "mock-1 answers; no list of models");
  assert(!stdout.includes("✗ mock") && !stdout.includes("✗ Provider"), stdout);
  await server.shutdown();
});

const JAIL = "/usr/bin/bwrap";
const hasJail = await Deno.stat(JAIL).then(() => true, () => false);

Deno.test({
  ...needs("bwrap", hasJail, "doctor reports a missing bubblewrap as a problem with the install command"),
  async fn() {
    await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
    const within = [JAIL, "--dev-bind", "/", "/", "--ro-bind", "/dev/null", JAIL, "--"];
    const { code, stdout } = await world.run(["doctor"], { within });
    assertEquals(code, 1, stdout);
    assertStringIncludes(stdout, "apt install bubblewrap");
    assert(!(await world.run(["doctor"])).stdout.includes("apt install"));
  },
});

Deno.test("flags and commands of other agents are reported with their name here", async () => {
  await using world = await makeWorld();
  const cases: [args: string[], said: string][] = [
    [["providers"], "here it is reasonix config get providers"],
    [["--yolo"], "--approval-mode yolo"],
    [["run", "--yolo", "x"], "danger-full-access"],
    [["run", "--print", "x"], "prints the answer"],
    [["run", "--cwd=/", "x"], "here it is --dir"],
  ];
  for (const [args, said] of cases) {
    const { code, stderr } = await world.run(args);
    assertEquals(code, 2, stderr);
    assertStringIncludes(stderr, said);
    assert(!stderr.includes("did you mean"), stderr);
  }
});

Deno.test("doctor reports problems and exits with their code", async () => {
  await using world = await makeWorld("[permissions]\nmode = 3\n");
  const done = await world.run(["doctor"]);
  assertEquals(done.code, 6);
  assertEquals(done.stdout.split("config.toml:2:8").length, 2, "the problem is reported once");
});

Deno.test("session list, show, delete and replay work on the session of a run", async () => {
  await using server = startModelServer([
    { text: "look", calls: [{ name: "ls", args: {} }] },
    { text: "the answer" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "what is here?"]);
  const list = await world.run(["session", "list"]);
  assertStringIncludes(list.stdout, "what is here?");
  const id = /^\d{8}-\S+/m.exec(list.stdout)?.[0] ?? "";
  assertStringIncludes((await world.run(["session", "show", id.slice(0, 12)])).stdout, "the answer");
  const replay = await world.run(["replay", id]);
  assertEquals(replay.stdout, "look\nthe answer\n");
  assertStringIncludes(replay.stderr, "✓ list .");
  const events = (await world.run(["replay", id, "--output-format", "jsonl"])).stdout.trimEnd().split("\n");
  assertEquals(JSON.parse(events.at(-1) ?? "").type, "result");
  assertEquals((await world.run(["session", "delete", id])).code, 2);
  assertEquals((await world.run(["session", "delete", id, "--yes"])).code, 0);
  assertStringIncludes((await world.run(["session", "list"])).stdout, "No sessions");
});

Deno.test("a command ends silently when its output pipe closes", async () => {
  await using world = await makeWorld(`[permissions]\ndeny = ["Bash(${"x".repeat(200_000)})"]\n`);
  const child = await world.spawn(["config", "show"]);
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("completion proposes commands, flags, models and sessions", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1"));
  const complete = async (...words: string[]) =>
    (await world.run(["complete", "--", ...words])).stdout.split("\n");
  assert((await complete("ses")).includes("session"));
  assert((await complete("run", "--mod")).includes("--model"));
  assert((await complete("run", "--model", "mo")).includes("mock/mock-1"));
  assert(
    (await complete("run", "--model=mo")).includes("--model=mock/mock-1"),
    "one word, as zsh and fish give it",
  );
  assert(
    (await complete("run", "--model", "=", "mo")).includes("mock/mock-1"),
    "three words, as bash gives it",
  );
  assertEquals(await complete("run", "--output-format=st"), ["--output-format=stream-json", ""]);
  assertEquals(await complete("-p", "--mod"), ["--model", ""]);
  assertEquals(await complete("--v"), ["--version", ""]);
  assertEquals(await complete("config", "get", "sandbox.bas"), ["sandbox.bash", ""]);
  const plugins = PLUGINS.map(({ name }) => name);
  const ofPlugin = await complete("plugin", "");
  for (const word of ["list", "add", "remove", "install", "update", ...plugins]) {
    assert(ofPlugin.includes(word), word);
  }
  assertEquals(await complete("plugin", "add", ""), [...plugins, ""]);
  assertEquals(await complete("plugin", "rag", ""), ["update", "status", "search", ""]);
  assertEquals(await complete("plugin", "rag", "update", "d"), [""]);
  await world.write(".agents/skills/release/SKILL.md", "---\nname: release\ndescription: How to\n---\nTag\n");
  await world.write("src/a.ts", "");
  assertEquals(await complete("run", "/rel"), ["/release", ""]);
  assert((await complete("run", "/re")).includes("/rewind"));
  assertEquals(await complete("run", "fix", "@", "sr"), ["src/", ""], "three words, as bash gives it");
  assertEquals(await complete("run", "fix", "@src/"), ["@src/a.ts", ""]);
  const described = await world.run(["complete", "--describe", "--", "-p", "/rel"]);
  assertEquals(described.stdout, "/release\tHow to\n");
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const { stdout } = await world.run(["completion", shell]);
    assertMatch(stdout, /reasonix complete (?:--describe )?-- /);
  }
});

Deno.test("a recorded run replays without the server and reports the first difference", async () => {
  await using server = startModelServer([{
    text: "hm",
    calls: [{ name: "read_file", args: { path: "a.txt" } }],
  }, { text: "it is A" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "A\n");
  await world.run(["run", "--record", "tape.jsonl", "read a.txt"]);
  const shown = await world.run(["replay", "tape.jsonl"]);
  assertEquals(shown.code, 2);
  assertMatch(shown.stderr, /it is a cassette of a model's replies[\s\S]*kind = "replay"/);
  const replayed =
    `default_model = "tape"\n[[providers]]\nname = "tape"\nkind = "replay"\nmodel = "x"\ncassette = "${world.dir}/tape.jsonl"\n`;
  await Deno.writeTextFile(`${world.home}/config.toml`, replayed);
  assertEquals((await world.run(["run", "read a.txt"])).stdout, "it is A\n");
  await world.write("a.txt", "B\n");
  const other = await world.run(["run", "read a.txt"]);
  assertEquals(other.code, 5);
  assertStringIncludes(other.stderr, "a.txt");
});

Deno.test("without a configuration the program suggests setup or uses a key of the environment with a notice", async () => {
  await using world = await makeWorld();
  for (const args of [[], ["run", "hello"]]) {
    const { code, stderr } = await world.run(args);
    assertEquals(code, 6);
    assertStringIncludes(stderr, "No provider is set up yet");
    assertStringIncludes(stderr, "reasonix setup");
  }
  const env = { OPENAI_API_KEY: "sk-test-0123456789", HTTPS_PROXY: "http://127.0.0.1:1" };
  const bare = await world.run([], { env });
  assertStringIncludes(bare.stderr, "using OPENAI_API_KEY from the environment (OpenAI)");
});
