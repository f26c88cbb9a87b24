import { type AgentDeps, runTurn } from "../../../src/agent/mod.ts";
import { RegistryToolbox } from "../../../src/run/tools/toolbox.ts";
import { openConversation, Recorder, TurnCheckpoints } from "../../../src/control/mod.ts";
import type { Event } from "../../../src/core/mod.ts";
import { SessionLog } from "../../../src/session/mod.ts";
import { type Tool, ToolRegistry } from "../../../src/tool/mod.ts";
import { call, type Reply, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";

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
