/** A session in memory whose events go through a transcript to the main screen and to the panel. */
import type { Event, NewEvent } from "../../src/core/mod.ts";
import { MemoryStore } from "../../src/control/memory_store.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { ConversationPanel } from "../../src/frontend/repl/full/conversation.ts";
import { ConversationRecord } from "../../src/frontend/repl/transcript/record.ts";
import { Transcript } from "../../src/frontend/repl/transcript/transcript.ts";
import type { Assembly } from "../../src/run/mod.ts";
import { type DiffMarks, palette } from "../../src/view/mod.ts";
import { Random } from "./seed.ts";

type Session = Assembly["session"];

/** A store of events as a session on disk has it. */
export class SessionStore extends MemoryStore {
  readonly id: string;
  readonly paths = { id: "", path: "", dir: "", lock: "" };

  constructor(id = crypto.randomUUID()) {
    super();
    this.id = id;
  }

  eventsAfter(seq: number, last?: number): readonly Event[] {
    return this.events.slice(seq, last);
  }
}

export interface ConversationStage {
  readonly session: SessionStore;
  readonly record: ConversationRecord;
  readonly transcript: Transcript;
  readonly clock: { now: number };
  /** Rows that were printed on the main screen. */
  readonly main: string[];
  readonly panel: ConversationPanel;
  /** Another panel over the same conversation, which has laid out nothing. */
  another(marks?: () => DiffMarks | undefined): ConversationPanel;
  /** Stores events, as far as they are stored, and shows them. */
  feed(...events: readonly NewEvent[]): void;
  open(session: SessionStore): void;
  full(): void;
  scroll(): void;
  /** Resolves when all that renders texts is loaded. */
  settle(): Promise<void>;
}

export interface ConversationStageOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly session?: SessionStore;
  readonly colors?: boolean;
  readonly full?: boolean;
}

export async function conversationStage(options: ConversationStageOptions = {}): Promise<ConversationStage> {
  const { columns = 60, rows = 20, session = new SessionStore(), colors = false } = options;
  const [run, turnView, full] = await Promise.all([
    loadTexts("run", "en"),
    loadTexts("turn_view", "en"),
    loadTexts("full", "en"),
  ]);
  const texts = () => ({ ...run, ...turnView });
  const failed = (error: unknown) => {
    throw error;
  };
  const record = new ConversationRecord(failed);
  const main: string[] = [];
  const clock = { now: 0 };
  let isFull = false;
  const looks = { palette: palette(colors), texts, links: false, failed, changed: () => {} };
  const transcript: Transcript = new Transcript({
    ...looks,
    print(lines, piece) {
      record.add(piece, lines);
      if (!isFull) main.push(...lines);
    },
    eager: () => isFull,
    columns: () => columns,
    still: () => true,
    now: () => clock.now,
  });
  const another: ConversationStage["another"] = (marks = () => undefined) =>
    new ConversationPanel({
      palette: looks.palette,
      record,
      transcript,
      panelTexts: () => full,
      marks,
      showsReasoning: () => false,
    });
  const panel = another();
  const stage: ConversationStage = {
    session,
    record,
    transcript,
    clock,
    main,
    panel,
    another,
    feed(...events) {
      for (const event of events) {
        const stored = session.append(event);
        record.event(stored, transcript, () => transcript.event(stored));
        transcript.live(columns, rows);
      }
    },
    open(session) {
      record.begin(session as unknown as Session, transcript, () => transcript.resume(session.state));
    },
    full() {
      transcript.flush();
      record.leave(transcript);
      isFull = true;
    },
    scroll() {
      main.push(...record.comeBack(transcript, columns, String));
      isFull = false;
    },
    async settle() {
      for (let at = 0; at < 9; at++) await new Promise((resolve) => setTimeout(resolve, 1));
    },
  };
  if (options.full) stage.full();
  stage.open(session);
  return stage;
}

/** All rows of a panel, laid out at once. */
export function rowsOf({ panel, transcript }: ConversationStage, columns: number, shown = panel): string[] {
  const rows = 100_000;
  shown.key("end");
  const { lines } = shown.frame(columns, rows);
  return lines.slice(0, lines.length - transcript.live(columns, rows).length);
}

const WORDS = [
  "the",
  "file",
  "中文宽字符",
  "👨‍👩‍👧",
  "🇩🇪",
  "e\u0301",
  "longer-word-than-most",
  "שלום",
  "`code`",
  "**bold**",
  "x",
];
const usage = { inputTokens: 9, cachedTokens: 0, outputTokens: 5, reasoningTokens: 0 };

/** Random turns as a program reports them: live events and stored ones. */
export class RandomSession {
  readonly #random: Random;
  #turn = 0;
  #call = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  words(most: number): string {
    return Array.from({ length: 1 + this.#random.below(most) }, () => this.#random.pick(WORDS)).join(" ");
  }

  /** A text in Markdown. */
  text(): string {
    const random = this.#random;
    return Array.from({ length: 1 + random.below(4) }, () => {
      switch (random.below(5)) {
        case 0:
          return `## ${this.words(6)}`;
        case 1:
          return Array.from({ length: 1 + random.below(30) }, () => `- ${this.words(9)}`).join("\n");
        case 2:
          return `\`\`\`\n${
            Array.from({ length: 1 + random.below(30) }, () => this.words(12)).join("\n")
          }\n\`\`\``;
        default:
          return this.words(60);
      }
    }).join("\n\n");
  }

  turn(): NewEvent[] {
    const random = this.#random;
    const turn = ++this.#turn;
    const steps = 1 + random.below(3);
    const events: NewEvent[] = [
      { type: "turn.start", turn },
      ...(random.chance(0.3) ? [{ type: "checkpoint", turn, files: 3, id: `k${turn}` } as const] : []),
      { type: "message.user", content: this.words(50), origin: random.chance(0.9) ? "user" : "continue" },
    ];
    if (random.chance(0.1)) events.push(...this.#compaction());
    for (let step = 1; step <= steps; step++) {
      const isLast = step === steps;
      events.push(...this.#reply(step, isLast ? 0 : random.below(3)));
    }
    if (random.chance(0.1)) events.push({ type: "rewind", to: 1, scope: "code" });
    const reason = random.pick(["done", "done", "done", "limit"] as const);
    return [...events, { type: "turn.end", turn, reason, answer: "", steps, usage, durationMs: 20 }];
  }

  #compaction(): NewEvent[] {
    const content = this.words(20);
    return [
      { type: "message.start", step: 0, model: "m" },
      { type: "message.delta", channel: "text", text: content },
      { type: "message.end", step: 0, model: "m", content, durationMs: 1 },
      {
        type: "compaction",
        reason: "full",
        from: 1,
        to: 1,
        digest: content,
        tokensBefore: 9000,
        tokensAfter: 100,
      },
    ];
  }

  #reply(step: number, count: number): NewEvent[] {
    const random = this.#random;
    const [reasoning, content] = [
      random.chance(0.5) ? this.words(30) : "",
      random.chance(0.85) ? this.text() : "",
    ];
    const begin: NewEvent[] = [{ type: "message.start", step, model: "m" }];
    if (random.chance(0.15)) {
      begin.push(...this.#deltas("reasoning", reasoning), ...this.#deltas("text", this.text()), {
        type: "message.retry",
        attempt: 1,
        maxAttempts: 3,
        waitMs: 10,
        reason: "reset",
        discarded: true,
      });
    }
    const calls = Array.from(
      { length: count },
      () => ({ id: `c${++this.#call}`, name: "bash", arguments: "{}" }),
    );
    return [
      ...begin,
      ...this.#deltas("reasoning", reasoning),
      ...this.#deltas("text", content),
      {
        type: "message.end",
        step,
        model: "m",
        content,
        ...(reasoning === "" ? {} : { reasoning }),
        calls,
        interrupted: random.chance(0.1),
        usage: { ...usage, reasoningTokens: random.chance(0.5) ? 33 : 0 },
        durationMs: 5,
      },
      ...calls.flatMap((call) => this.#call_(call)),
      ...(random.chance(0.2)
        ? [{ type: "message.user", content: this.words(9), origin: "steer" } as const]
        : []),
    ];
  }

  #deltas(channel: "text" | "reasoning", whole: string): NewEvent[] {
    const random = this.#random;
    const characters = [...whole];
    const events: NewEvent[] = [];
    while (characters.length > 0) {
      const text = characters.splice(0, 1 + random.below(40)).join("");
      events.push({ type: "message.delta", channel, text });
      if (random.chance(0.02)) events.push(this.#notice());
    }
    return events;
  }

  #notice(): NewEvent {
    const level = this.#random.pick(["info", "warning"] as const);
    return { type: "notice", level, code: "x", text: this.words(20) };
  }

  #call_(call: { id: string; name: string; arguments: string }): NewEvent[] {
    const random = this.#random;
    const content = Array.from({ length: random.below(9) }, () => this.words(12)).join("\n");
    const [callId, { name }] = [call.id, call];
    const diff = `--- a\n+++ b\n@@ -1,2 +1,2 @@\n ${this.words(5)}\n-${this.words(15)}\n+${this.words(15)}\n`;
    const asked: NewEvent[] = random.chance(0.3)
      ? [
        { type: "approval.request", callId, tool: name, subject: this.words(3), reason: "rule" },
        { type: "approval.decision", callId, decision: random.pick(["allow", "deny"]), source: "user" },
      ]
      : [];
    const status = random.pick(["pending", "in_progress", "completed"] as const);
    const items = [{ content: this.words(4), status }, { content: "b", status }];
    const todos: NewEvent = { type: "todo.update", items };
    return [
      ...asked,
      { type: "tool.start", call, readOnly: false, summary: this.words(8) },
      { type: "tool.delta", callId, text: content },
      ...(random.chance(0.2) ? [this.#notice()] : []),
      {
        type: "tool.end",
        callId,
        name,
        outcome: random.pick(["ok", "ok", "error", "blocked", "aborted", "skipped"]),
        content,
        summary: this.words(10),
        durationMs: random.below(5000),
        ...(random.chance(0.4) ? { exitCode: random.below(2) } : {}),
        ...(random.chance(0.3)
          ? { changes: [{ path: "a", change: "updated", added: 1, removed: 1, diff }] }
          : {}),
      },
      ...(random.chance(0.2) ? [todos] : []),
    ];
  }
}
