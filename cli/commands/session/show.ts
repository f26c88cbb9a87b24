import type { EventOf } from "../../../src/core/mod.ts";
import { loadCheckpoints, loadEvents, type SessionState, type TurnRecord } from "../../../src/session/mod.ts";
import { oneLine, printableJson } from "../../../src/util/terminal_text.ts";
import { attachments, userText } from "../../../src/util/user_text.ts";
import { grouped, moneyFigure, tokenFigures } from "../../../src/view/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { minute } from "../../terminal/table.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chosenSession } from "./choose.ts";

/** A call as one line, with the number of its first event. */
interface CallRecord {
  readonly seq: number;
  readonly id: string;
  readonly title: string;
  end?: EventOf<"tool.end">;
}

export async function show(
  this: CliContext,
  flags: { readonly json?: boolean },
  ref?: string,
): Promise<void> {
  const session = chosenSession(runPaths(this), ref);
  if (flags.json) {
    this.process.stdout.exact(printableJson(Deno.readTextFileSync(session.path)));
    return;
  }
  const calls: CallRecord[] = [];
  const { state, notices } = loadEvents(session.path, (event) => {
    if (event.type === "tool.start") {
      const { call, summary, title = `${call.name} ${summary}` } = event;
      calls.push({ seq: event.seq, id: call.id, title });
    } else if (event.type === "tool.end") endCall(calls, event);
  });
  for (const notice of notices) this.process.stderr.write(`! ${notice.text}\n`);
  const { readChanges } = await loadCheckpoints();
  const changes = readChanges(session.dir);
  const turns = state.turns.map((turn) => {
    const last = turn.to ?? Infinity;
    const own = calls.filter(({ seq }) => seq > turn.from && seq < last);
    return turnText(turn, own, changes(turn.from, last));
  });
  this.process.stdout.write(`${head(state, session.path)}\n${turns.join("")}`);
}

/** Ids may repeat from turn to turn; a call that was refused has not begun. */
function endCall(calls: CallRecord[], end: EventOf<"tool.end">): void {
  const begun = calls.findLast(({ id }) => id === end.callId);
  if (begun && !begun.end) begun.end = end;
  else calls.push({ seq: end.seq, id: end.callId, title: end.name, end });
}

function head(state: SessionState, path: string): string {
  const { parent, durationMs } = state;
  return [
    ...(state.title === undefined ? [] : [`title     ${oneLine(state.title)}`]),
    `session   ${state.session ?? "?"}`,
    ...(parent ? [`parent    ${parent.session} up to event ${parent.seq}`] : []),
    `file      ${path}`,
    `directory ${state.cwd ?? "?"}`,
    `model     ${state.model ?? "?"}`,
    `turns     ${grouped(state.turns.length)}`,
    `tokens    ${tokenFigures(state.usage).join(", ") || "unknown"}`,
    `cost      ${moneyFigure(state) ?? "unknown"}`,
    `time      ${(durationMs / 1000).toFixed(1)} s`,
  ].join("\n");
}

function turnText(turn: TurnRecord, calls: readonly CallRecord[], changed: readonly string[]): string {
  const facts = [
    minute(turn.started),
    turn.reason ?? "unfinished",
    ...(turn.steps === 0 ? [] : [`${turn.steps} ${turn.steps === 1 ? "step" : "steps"}`]),
    ...(changed.length > 0 ? [`changed ${names(changed)}`] : []),
  ];
  const attached = attachments(turn.prompt).map((name) => `  attached ${name}\n`).join("");
  const made = calls.map((call) => `${callLine(call)}\n`).join("");
  return `\n#${turn.turn} ${facts.join(" · ")}\n> ${shortened(userText(turn.prompt))}\n${attached}` +
    `${made === "" ? "" : `\n${made}`}\n${turn.answer ?? ""}\n`;
}

const MARKS: Readonly<Record<EventOf<"tool.end">["outcome"], string>> = {
  ok: "✓",
  error: "✗",
  blocked: "⊘",
  aborted: "✗",
  skipped: "–",
};

function callLine({ title, end }: CallRecord): string {
  const result = end === undefined ? "no result" : oneLine(end.summary, 120);
  return `  ${end ? MARKS[end.outcome] : "?"} ${oneLine(title, 200)}${result === "" ? "" : ` · ${result}`}`;
}

const SHOWN_NAMES = 6;

function names(paths: readonly string[]): string {
  const more = paths.length - SHOWN_NAMES;
  return paths.slice(0, SHOWN_NAMES).map((path) => oneLine(path, 120)).join(", ") +
    (more > 0 ? ` and ${grouped(more)} more` : "");
}

const PROMPT_LINES = 24;

/** A prompt can be as long as a file. */
function shortened(prompt: string): string {
  const lines = prompt.split("\n");
  if (lines.length <= PROMPT_LINES) return prompt;
  const half = PROMPT_LINES / 2;
  return [
    ...lines.slice(0, half),
    `… ${grouped(lines.length - PROMPT_LINES)} more lines …`,
    ...lines.slice(-half),
  ].join("\n");
}
