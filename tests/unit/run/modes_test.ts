import { fillDefaults } from "../../../src/config/load/defaults.ts";
import type { Config } from "../../../src/config/mod.ts";
import { type Event, type Message, ReasonixError } from "../../../src/core/mod.ts";
import { assemble, createAgent } from "../../../src/features/mod.ts";
import type { ApprovalMode } from "../../../src/permission/mod.ts";
import { buildAccessScope } from "../../../src/run/access/access_scope.ts";
import { supplementalPrompts, turnPrompts } from "../../../src/run/context/prompt_inputs.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import { call, type Reply, say, scriptedProvider } from "../../support/agent_fixture.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { configFixture } from "../config/fixture.ts";
import { removeTree } from "../../support/remove_tree.ts";

interface Stage {
  readonly assembly: Assembly;
  /** The prompts to the user, by the subject of the call or the question. */
  readonly asked: string[];
  readonly events: Event[];
  readonly requests: readonly (readonly Message[])[];
}

/** Runs a function with a session whose user declines everything. */
async function inSession(
  replies: readonly Reply[],
  approvalMode: ApprovalMode,
  work: (scene: Stage) => Promise<void>,
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-modes-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: (name: string) => Deno.env.get(name) };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const permissions = { ask: ["Bash(touch:*)"], deny: ["Bash(mkdir:*)"] };
  const flags = { sandbox: { bash: "off" as const }, permissions };
  const asked: string[] = [];
  const provider = scriptedProvider(replies);
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
    inMemory: true,
    provider,
    approvalMode,
    approver: {
      ask({ subject }) {
        asked.push(subject);
        return Promise.resolve({ allow: false, scope: "once" });
      },
    },
    asker: {
      ask(questions) {
        asked.push(...questions.map(({ question }) => question));
        return Promise.resolve(undefined);
      },
    },
  });
  const events: Event[] = [];
  assembly.controller.subscribe((event) => void events.push(event));
  await work({ assembly, asked, events, requests: provider.requests });
  await removeTree(root);
}

const WRITE = "new.txt";
const RULE_ASKS = "touch asked.txt";
const RULE_DENIES = "mkdir denied";
const DESTRUCTIVE = "rm -rf /srv/nothing-here";
const QUESTION = "Which one?";

const CALLS: Reply = [
  call("1", "write_file", { path: WRITE, content: "x\n" }),
  call("2", "bash", { command: RULE_ASKS }),
  call("3", "bash", { command: RULE_DENIES }),
  call("4", "bash", { command: DESTRUCTIVE }),
  call("5", "ask", { questions: [{ question: QUESTION, options: [{ label: "a" }, { label: "b" }] }] }),
  call("6", "bash", { command: "ls -la && cat new.txt" }),
  call("7", "ls", { path: "." }),
  { type: "done", reason: "tool_calls" },
];

const TABLE: readonly [mode: ApprovalMode, asked: readonly string[]][] = [
  ["ask", [WRITE, RULE_ASKS, DESTRUCTIVE, QUESTION]],
  ["auto", [RULE_ASKS, DESTRUCTIVE, QUESTION]],
  ["yolo", [DESTRUCTIVE, QUESTION]],
];

for (const [mode, expected] of TABLE) {
  Deno.test(`approval mode ${mode} prompts only when it must`, async () => {
    await inSession([CALLS, say("done")], mode, async ({ assembly, asked, events }) => {
      await assembly.run("go");
      assertEquals([...asked].sort(), [...expected].sort());
      const blocked = events.flatMap((event) =>
        event.type === "tool.end" && event.outcome === "blocked" ? [event.callId] : []
      );
      assert(blocked.includes("3"), "what a rule denies stays denied");
    });
  });
}

Deno.test("a mode chosen before the session opens is recorded at its start, a later one immediately", async () => {
  await inSession([say("ok")], "ask", async ({ assembly, events }) => {
    await assembly.modes.setApproval("auto");
    await assembly.open();
    await assembly.modes.setApproval("ask");
    const changes = events.flatMap((event) => event.type === "mode.change" ? [event.posture] : []);
    assertEquals(changes, ["auto", "ask"]);
  });
});

Deno.test("the model is notified of the start and the end of plan mode in the next turn", async () => {
  await inSession([say("a"), say("b"), say("c"), say("d")], "ask", async ({ assembly, requests }) => {
    await assembly.run("one");
    await assembly.modes.setPermission("plan");
    await assembly.run("two");
    await assembly.run("three");
    await assembly.modes.setPermission("workspace-write");
    await assembly.run("four");
    const announced = requests.map((messages) =>
      messages.filter(({ content }) => String(content).startsWith("<mode>")).length
    );
    assertEquals(announced, [0, 1, 1, 2]);
    for (const [at, messages] of requests.slice(1).entries()) {
      assertEquals(messages.slice(0, requests[at]?.length), requests[at], "the prefix stays");
    }
    await assertRejects(() => assembly.modes.setPermission("danger-full-access"));
  });
});

Deno.test("a mode changed during a turn is reported once, with the next request", async () => {
  const switched = Promise.withResolvers<Assembly>();
  const look: Reply = [call("l", "ls", { path: "." }), { type: "done", reason: "tool_calls" }];
  const switching: Reply = async function* () {
    await (await switched.promise).modes.setPermission("read-only");
    yield* look;
  };
  await inSession([switching, look, look, say("done")], "ask", async ({ assembly, requests }) => {
    switched.resolve(assembly);
    await assembly.run("go");
    const announced = requests.map((messages) => messages.map(({ content }) => content.startsWith("<mode>")));
    assertEquals(announced.map((each) => each.lastIndexOf(true)), [-1, 4, 4, 4]);
    assertEquals(announced[3]?.filter((isMode) => isMode).length, 1);
  });
});

Deno.test("a read-only turn is not a change of mode", async () => {
  await inSession([CALLS, say("done"), say("more")], "auto", async ({ assembly, requests, events }) => {
    await assembly.run({ text: "look", readOnly: true });
    const blocked = events.flatMap((event) =>
      event.type === "tool.end" && event.outcome === "blocked" ? [event.callId] : []
    );
    assert(blocked.includes("1"), "nothing is written");
    await assembly.run("go on");
    assertEquals(requests.at(-1)?.some(({ content }) => content.startsWith("<mode>")), false);
  });
});

Deno.test("a rewind past a mode notice repeats it", async () => {
  await inSession([say("a"), say("b"), say("c")], "ask", async ({ assembly, requests }) => {
    await assembly.run("one");
    await assembly.modes.setPermission("read-only");
    await assembly.run("two");
    await assembly.rewind(1, "conversation");
    await assembly.run("three");
    const announced = requests.map((messages) =>
      messages.filter(({ content }) => content.startsWith("<mode>\nRead-only mode is on")).length
    );
    assertEquals(announced, [0, 1, 1]);
  });
});

function config(bash: Config["sandbox"]["bash"], writes: Config["tools"]["writes"]): Config {
  return fillDefaults({ sandbox: { bash }, tools: { writes } });
}

/** The access of a run with this configuration in an empty directory. */
function accessOf(config: Config, mode?: Parameters<typeof buildAccessScope>[2]) {
  const { full, notice } = buildAccessScope({ cwd: "/w", home: "/h", env: () => undefined }, config, mode);
  return { full, ...(notice === undefined ? {} : { notice }) };
}

Deno.test("buildAccessScope is full only in danger-full-access, and reports it", () => {
  for (const mode of [undefined, "read-only", "workspace-write", "plan"] as const) {
    assertEquals(accessOf(config("off", "allow"), mode), { full: false });
  }
  for (const bash of ["auto", "off"] as const) {
    const { full, notice } = accessOf(config(bash, "allow"), "danger-full-access");
    assertEquals(full, true);
    assertMatch(notice?.text ?? "", /^Commands run unconfined \(--permission-mode danger-full-access\)/);
  }
});

Deno.test("buildAccessScope keeps stricter settings and names them", () => {
  const enforced = accessOf(config("enforce", "allow"), "danger-full-access");
  assertEquals(enforced.full, false);
  assertMatch(enforced.notice?.text ?? "", /stay confined .* because of \[sandbox\] bash = "enforce"$/);
  const kept = accessOf(config("auto", "dry-run"), "danger-full-access");
  assertEquals(kept.full, false);
  assertMatch(kept.notice?.text ?? "", /because of \[tools\] writes = "dry-run"$/);
});

// Hooks of an embedded agent at prompts and compactions.

interface Asked {
  readonly commands: readonly string[];
  readonly hooks: readonly { readonly event: string; readonly command: string; readonly matcher?: string }[];
  readonly ask?: readonly string[];
}

/** Runs the commands one by one with a user who approves, and returns the prompts. */
async function asked({ commands, hooks, ask = [] }: Asked) {
  await using temp = await makeTempDir();
  const questions: string[] = [];
  const events: Event[] = [];
  const calls = commands.map((command, n) => [
    call(`c${n}`, "bash", { command }),
    { type: "done", reason: "tool_calls" } as const,
  ]);
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([...calls, say("done")]),
    config: { hooks: [...hooks], permissions: { ask: [...ask] }, sandbox: { bash: "off" } },
    approver: {
      ask({ subject }) {
        questions.push(subject);
        return Promise.resolve({ allow: true, scope: "once" });
      },
    },
    onEvent: (event) => void events.push(event),
  });
  const outcome = await agent.run("go");
  const files = [...Deno.readDirSync(temp.path)].map(({ name }) => name).sort();
  const results = events.flatMap((event) => event.type === "tool.end" ? [event.content] : []);
  const decisions = events.flatMap((event) => event.type === "approval.decision" ? [event.source] : []);
  const read = files.includes("seen") ? Deno.readTextFileSync(`${temp.path}/seen`).trim().split("\n") : [];
  // deno-lint-ignore no-explicit-any
  return { outcome, questions, files, results, decisions, seen: read.map((line): any => JSON.parse(line)) };
}

const answer = (decision: unknown) => `echo '${JSON.stringify({ hookSpecificOutput: { decision } })}'`;

Deno.test("PermissionRequest answers only prompts that no rule decides", async () => {
  const hooks = [{ event: "PermissionRequest", matcher: "Bash", command: answer({ behavior: "allow" }) }];
  const { questions, files, decisions } = await asked({
    commands: ["touch plain", "touch ruled", "touch .envrc"],
    hooks,
    ask: ["Bash(touch ruled)"],
  });
  assertEquals(questions, ["touch ruled", "touch .envrc"]);
  assertEquals(files, [".envrc", "plain", "ruled"]);
  assertEquals(decisions, ["hook", "user", "user"]);
});

Deno.test("PermissionRequest refuses with a message, and ends the turn when it interrupts", async () => {
  const deny = { behavior: "deny", message: "not-today" };
  const refused = await asked({
    commands: ["touch a"],
    hooks: [{ event: "PermissionRequest", command: answer(deny) }],
  });
  assertEquals([refused.questions, refused.files, refused.outcome.reason], [[], [], "done"]);
  assertMatch(refused.results[0] ?? "", /a hook declined "touch a": not-today/);
  const ended = await asked({
    commands: ["touch a", "touch b"],
    hooks: [{ event: "PermissionRequest", command: answer({ ...deny, interrupt: true }) }],
  });
  assertEquals([ended.outcome.reason, ended.results.length], ["blocked", 1]);
});

Deno.test("PermissionRequest that changes the arguments each time runs once", async () => {
  const command =
    `if grep -q more; then ${answer({ behavior: "allow", updatedInput: { command: "touch c-more" } })}; ` +
    `else ${answer({ behavior: "allow", updatedInput: { command: "touch b-more" } })}; fi`;
  const { files, questions } = await asked({
    commands: ["touch a"],
    hooks: [{ event: "PermissionRequest", command }],
  });
  assertEquals([files, questions], [["b-more"], []]);
});

Deno.test("Notification reports a prompt; the ask decision of a hook overrides an allow rule", async () => {
  const ask = `cat >/dev/null; echo '${
    JSON.stringify({ hookSpecificOutput: { permissionDecision: "ask", permissionDecisionReason: "sure" } })
  }'`;
  const { questions, seen } = await asked({
    commands: ["ls"],
    hooks: [
      { event: "Notification", matcher: "permission_prompt", command: "cat >> seen" },
      { event: "PreToolUse", command: ask },
    ],
  });
  assertEquals(questions, ["ls"]);
  assertEquals(seen.map(({ notification_type }) => notification_type), ["permission_prompt"]);
  assertStringIncludes(seen[0].message, "bash");
});

Deno.test("PreCompact blocks a compaction with its reason", async () => {
  await using temp = await makeTempDir();
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([say("one"), say("two")]),
    config: {
      hooks: [{ event: "PreCompact", matcher: "manual", command: "cat > seen; echo keep-it >&2; exit 2" }],
      sandbox: { bash: "off" },
    },
  });
  await agent.run("go");
  const error = await assertRejects(() => agent.controller.compact("the port"), ReasonixError);
  assertStringIncludes(error.message, "keep-it");
  const seen = JSON.parse(Deno.readTextFileSync(`${temp.path}/seen`));
  assertEquals([seen.trigger, seen.custom_instructions], ["manual", "the port"]);
  assertEquals((await agent.run("go on")).answer, "two");
});

Deno.test("an abort ends a waiting hook and the turn", async () => {
  await using temp = await makeTempDir();
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([[
      call("1", "bash", { command: "touch a" }),
      { type: "done", reason: "tool_calls" } as const,
    ]]),
    config: {
      hooks: [{ event: "PreToolUse", command: "echo > begun; sleep 600" }],
      sandbox: { bash: "off" },
    },
    onAsk: "allow",
  });
  const stop = new AbortController();
  const turn = agent.run("go", stop.signal);
  while (![...Deno.readDirSync(temp.path)].some(({ name }) => name === "begun")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stop.abort();
  assertEquals((await turn).reason, "interrupted");
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["begun"]);
});

async function inProject(work: (load: Parameters<typeof loadTrustedConfig>[0]) => Promise<void>) {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-trust-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: () => undefined };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  await Deno.writeTextFile(`${paths.cwd}/reasonix.toml`, '[tools.shell]\npath = "./shell.sh"\n');
  await work(paths);
  await removeTree(root);
}

Deno.test("loadTrustedConfig prompts once for project content and remembers approval", async () => {
  await inProject(async (load) => {
    await assertRejects(() => loadTrustedConfig(load, {}));
    const asked: string[] = [];
    const decide = (answer: "trust" | "ignore") => (items: readonly { readonly kind: string }[]) => {
      asked.push(...items.map(({ kind }) => kind));
      return Promise.resolve(answer);
    };
    const ignored = await loadTrustedConfig(load, { decide: decide("ignore") });
    assertEquals(ignored.config.tools.shell.path, undefined);
    const trusted = await loadTrustedConfig(load, { decide: decide("trust") });
    assertEquals(trusted.config.tools.shell.path, "./shell.sh");
    const again = await loadTrustedConfig(load, { decide: decide("ignore") });
    assertEquals(again.config.tools.shell.path, "./shell.sh");
    assertEquals(asked, ["shell", "shell"]);
  });
});

Deno.test("loadTrustedConfig prompts again when trusted content has changed", async () => {
  await inProject(async (load) => {
    await loadTrustedConfig(load, { decide: () => Promise.resolve("trust") });
    await Deno.writeTextFile(`${load.cwd}/reasonix.toml`, '[tools.shell]\npath = "./other.sh"\n');
    let asked = 0;
    await loadTrustedConfig(load, { decide: () => (asked++, Promise.resolve("ignore" as const)) });
    assertEquals(asked, 1);
  });
});

for (
  const [server, file] of [
    ['command = "sh"\nargs = ["tools/run.sh"]', "tools/run.sh"],
    ['command = "./tools/../tools/run.sh"', "tools/run.sh"],
    ['command = "sh"\nargs = ["-c", "exec ./tools/run.sh --fast"]', "tools/run.sh"],
    ['command = "./run.sh"\ncwd = "tools"', "tools/run.sh"],
    ['command = "sh"\nargs = ["${SCRIPT:-tools/run.sh}"]', "tools/run.sh"],
    ['command = "node"\nenv = { NODE_OPTIONS = "--require=./.hidden/run.js" }', ".hidden/run.js"],
    ['type = "http"\nurl = "https://x.example"\nheaders_helper = "sh tools/run.sh; true"', "tools/run.sh"],
  ] as const
) {
  Deno.test(`trust in a server with ${server.replaceAll("\n", ", ")} covers its file, which appears and changes`, async () => {
    await inProject(async (load) => {
      await Deno.writeTextFile(`${load.cwd}/reasonix.toml`, `[[plugins]]\nname = "s"\n${server}\n`);
      const waits = async () => (await loadTrustedConfig(load, { ignoreUntrusted: true })).needsTrust.length;
      const trust = () => loadTrustedConfig(load, { decide: () => Promise.resolve("trust") });
      await trust();
      assertEquals(await waits(), 0);
      await Deno.mkdir(`${load.cwd}/${file.split("/")[0]}`);
      await Deno.writeTextFile(`${load.cwd}/${file}`, "one");
      assertEquals(await waits(), 1, "it has appeared");
      await trust();
      assertEquals(await waits(), 0);
      await Deno.writeTextFile(`${load.cwd}/${file}`, "two");
      assertEquals(await waits(), 1, "it has changed");
      await Deno.writeTextFile(`${load.cwd}/${file}`, "one");
      await Deno.writeTextFile(`${load.cwd}/unrelated.sh`, "three");
      assertEquals(await waits(), 0);
    });
  });
}

const FILE = `
[agent]
supplemental_prompt = "all"
[[providers]]
name = "a"
models = ["x", "y"]
supplemental_prompt = " all\\n"
turn_prompt = "late"
model_settings.x = { supplemental_prompt = "own", turn_prompt = "" }
[[providers]]
name = "b"
models = ["x"]
`;

Deno.test("prompts of agent, entry and model are joined in order, without duplicates and empty ones", async () => {
  await using fixture = configFixture({ "home/config.toml": FILE });
  const { config } = await fixture.load();
  const texts = (provider: string, id: string) => supplementalPrompts(config, { provider, id });
  assertEquals(texts("a", "x"), [
    { from: "agent", text: "all" },
    { from: 'providers.a.model_settings."x"', text: "own" },
  ]);
  assertEquals(texts("a", "y"), [{ from: "agent", text: "all" }]);
  assertEquals(texts("b", "constructor"), [{ from: "agent", text: "all" }]);
  assertEquals(turnPrompts(config, { provider: "a", id: "x" }), [{ from: "providers.a", text: "late" }]);
  assertEquals(turnPrompts(config, { provider: "unknown", id: "x" }), []);
});

Deno.test("a turn prompt is sent under the name of its content and is not kept by a compaction", async () => {
  const provider = scriptedProvider([say("one"), say("two")]);
  await using agent = await createAgent({
    provider,
    config: { agent: { turn_prompt: "{{turn}} {{model}} {{date}} {{time}} {{turns}}" } },
  });
  await agent.run("hi");
  await agent.run({ text: "again" });
  const { messages, sources } = agent.controller.recorder.state;
  const at = messages.flatMap(({ content }, index) => /^[12] scripted/.test(content) ? [index] : []);
  assertEquals(at.map((index) => sources[index]?.kind), ["ephemeral", "ephemeral"]);
  assertEquals(at.map((index) => messages[index - 1]?.content), ["hi", "again"]);
  assertMatch(
    messages[at[1] ?? 0]?.content ?? "",
    /^2 scripted\/scripted-1 \d{4}-\d\d-\d\d \d\d:\d\d \{\{turns\}\}$/,
  );
});
