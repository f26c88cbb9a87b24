import { type AgentDeps, runTurn } from "../../../src/agent/mod.ts";
import { MemoryStore } from "../../../src/control/memory_store.ts";
import { openConversation, Recorder, TurnCheckpoints, type TurnState } from "../../../src/control/mod.ts";
import { TurnStates } from "../../../src/control/recorder.ts";
import { type Event, type NewEvent, NO_USAGE } from "../../../src/core/mod.ts";
import { RegistryToolbox } from "../../../src/run/tools/toolbox.ts";
import { SessionLog } from "../../../src/session/mod.ts";
import { type Tool, ToolRegistry } from "../../../src/tool/mod.ts";
import { call, type Reply, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";
import { Random, SEED } from "../../support/seed.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { TRANSITIONS } from "../../support/turn_transitions.ts";

const TOOL = { name: "t", description: "d", parameters: { type: "object" } };
const WANTED = { system: "S", tools: [TOOL], model: "m", context: ["<environment>\none\n</environment>"] };

function types(recorder: Recorder, events: readonly Event[]): string[] {
  void recorder;
  return events.map((event) => event.type);
}

Deno.test("openConversation sends prefix and environment once", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  await openConversation(recorder, WANTED);
  assertEquals(types(recorder, store.events), ["context.prefix", "message.user"]);
});

Deno.test("openConversation declares a reset only for another model or tool set", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  await openConversation(recorder, { ...WANTED, model: "other" });
  await openConversation(recorder, { ...WANTED, model: "other", tools: [] });
  const other = { ...TOOL, description: "D" };
  await openConversation(recorder, { ...WANTED, tools: [other, { ...TOOL, name: "u" }] });
  await openConversation(recorder, { ...WANTED, tools: [TOOL, { ...TOOL, name: "u" }] });
  const resets = store.events.flatMap((event) =>
    event.type === "context.prefix" ? [[event.reason, event.detail]] : []
  );
  assertEquals(resets, [
    ["start", undefined],
    ["model", "m → other"],
    ["tools", "−t"],
    ["model", "other → m; +t +u"],
    ["tools", "other descriptions or another order"],
  ]);
});

Deno.test("openConversation declares a reset for another provider and another tool mode", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  const at = { ...WANTED, provider: "a" };
  await openConversation(recorder, at);
  await openConversation(recorder, { ...at, toolMode: "official" });
  await openConversation(recorder, { ...at, toolMode: "pseudo" });
  await openConversation(recorder, { ...at, toolMode: "pseudo" });
  await openConversation(recorder, { ...at, provider: "b", toolMode: "pseudo" });
  await openConversation(recorder, { ...at, provider: "b", toolMode: "none", tools: [] });
  await openConversation(recorder, { ...at, provider: "b" });
  const resets = store.events.flatMap((event) =>
    event.type === "context.prefix" ? [[event.reason, event.detail, event.toolMode]] : []
  );
  assertEquals(resets, [
    ["start", undefined, undefined],
    ["tool_mode", "official → pseudo", "pseudo"],
    ["model", "a/m → b/m", "pseudo"],
    ["tool_mode", "pseudo → none; −t", "none"],
    ["tool_mode", "none → official; +t", undefined],
  ]);
});

Deno.test("openConversation sends changed instructions and facts as messages, not as a new prefix", async () => {
  const store = new MemoryStore();
  const recorder = new Recorder(store);
  await openConversation(recorder, WANTED);
  const changed = { ...WANTED, system: "S2", context: ["<environment>\ntwo\n</environment>"] };
  await openConversation(recorder, changed);
  await openConversation(recorder, changed);
  assertEquals(types(recorder, store.events), [
    "context.prefix",
    "message.user",
    "message.user",
    "message.user",
  ]);
  assertEquals(recorder.prefix.system, "S");
  assertStringIncludes(recorder.messages[1]?.content ?? "", "S2");
});

Deno.test("a recorder delivers every event to every subscriber in order and waits for slow ones", async () => {
  const recorder = new Recorder(new MemoryStore());
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  recorder.subscribe((event) => void seen.push(`a${event.type}`));
  const remove = recorder.subscribe((event) => {
    seen.push(`b${event.type}`);
    return gate.promise;
  });
  const behind = recorder.record({ type: "turn.start", turn: 1 });
  assert(behind instanceof Promise);
  gate.resolve();
  await behind;
  remove();
  assertEquals(recorder.record({ type: "todo.update", items: [] }), undefined);
  assertEquals(seen, ["aturn.start", "bturn.start", "aturn.state", "bturn.state", "atodo.update"]);
});

Deno.test("a recorder without a prefix rejects a turn", () => {
  assertThrows(() => new Recorder(new MemoryStore()).prefix, TypeError, "no prefix");
});

interface Bench extends AsyncDisposable {
  readonly root: string;
  readonly dir: string;
  readonly events: Event[];
  readonly changes: TurnCheckpoints;
  turn(...replies: Reply[]): Promise<void>;
  close(): void;
}

const ok = () => Promise.resolve({ content: "ok", summary: "" });

/**
 * A session on disk, a workspace, and three tools: one that reads, one that writes a file, and a shell.
 */
async function bench(judged: { readonly readsOnly?: true } = {}): Promise<Bench> {
  const temp = await makeTempDir();
  const root = `${temp.path}/work`;
  Deno.mkdirSync(root);
  const write: Tool = {
    ...tool("write", false, async ({ path, text }, context) => {
      Deno.writeTextFileSync(await context.paths.write(String(path)), String(text));
      return ok();
    }),
    writes: ({ path }) => [String(path)],
  };
  const shell = tool("shell", false, ({ path, text }) => {
    Deno.writeTextFileSync(`${root}/${path}`, String(text));
    return ok();
  });
  const registry = new ToolRegistry([], [tool("read", true, ok), write, shell]);
  const log = SessionLog.create({ home: `${temp.path}/home`, cwd: root, version: "1" });
  const recorder = new Recorder(log);
  const events: Event[] = [];
  recorder.subscribe((event) => void events.push(event));
  const { callId: _i, signal: _s, progress: _p, jail, ...context } = makeToolContext(root);
  await openConversation(recorder, { system: "S", tools: registry.schemas(), model: "m" });
  const changes = new TurnCheckpoints({
    recorder,
    dir: log.paths.dir,
    root,
    skip: () => false,
    resolve: (path) => context.paths.write(path),
  });
  return {
    root,
    dir: log.paths.dir,
    events,
    changes,
    async turn(...replies) {
      const parts: AgentDeps = {
        provider: scriptedProvider(replies),
        toolbox: new RegistryToolbox({ registry, context, jail: () => jail }),
        gate: { check: () => ({ decision: "allow", source: "mode", ...judged }) },
        conversation: recorder,
        limits: {},
        checkpointer: changes,
      };
      await runTurn(parts, { text: "go" }, new AbortController().signal);
    },
    close: () => log.close(),
    async [Symbol.asyncDispose]() {
      log.close();
      await temp[Symbol.asyncDispose]();
    },
  };
}

function kinds(dir: string): string[] {
  const text = Deno.readTextFileSync(`${dir}/checkpoints/snapshots.jsonl`);
  return text.trimEnd().split("\n").map((line) => JSON.parse(line).kind);
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("TurnCheckpoints writes nothing for a turn that only reads", async () => {
  await using b = await bench();
  await b.turn([call("a", "read"), { type: "done", reason: "tool_calls" }], say("ok"));
  await b.turn(say("nothing to do"));
  assertEquals([await exists(`${b.dir}/checkpoints`), b.events.some((e) => e.type === "checkpoint")], [
    false,
    false,
  ]);
});

Deno.test("TurnCheckpoints takes one snapshot before many commands and one after the turn", async () => {
  await using b = await bench();
  const calls = Array.from({ length: 30 }, (_, i) => call(`c${i}`, "shell", { path: "a", text: i }));
  await b.turn([...calls, { type: "done", reason: "tool_calls" }], say("ok"));
  assertEquals(kinds(b.dir), ["start", "end"]);
  const types = b.events.map((event) => event.type);
  assertEquals(types.filter((type) => type === "checkpoint").length, 1);
  assert(types.indexOf("checkpoint") < types.indexOf("tool.end"));
});

Deno.test("TurnCheckpoints reverts and reports changes of a command that counted as read-only", async () => {
  await using b = await bench({ readsOnly: true });
  Deno.writeTextFileSync(`${b.root}/.gitignore`, "*.local\n");
  Deno.writeTextFileSync(`${b.root}/a`, "old");
  Deno.writeTextFileSync(`${b.root}/b.local`, "old");
  const reply = ["a", "b.local"].map((path) => call(path, "shell", { path, text: "new" }));
  await b.turn([...reply, { type: "done", reason: "tool_calls" }], say("ok"));
  assertEquals(kinds(b.dir), ["start", "end"]);
  const notices = b.events.flatMap((event) => event.type === "notice" ? [event.text] : []);
  assertEquals(notices.length, 1);
  assertStringIncludes(notices[0] ?? "", "considered read-only: a.");
  await (await b.changes.open()).restore("1");
  assertEquals([Deno.readTextFileSync(`${b.root}/a`), Deno.readTextFileSync(`${b.root}/b.local`)], [
    "old",
    "old",
  ]);
});

Deno.test("TurnCheckpoints detects the changes of a command while the model is silent", async () => {
  await using b = await bench({ readsOnly: true });
  const seen: (string | undefined)[] = [];
  const slow: Reply = async function* () {
    const notices = () => b.events.flatMap((event) => event.type === "notice" ? [event.code] : []);
    const end = performance.now() + 30_000;
    while (notices().length === 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    seen.push(...notices());
    yield* say("ok");
  };
  await b.turn(
    [call("a", "shell", { path: "a", text: "x" }), { type: "done", reason: "tool_calls" }],
    slow,
  );
  assertEquals(seen, ["checkpoint"]);
  assertEquals(kinds(b.dir), ["start", "look", "end"]);
});

Deno.test("TurnCheckpoints reports no reading command without changes or concurrent with a writing one", async () => {
  await using quiet = await bench({ readsOnly: true });
  Deno.writeTextFileSync(`${quiet.root}/a`, "");
  await quiet.turn([call("a", "read"), { type: "done", reason: "tool_calls" }], say("ok"));
  await using meant = await bench();
  await meant.turn(
    [call("a", "shell", { path: "a", text: "x" }), { type: "done", reason: "tool_calls" }],
    say("ok"),
  );
  assertEquals([...quiet.events, ...meant.events].filter((event) => event.type === "notice"), []);
});

Deno.test("TurnCheckpoints saves a file before a tool writes it, also an ignored or large one", async () => {
  await using b = await bench();
  Deno.writeTextFileSync(`${b.root}/.gitignore`, "*.log\n");
  Deno.writeTextFileSync(`${b.root}/x.log`, "old".repeat(1 << 20));
  await b.turn(
    [call("a", "write", { path: "x.log", text: "new" }), { type: "done", reason: "tool_calls" }],
    say("ok"),
  );
  assertEquals(kinds(b.dir), ["start", "before", "end"]);
});

Deno.test("TurnCheckpoints ignores a path outside of the workspace", async () => {
  await using b = await bench();
  await b.turn(
    [call("a", "write", { path: "../out", text: "x" }), { type: "done", reason: "tool_calls" }],
    say("ok"),
  );
  assertEquals(kinds(b.dir), ["start", "end"]);
});

Deno.test("TurnCheckpoints reports files that cannot be saved and lets the call run", async () => {
  await using b = await bench();
  Deno.mkdirSync(b.dir, { recursive: true });
  Deno.writeTextFileSync(`${b.dir}/checkpoints`, "a file in the way");
  Deno.writeTextFileSync(`${b.root}/a`, "old");
  const reply = [call("a", "shell", { path: "a", text: "1" }), call("b", "shell", { path: "b", text: "2" })];
  await b.turn([...reply, { type: "done", reason: "tool_calls" }], say("ok"));
  const notices = b.events.flatMap((event) => event.type === "notice" ? [event.text] : []);
  assertEquals(notices.length, 1);
  assertStringIncludes(notices[0] ?? "", "cannot be rewound");
  assertEquals([Deno.readTextFileSync(`${b.root}/a`), Deno.readTextFileSync(`${b.root}/b`)], ["1", "2"]);
});

const event = (body: NewEvent): Event => ({ v: 1, seq: 1, time: "", ...body });
const toolCall = (id: string) => ({ id, name: "bash", arguments: "{}" });

const START: NewEvent = { type: "turn.start", turn: 1 };
const ASK: NewEvent = { type: "message.start", step: 1, model: "m" };
const FOLD: NewEvent = { type: "message.start", step: 0, model: "m" };
const FOLDED: NewEvent = {
  type: "compaction",
  reason: "pressure",
  from: 1,
  to: 2,
  digest: "",
  tokensBefore: 2,
  tokensAfter: 1,
};
const CALL: NewEvent = { type: "tool.start", call: toolCall("a"), readOnly: false, summary: "" };
const REQUEST: NewEvent = { type: "approval.request", callId: "a", tool: "bash", subject: "", reason: "" };
const DECISION: NewEvent = { type: "approval.decision", callId: "a", decision: "allow", source: "user" };
const QUESTION: NewEvent = { type: "question", state: "asked", text: "?" };
const ANSWER: NewEvent = { type: "question", state: "answered", text: "?" };
const VERIFY: NewEvent = { type: "verification.start", round: 1, command: "true" };
const PLAN: NewEvent = { type: "plan.change", state: "proposed", plan: "1. all" };
const APPROVED: NewEvent = { type: "plan.change", state: "approved" };
const end = (reason: "done" | "failed" | "limit" | "interrupted" | "terminated" | "provider"): NewEvent => ({
  type: "turn.end",
  turn: 1,
  reason,
  answer: "",
  steps: 1,
  usage: NO_USAGE,
  durationMs: 1,
});

function statesOf(events: readonly NewEvent[]): TurnState[] {
  const states = new TurnStates();
  return events.flatMap((body) => states.take(event(body))?.to ?? []);
}

Deno.test("a turn moves from preparation through requests and calls to its end, one state at a time", () => {
  assertEquals(statesOf([START, ASK, CALL, REQUEST, DECISION, ASK, end("done")]), [
    "preparing",
    "generating",
    "running_tools",
    "awaiting_approval",
    "running_tools",
    "generating",
    "done",
  ]);
  assertEquals(statesOf([START, FOLD, FOLDED, ASK, VERIFY, ASK, end("provider")]), [
    "preparing",
    "compacting",
    "preparing",
    "generating",
    "verifying",
    "generating",
    "failed",
  ]);
  assertEquals(statesOf([START, ASK, CALL, PLAN, APPROVED, QUESTION, ANSWER, end("terminated")]).slice(2), [
    "running_tools",
    "awaiting_approval",
    "running_tools",
    "awaiting_answer",
    "running_tools",
    "stopped",
  ]);
});

Deno.test("an interrupt and a time limit end a turn from every state", () => {
  const ways: readonly (readonly NewEvent[])[] = [
    [],
    [ASK],
    [ASK, CALL],
    [ASK, CALL, REQUEST],
    [ASK, CALL, QUESTION],
    [ASK, CALL, REQUEST, QUESTION],
    [ASK, FOLD],
    [ASK, VERIFY],
    [ASK, CALL, PLAN],
  ];
  for (const way of ways) {
    assertEquals(statesOf([START, ...way, end("interrupted")]).at(-1), "stopped");
    assertEquals(statesOf([START, ...way, end("limit")]).at(-1), "failed");
    assertEquals(statesOf([START, ...way, end("done"), START]).at(-1), "preparing");
  }
});

Deno.test("states left open outside of a turn are closed", () => {
  const states = new TurnStates();
  states.take(event(FOLD));
  assertEquals(states.state, "compacting");
  assertEquals(states.settle(), { from: "compacting", to: "idle" });
  assertEquals(states.settle(), undefined);
});

Deno.test("no order of events causes a transition that is not in the table", () => {
  const bodies = [
    START,
    ASK,
    FOLD,
    FOLDED,
    CALL,
    REQUEST,
    DECISION,
    QUESTION,
    ANSWER,
    VERIFY,
    PLAN,
    APPROVED,
  ];
  const inTurn = bodies.slice(1);
  const numbers = new Random(SEED);
  const random = (limit: number) => numbers.below(limit);
  for (let order = 0; order < 2_000; order += 1) {
    const states = new TurnStates();
    for (let turn = 0; turn < 3; turn += 1) {
      const reason = (["done", "failed", "interrupted", "limit"] as const)[random(4)] ?? "done";
      const middle = Array.from({ length: random(12) }, () => inTurn[random(inTurn.length)] as NewEvent);
      for (const body of [START, ...middle, end(reason)]) {
        const change = states.take(event(body));
        if (!change) continue;
        const { from, to } = change;
        assert(TRANSITIONS[from].includes(to), `${from} → ${to} after ${JSON.stringify(body)}`);
        assert(from !== to, "a change changes something");
      }
    }
  }
});
