import { argument, command, flag, type FlagsOf, setting } from "../command.ts";
import { displayOf } from "../terminal/display.ts";
import { Speech } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadConfig } from "../../src/config/mod.ts";
import {
  type Event,
  EXIT,
  isMessage,
  message,
  type NewEventOf,
  totalCost,
  usageError,
} from "../../src/core/mod.ts";
import { FRONTENDS, Output, type RunResult } from "../../src/frontend/mod.ts";
import { findSession, loadEvents, openTurn, type SessionState } from "../../src/session/mod.ts";
import { defined } from "../../src/util/json.ts";
import { readPieceOf } from "../../src/util/file_bytes.ts";

const FLAGS = {
  outputFormat: setting("Form of the output", ["text", "jsonl", "stream-json"], "text"),
  showThinking: flag("Show the model's reasoning"),
};

/** Shows a session again from its file: the same readers, no model, no tools. */
async function replay(
  this: CliContext,
  flags: FlagsOf<typeof FLAGS>,
  ref: string,
): Promise<void> {
  const paths = runPaths(this);
  const { home, cwd } = paths;
  const place = findSession(home, ref, { cwd });
  refuseCassette(place.path);
  const { createPrinter } = await FRONTENDS.print();
  const speech = await Speech.of(this, flags);
  if (flags.outputFormat === "text") {
    const loaded = await loadConfig(paths).catch(() => undefined);
    if (loaded) await speech.configure(loaded);
  }
  const printer = createPrinter({
    texts: () => speech.run,
    format: flags.outputFormat,
    out: new Output(Deno.stdout),
    err: new Output(Deno.stderr),
    showThinking: flags.showThinking ?? false,
    ...displayOf(this),
    quiet: false,
    verbose: false,
    stream: true,
    permissionMode: "default",
    partialMessages: false,
  });
  const events: Event[] = [];
  const { state, notices } = loadEvents(place.path, (event) => events.push(event));
  for (const notice of notices) this.process.stderr.write(`! ${notice.text}\n`);
  await printer.begin?.({
    session: state.session ?? "",
    cwd: state.cwd ?? "",
    model: state.model ?? "",
    tools: state.prefix?.tools.map((tool) => tool.name) ?? [],
    skills: [],
    agents: () => Promise.resolve([]),
    servers: [],
    commands: () => Promise.resolve([]),
    keyed: false,
  });
  for (const event of events) {
    for (const shown of flags.outputFormat === "text" ? asStreamed(event) : [event]) {
      await printer.event(shown);
    }
  }
  await printer.result(resultOf(state, events));
}

/** A recording of a model's replies is played by a provider: it holds no session to show. */
function refuseCassette(path: string): void {
  if (!/^\s*\{\s*"cassette"/.test(new TextDecoder().decode(readPieceOf(path, 0, 40)))) return;
  throw usageError(
    message`Cannot replay ${path}: it is a cassette of a model's replies, not a session`,
    message`a provider with kind = "replay" and cassette = ${
      JSON.stringify(path)
    } plays it (docs/cassette.md)`,
  );
}

/** Whole messages as the live pieces a text reader shows; the user's own lines as notices. */
function asStreamed(event: Event): Event[] {
  const { v, seq, time } = event;
  if (event.type === "message.user" && event.origin === "user") {
    return [{ v, seq, time, type: "notice", level: "info", code: "replay.user", text: event.content }];
  }
  if (event.type !== "message.end") return [event];
  const piece = (channel: "text" | "reasoning", text: string): Event => ({
    v,
    seq,
    time,
    type: "message.delta",
    channel,
    text,
  });
  return [
    ...(event.reasoning ? [piece("reasoning", event.reasoning)] : []),
    ...(event.content === "" ? [] : [piece("text", event.content)]),
    event,
  ];
}

/** Adds the whole session up, as `session show` does: what was rewound was paid for too. */
function resultOf(state: SessionState, events: readonly Event[]): RunResult {
  const ends = events.filter((event): event is Event & NewEventOf<"turn.end"> => event.type === "turn.end");
  const { costs, unpriced } = state;
  const [currency, ...others] = Object.keys(costs);
  const cost = others.length === 0 ? totalCost(state, currency) : undefined;
  return {
    exit: "done",
    exitCode: EXIT.done,
    answer: ends.at(-1)?.answer ?? "",
    steps: ends.reduce((sum, end) => sum + end.steps, openTurn(state)?.steps ?? 0),
    replies: events.filter((event) => event.type === "message.end" && event.step > 0 && isMessage(event))
      .length,
    durationMs: state.durationMs,
    usage: state.usage,
    modelMs: events.reduce((sum, event) => event.type === "message.end" ? sum + event.durationMs : sum, 0),
    refusals: [],
    ...defined({ session: state.session, model: state.model }),
    ...(cost ? { cost } : { partialCost: { costs, unpriced } }),
  };
}

export const replayCommand = command({
  flags: FLAGS,
  args: [argument("Session id or file", "file", "sessions")],
  run: replay,
});
