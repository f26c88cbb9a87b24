import fc from "fast-check";
import { Compaction } from "../../../../src/context/mod.ts";
import { openConversation, Recorder } from "../../../../src/control/mod.ts";
import { MemoryStore } from "../../../../src/control/memory_store.ts";
import type { Chunk, Message } from "../../../../src/core/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../../src/tool/mod.ts";
import { reduce } from "../../../support/reduce.ts";
import { checkPairing, scriptedProvider } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { SEED } from "../../../support/seed.ts";

interface Step {
  readonly text: string;
  /** Length of each call's output. */
  readonly outputs: readonly number[];
}

interface Turn {
  readonly words: number;
  readonly steps: readonly Step[];
  readonly note: boolean;
}

const NEVER = new AbortController().signal;
const WINDOW = 6_000;

const step: fc.Arbitrary<Step> = fc.record({
  text: fc.constantFrom("", "Looking at it now", "I will change the parser"),
  outputs: fc.array(fc.constantFrom(5, 300, 2_500, 9_000), { maxLength: 3 }),
});

const turn: fc.Arbitrary<Turn> = fc.record({
  words: fc.constantFrom(1, 10, 40, 4_000),
  steps: fc.array(step, { maxLength: 5 }),
  note: fc.boolean(),
});

const history = fc.array(turn, { minLength: 1, maxLength: 14 });

type SummaryKind = "good" | "empty" | "refused" | "outage" | "long";

function summaryReply(kind: SummaryKind): readonly Chunk[] {
  switch (kind) {
    case "good":
      return [{ type: "text", text: "Goal: finish" }, { type: "done", reason: "stop" }];
    case "long":
      return [{ type: "text", text: "word ".repeat(20_000) }, { type: "done", reason: "length" }];
    case "empty":
      return [{ type: "done", reason: "stop" }];
    case "refused":
      return [{ type: "error", error: { kind: "context_length", message: "too long" } }];
    case "outage":
      return [{ type: "error", error: { kind: "connection", message: "no server there" } }];
  }
}

class World {
  readonly store = new MemoryStore();
  readonly recorder = new Recorder(this.store);
  readonly compaction: Compaction;
  /** Facts that must be kept. */
  readonly kept: string[] = [];
  #calls = 0;

  constructor(kind: SummaryKind) {
    const provider = scriptedProvider(Array.from({ length: 4_000 }, () => summaryReply(kind)));
    this.compaction = new Compaction({
      provider,
      conversation: this.recorder,
      settings: { auto: true, ratio: 0.8, strategy: "summarize", prune: true, maxSummaryTokens: 0 },
      window: () => WINDOW,
      describe: new ToolRegistry(BUILTINS).describe,
    });
  }

  async open(): Promise<void> {
    await openConversation(this.recorder, {
      system: "S",
      tools: [],
      model: "m",
      context: ["<environment>"],
    });
    this.kept.push("<environment>");
  }

  async play(turn: Turn, number: number): Promise<void> {
    const { recorder } = this;
    await recorder.record({ type: "turn.start", turn: number });
    await this.#say(`Turn ${number}: ${"word ".repeat(turn.words)}`, "user");
    if (turn.note) await this.#say(`<instructions path="${number}">`, "context");
    for (const [i, step] of turn.steps.entries()) {
      await this.compaction.betweenSteps(NEVER);
      this.check();
      await this.#step(step, `${number}.${i}`);
    }
    await this.compaction.betweenSteps(NEVER);
    this.check();
    await this.#reply("Done", []);
  }

  async #say(content: string, origin: "user" | "context"): Promise<void> {
    if (content.length < 1_000) this.kept.push(content);
    await this.recorder.record({ type: "message.user", content, origin });
  }

  async #step(step: Step, name: string): Promise<void> {
    const ids = step.outputs.map(() => `c${++this.#calls}`);
    await this.#reply(step.text, ids);
    for (const [i, callId] of ids.entries()) {
      const content = `${name} ${"x y ".repeat((step.outputs[i] ?? 0) / 4)}`;
      await this.recorder.record({
        type: "tool.end",
        callId,
        name: "look",
        outcome: "ok",
        content,
        summary: "",
        durationMs: 1,
      });
    }
  }

  async #reply(content: string, ids: readonly string[]): Promise<void> {
    const calls = ids.map((id) => ({ id, name: "look", arguments: '{"path":"a.ts"}' }));
    await this.recorder.record({
      type: "message.end",
      step: 1,
      model: "m",
      content,
      ...(calls.length ? { calls } : {}),
      durationMs: 1,
    });
  }

  check(): void {
    const { messages } = this.recorder;
    checkPairing(messages);
    const texts = messages.filter((message) => message.role === "user").map((message) => message.content);
    const found = texts.filter((text) => this.kept.includes(text));
    assertEquals(found, this.kept, "a user turn or standing message is lost or out of order");
    const last = messages.findLastIndex((message) => message.role === "assistant");
    for (const message of messages.slice(last + 1)) {
      assert(!message.content.includes("shortened to make room"), "an unseen output was shortened");
    }
  }

  compactions() {
    return this.store.events.flatMap((event) => event.type === "compaction" ? [event] : []);
  }
}

function digests(messages: readonly Message[]): string[] {
  return messages.map((message) => message.content).filter((text) => text.startsWith("<compaction-summary>"));
}

for (const kind of ["good", "long", "empty", "refused", "outage"] as const) {
  Deno.test(`compaction of random histories keeps every rule when the summary is ${kind}`, async () => {
    await fc.assert(
      fc.asyncProperty(history, async (turns) => {
        const scene = new World(kind);
        await scene.open();
        for (const [i, turn] of turns.entries()) await scene.play(turn, i + 1);
        const { messages } = scene.recorder;
        for (const removal of scene.compactions()) {
          assert(removal.tokensAfter < removal.tokensBefore, "a compaction made nothing shorter");
        }
        const written = scene.compactions().filter((event) => event.action !== "prune");
        if (!written.some((event) => event.digests)) assertEquals(digests(messages).length, written.length);
        assertEquals(JSON.stringify(reduce(scene.store.events).messages), JSON.stringify(messages));
      }),
      { numRuns: 40, seed: SEED },
    );
  });
}

Deno.test("a compaction that the user requests keeps the newest step and shortens the rest", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (turns) => {
      const scene = new World("good");
      await scene.open();
      for (const [i, turn] of turns.entries()) await scene.play(turn, i + 1);
      const report = await scene.compaction.compact("the parser", NEVER);
      scene.check();
      assertEquals(report.tokensAfter <= report.tokensBefore, true);
      assertEquals(report.method === "none", report.tokensAfter === report.tokensBefore);
    }),
    { numRuns: 40, seed: SEED },
  );
});
