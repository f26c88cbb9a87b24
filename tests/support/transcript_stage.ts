/** A transcript on a terminal without a window, fed with events. */
import type { Event, NewEvent } from "../../src/core/mod.ts";
import { TurnStates } from "../../src/control/recorder.ts";
import { loadTexts, type Locale } from "../../src/i18n/mod.ts";
import { Screen } from "../../src/frontend/repl/screen/screen.ts";
import { Transcript } from "../../src/frontend/repl/transcript/transcript.ts";
import { palette } from "../../src/view/mod.ts";
import { VirtualTerminal } from "./virtual_terminal.ts";

export interface TranscriptStageOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly locale?: Locale;
  readonly colors?: boolean;
}

export interface TranscriptStage {
  readonly terminal: VirtualTerminal;
  readonly transcript: Transcript;
  /** Milliseconds; only a test moves it. */
  readonly clock: { now: number };
  /** Feeds events and draws. */
  feed(...events: NewEvent[]): void;
  /** An answer that streams in pieces and ends its turn. */
  stream(text: string, size: number): void;
  /** Everything that was printed, after the live region is empty. */
  printed(): Promise<string[]>;
}

const LIMIT_MS = 60_000;

export const TURN_END: NewEvent = {
  type: "turn.end",
  turn: 1,
  reason: "done",
  answer: "",
  steps: 1,
  usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  durationMs: 1,
};

export async function transcriptStage(options: TranscriptStageOptions = {}): Promise<TranscriptStage> {
  const { columns = 80, rows = 24, locale = "en" } = options;
  const terminal = new VirtualTerminal({ columns, rows });
  const clock = { now: 0 };
  const [run, turnView] = await Promise.all([
    loadTexts("run", locale),
    loadTexts("turn_view", locale),
  ]);
  const transcript: Transcript = new Transcript({
    palette: palette(options.colors ?? false),
    texts: () => ({ ...run, ...turnView }),
    print: (lines) => screen.print(lines),
    changed: () => screen.draw(),
    columns: () => terminal.columns,
    failed: (error) => {
      throw error;
    },
    still: () => true,
    links: false,
    now: () => clock.now,
  });
  const screen = new Screen(terminal, {
    frame: (width, height) => ({ lines: [...transcript.live(width, height - 1), "> "] }),
  });
  terminal.start({ input: () => {}, resize: () => screen.resized(), continued: () => {}, ended: () => {} });
  screen.open();
  const states = new TurnStates();
  const show = (event: NewEvent) => {
    const kept = { v: 1, seq: 0, time: "", ...event } as Event;
    transcript.event(kept);
    const change = states.take(kept);
    if (change) show({ type: "turn.state", ...change });
  };
  const feed = (...events: NewEvent[]) => {
    for (const event of events) show(event);
    screen.draw();
  };
  return {
    terminal,
    transcript,
    clock,
    feed,
    stream(text, size) {
      feed({ type: "message.start", step: 1, model: "m" });
      for (let at = 0; at < text.length; at += size) {
        feed({ type: "message.delta", channel: "text", text: text.slice(at, at + size) });
      }
      feed({ type: "message.end", step: 1, model: "m", content: text, durationMs: 1 }, TURN_END);
    },
    async printed() {
      const end = performance.now() + LIMIT_MS;
      while (transcript.live(columns, rows).length > 0) {
        if (performance.now() > end) throw new Error(`Something stays live:\n${terminal.text().join("\n")}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      screen.draw();
      return terminal.text().slice(0, -1);
    },
  };
}
