/** One session with actions in random order, and its invariants. */
import { assemble } from "../../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import { type Chunk, type Event, ReasonixError } from "../../../src/core/mod.ts";
import type { ApprovalAnswer } from "../../../src/core/message.ts";
import type { ModelRequest, Provider } from "../../../src/provider/mod.ts";
import type { Tool } from "../../../src/tool/mod.ts";
import { call, checkPairing, say, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { Random } from "../../support/seed.ts";
import { TRANSITIONS } from "../../support/turn_transitions.ts";
import { removeTree } from "../../support/remove_tree.ts";

const RESTING = ["idle", "done", "failed", "stopped"];

/** The actions of a user at any moment. */
const ACTIONS = ["interrupt", "auto", "ask", "yolo", "plan", "normal", "steer", "kill"] as const;

class OrderStage {
  /** Number of executions of each call, over all processes of the session. */
  readonly effects = new Map<string, number>();
  readonly #dice: Random;
  readonly #root: string;
  #calls = 0;
  #home: string;
  /** Events until the next action. */
  #until: number;
  #killed: string | undefined;
  #assembly: Assembly | undefined;
  #state = "idle";
  #turnEnds = 0;
  /** Calls whose result was displayed. */
  readonly #results = new Set<string>();

  constructor(seed: number, root: string) {
    this.#dice = new Random(seed);
    this.#root = root;
    this.#home = `${root}/home0`;
    this.#until = this.#dice.below(25);
  }

  /** Runs some turns, with occasional kills and resumes. */
  async live(): Promise<void> {
    await Deno.mkdir(`${this.#root}/work`);
    await Deno.mkdir(this.#home);
    let session: string | undefined;
    for (let life = 0; life < 3; life += 1) {
      this.#killed = undefined;
      this.#state = "idle";
      const assembly = await this.#open(session);
      this.#assembly = assembly;
      for (let turn = 0; turn < 2 && this.#killed === undefined; turn += 1) await this.#turn(assembly, turn);
      session = assembly.session.id;
      if (this.#killed === undefined) this.#checkResults(assembly);
      await assembly[Symbol.asyncDispose]();
      if (this.#killed !== undefined) this.#home = this.#killed;
      else if (life < 2) await copyTree(this.#home, this.#home = `${this.#root}/closed${life}`);
    }
    for (const [id, times] of this.effects) assertEquals(times, 1, `${id} was executed ${times} times`);
  }

  /** Everything displayed is in the conversation, also after a kill. */
  #checkResults({ session: { state } }: Assembly): void {
    const kept = new Set(state.messages.flatMap((each) => each.role === "tool" ? [each.callId] : []));
    for (const id of this.#results) assert(kept.has(id), `the result of ${id} is lost`);
  }

  async #turn(assembly: Assembly, turn: number): Promise<void> {
    const before = this.#turnEnds;
    const began = await assembly.run(`task ${turn}`).then(() => true, notBegun);
    if (this.#killed !== undefined) return;
    if (began) assert(this.#turnEnds > before, "a turn that was begun has ended");
    assertEquals(assembly.session.state.turns.filter(({ to }) => to === undefined), []);
    assert(RESTING.includes(this.#state), `${this.#state} behind a turn`);
    assertEquals(assembly.session.state.pending.size, 0);
    checkPairing(assembly.session.state.messages);
  }

  async #open(resume: string | undefined): Promise<Assembly> {
    const paths = { cwd: `${this.#root}/work`, home: this.#home, env: () => undefined };
    const flags = { sandbox: { bash: "off" as const }, permissions: { ask: ["change"] } };
    const assembly = await assemble({
      paths,
      loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
      provider: this.#provider(),
      tools: this.#tools(),
      approver: { ask: (_request, signal) => this.#answer(signal) },
      ...(resume === undefined ? {} : { resume }),
    });
    assembly.controller.subscribe((event) => this.#take(assembly, event));
    return assembly;
  }

  #tools(): Tool[] {
    const effect = (id: string) => void this.effects.set(id, (this.effects.get(id) ?? 0) + 1);
    return [
      tool("look", true, async () => {
        await ticks(this.#dice.below(4));
        return { content: "seen", summary: "seen" };
      }),
      tool("change", false, async (_args, { callId, signal }) => {
        effect(callId);
        await ticks(this.#dice.below(6));
        signal.throwIfAborted();
        if (this.#dice.below(8) === 0) throw new Error("it broke");
        return { content: `changed by ${callId}`, summary: "changed" };
      }),
    ];
  }

  #provider(): Provider {
    const bodies = new Map<string, string>();
    const stream = (request: ModelRequest, signal: AbortSignal) => this.#reply(request, signal, bodies);
    return {
      name: "scripted",
      model: { provider: "scripted", id: "scripted-1", contextWindow: 0, vision: false },
      async *stream(request, signal) {
        yield* stream(request, signal);
      },
    };
  }

  async *#reply(
    request: ModelRequest,
    signal: AbortSignal,
    bodies: Map<string, string>,
  ): AsyncIterable<Chunk> {
    checkPairing(request.messages);
    checkPrefix(request, bodies);
    await ticks(this.#dice.below(4));
    const fate = this.#dice.below(10);
    if (fate === 0) {
      return yield { type: "error", error: { kind: "server", message: "it fell over" } };
    }
    if (fate < 4) {
      yield { type: "text", text: "half " };
      await ticks(this.#dice.below(4));
      if (signal.aborted) return yield { type: "error", error: ABORTED };
      return yield* say("and half");
    }
    const names = Array.from({ length: 1 + this.#dice.below(3) }, () => this.#dice.pick(CALLS));
    for (const name of names) yield call(`c${++this.#calls}`, name, argumentsOf(name));
    if (signal.aborted) return yield { type: "error", error: ABORTED };
    yield { type: "done", reason: "tool_calls" };
  }

  async #answer(signal: AbortSignal): Promise<ApprovalAnswer> {
    await ticks(this.#dice.below(6));
    // A person may also be away until someone stops the turn.
    if (this.#dice.below(12) === 0) {
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      void this.#assembly?.controller.submit({ type: "interrupt", reason: "interrupted" });
      await stopped;
    }
    signal.throwIfAborted();
    const scope = this.#dice.pick(["once", "once", "session"] as const);
    return { allow: this.#dice.below(3) > 0, scope };
  }

  #take(assembly: Assembly, event: Event): void {
    if (event.type === "turn.state") {
      assertEquals(event.from, this.#state);
      const { from, to } = event;
      assert(TRANSITIONS[from].includes(to), `${from} → ${to}`);
      this.#state = to;
    }
    if (event.type === "turn.end") this.#turnEnds += 1;
    if (event.type === "tool.end" && this.#killed === undefined) this.#results.add(event.callId);
    if (this.#until-- > 0 || this.#killed !== undefined) return;
    this.#until = 5 + this.#dice.below(30);
    this.#act(assembly, this.#dice.pick(ACTIONS));
  }

  #act({ controller, modes }: Assembly, action: (typeof ACTIONS)[number]): void {
    switch (action) {
      case "interrupt":
        return void controller.submit({
          type: "interrupt",
          reason: this.#dice.pick(["interrupted", "terminated"]),
        });
      case "steer":
        return void controller.submit({ type: "steer", text: "and be quick" });
      case "plan":
      case "normal":
        // The event that is being shown has to be through before another one is recorded.
        return queueMicrotask(() => void modes.setCollaboration(action));
      case "kill":
        return this.#kill();
      default:
        return queueMicrotask(() => void modes.setApproval(action));
    }
  }

  /** A killed process leaves its files as they are at this moment. */
  #kill(): void {
    const left = `${this.#root}/killed${this.#calls}-${this.#turnEnds}`;
    copyTreeSync(this.#home, left);
    this.#killed = left;
    void this.#assembly?.controller.submit({ type: "interrupt", reason: "terminated" });
  }
}

const ABORTED = { kind: "aborted", message: "stopped" } as const;
const CALLS = ["look", "look", "change", "change", "task", "nothing"] as const;

function argumentsOf(name: (typeof CALLS)[number]): unknown {
  return name === "task" ? { agent: "general", description: "a part", prompt: "do a part of it" } : {};
}

/** A request of a conversation begins with the whole previous one unless a reset was declared. */
function checkPrefix({ prefix, messages }: ModelRequest, bodies: Map<string, string>): void {
  const key = JSON.stringify([prefix, messages[0]]);
  const body = JSON.stringify(messages).slice(0, -1);
  const before = bodies.get(key) ?? "";
  assert(body.startsWith(before), "the request does not begin with the one before");
  bodies.set(key, body);
}

/** An interrupt may arrive before a turn. */
function notBegun(error: unknown): false {
  if (error instanceof ReasonixError && (error.exit === "interrupt" || error.exit === "terminated")) {
    return false;
  }
  throw error;
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await new Promise((resolve) => setTimeout(resolve, 0));
}

function copyTreeSync(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory, isFile } of Deno.readDirSync(from)) {
    if (isDirectory) copyTreeSync(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

function copyTree(from: string, to: string): Promise<void> {
  return Promise.resolve(copyTreeSync(from, to));
}

/** Runs one order of events; throws if an invariant is violated. */
export async function liveThrough(seed: number): Promise<{ readonly calls: number }> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-orders-" }));
  try {
    const stage = new OrderStage(seed, root);
    await stage.live();
    return { calls: stage.effects.size };
  } finally {
    await removeTree(root);
  }
}
