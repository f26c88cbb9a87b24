import {
  argumentsLine,
  errorMessage,
  isAbort,
  message,
  type NewEventOf,
  NO_USAGE,
  type PreparedCall,
  subjectOf,
  type Text,
  textOf,
  type ToolCall,
  type UserInput,
  writtenFields,
} from "../core/mod.ts";
import type { Decision, HookWord } from "../permission/mod.ts";
import { failure, type ToolResult } from "../tool/mod.ts";
import { defined } from "../util/json.ts";
import { type AgentDeps, stopped, type TurnOutcome } from "./ports.ts";

const WARN_AT = 3;
const STOP_AT = 6;

/** Failures of each call since another one succeeded, by name and arguments. */
export type RepeatedFailures = Map<string, number>;

/** Counts a call that failed; returns the text for a model that repeats it, and whether the turn ends. */
function repeated(
  failures: RepeatedFailures,
  call: ToolCall,
): { readonly reminder: string; readonly stop: boolean } | undefined {
  const key = `${call.name}\n${call.arguments}`;
  const count = (failures.get(key) ?? 0) + 1;
  failures.set(key, count);
  if (count < WARN_AT) return undefined;
  const last = count === STOP_AT - 1 ? ". One more repetition ends the turn" : "";
  const reminder =
    `[This exact call has now failed ${count} times. Repeating it will fail again: read the error, ` +
    `then change the arguments or take another way${last}.]`;
  return { reminder, stop: count >= STOP_AT };
}

const MAX_PARALLEL = 8;

type ToolEnd = NewEventOf<"tool.end">;

interface BatchOutcome {
  /** A refusal that ends the run (`--on-ask fail`). */
  blocked?: string;
  /** The model repeats a failing call and does not react. */
  stuck?: string;
  /** A call has ended the turn. */
  ended?: NonNullable<ToolResult["endsTurn"]>;
}

/** A call of the message; a string is why it cannot run. */
type Entry = readonly [call: ToolCall, prepared: PreparedCall | string];

interface Batch {
  readonly deps: AgentDeps;
  readonly failures: RepeatedFailures;
  readonly signal: AbortSignal;
  readonly outcome: BatchOutcome;
}

/**
 * Runs the calls of one message: neighbouring read-only calls together, those of other agents as well,
 * writers one at a time.
 *
 * Contract: records exactly one `tool.end` per call, in call order, whatever happens.
 */
export async function dispatch(
  deps: AgentDeps,
  calls: readonly ToolCall[],
  failures: RepeatedFailures,
  signal: AbortSignal,
): Promise<BatchOutcome> {
  const batch: Batch = { deps, failures, signal, outcome: {} };
  let at = 0;
  while (at < calls.length) {
    const group = await nextGroup(batch, calls, at);
    const ends = group.map((entry) => runEntry(batch, entry));
    for (const [index, end] of ends.entries()) await finish(batch, calls[at + index] as ToolCall, await end);
    at += group.length;
  }
  return batch.outcome;
}

/**
 * The calls from `at` on that may run together: one writer, all readers up to the next writer, or all that
 * other agents work on.
 */
async function nextGroup(batch: Batch, calls: readonly ToolCall[], at: number): Promise<Entry[]> {
  const { deps, signal } = batch;
  const limit = deps.maxCallsPerStep ?? calls.length;
  const group: Entry[] = [];
  for (const call of calls.slice(at, at + MAX_PARALLEL)) {
    const prepared = at + group.length < limit ? await deps.toolbox.prepare(call, signal) : tooMany(limit);
    const kind = kindOf(prepared);
    const first = group[0] && kindOf(group[0][1]);
    if (first !== undefined && first !== kind) break;
    group.push([call, prepared]);
    if (kind === "writer") break;
  }
  return group;
}

function kindOf(prepared: PreparedCall | string): "reader" | "writer" | "agent" {
  if (typeof prepared === "string" || prepared.readOnly) return "reader";
  return prepared.delegates ? "agent" : "writer";
}

function tooMany(limit: number): string {
  return `Not executed: at most ${limit} tool call per message is allowed; send this call again on its own`;
}

async function finish(batch: Batch, call: ToolCall, end: ToolEnd): Promise<void> {
  const failed = end.outcome === "error" || end.outcome === "blocked";
  if (!failed) batch.failures.clear();
  const repeat = failed ? repeated(batch.failures, call) : undefined;
  await batch.deps.conversation.record(
    repeat ? { ...end, content: `${end.content}\n${repeat.reminder}` } : end,
  );
  if (repeat?.stop) batch.outcome.stuck = `The same ${end.name} call kept failing: ${end.summary}`;
}

/** Runs one call alone, and records all of it but its end. Never rejects. */
async function runCall(deps: AgentDeps, call: ToolCall, signal: AbortSignal): Promise<ToolEnd> {
  const batch: Batch = { deps, failures: new Map(), signal, outcome: {} };
  return await runEntry(batch, [call, await deps.toolbox.prepare(call, signal)]);
}

/** prepare (done) → gate → execute → finalize. Never rejects. */
async function runEntry(batch: Batch, [call, prepared]: Entry): Promise<ToolEnd> {
  const { deps, signal } = batch;
  const now = deps.now ?? performance.now.bind(performance);
  /** The call has not begun as long as it is judged, and a person thinks. */
  let started: number | undefined;
  const durationMs = () => {
    if (started === undefined) return 0;
    const took = now() - started - deps.conversation.waitedForPerson(started, call.id);
    return Math.max(0, Math.round(took));
  };
  const readOnly = typeof prepared !== "string" && prepared.readOnly;
  await deps.conversation.record({
    type: "tool.start",
    call,
    readOnly,
    ...callFacts(prepared),
    ...callSummary(call, prepared),
  });
  const end = (outcome: ToolEnd["outcome"], result: ToolResult): ToolEnd => ({
    type: "tool.end",
    callId: call.id,
    name: call.name,
    outcome,
    content: result.content,
    ...(result.images ? { images: [...result.images] } : {}),
    summary: textOf(result.summary),
    ...writtenFields(result.summary),
    durationMs: durationMs(),
    ...(result.changes ? { changes: [...result.changes] } : {}),
    ...(result.truncated ? { truncated: result.truncated } : {}),
    ...(result.exitCode === undefined ? {} : { exitCode: result.exitCode }),
    ...(result.signal === undefined ? {} : { signal: result.signal }),
    ...(result.refused ? { refused: true } : {}),
    ...(result.denied ? { denied: true } : {}),
  });
  if (typeof prepared === "string") return end("error", failure(prepared));
  if (batch.outcome.blocked || batch.outcome.ended) {
    const why = batch.outcome.blocked
      ? message`Not executed: an earlier call of this message ended the run`
      : message`Not executed: an earlier call of this message ended the turn`;
    return end("skipped", failure(why));
  }
  if (signal.aborted) {
    return end("aborted", failure(NOT_BEGUN));
  }
  try {
    return await judged(batch, [call, prepared], { end, begin: () => started ??= now() });
  } catch (error) {
    if (signal.aborted || isAbort(error)) {
      return end("aborted", failure(started === undefined ? NOT_BEGUN : STOPPED));
    }
    return end("error", failure(errorMessage(error)));
  }
}

const NOT_BEGUN = message`Not executed: the turn was stopped before this call began`;
const STOPPED = message`The call was stopped before it finished; it may have had partial effects`;

type End = (outcome: ToolEnd["outcome"], result: ToolResult) => ToolEnd;

interface Judging {
  readonly end: End;
  readonly begin: () => void;
  readonly word?: HookWord;
}

/** hooks → gate → execute. Changed arguments are judged like the original ones. */
async function judged(batch: Batch, [call, prepared]: Entry, judging: Judging): Promise<ToolEnd> {
  const { deps, signal } = batch;
  const { end, begin } = judging;
  if (typeof prepared === "string") return end("error", failure(prepared));
  const opinion = deps.beforeCall && await deps.beforeCall(prepared, signal);
  // What the user stopped while a hook had a say does not begin.
  if (deps.beforeCall) signal.throwIfAborted();
  if (!opinion) return await gated(batch, [call, prepared], judging);
  const { deny, stop, word, notes } = opinion;
  const noted: End = (outcome, result) => end(outcome, withNotes(result, notes));
  if (stop !== undefined) batch.outcome.blocked = stop;
  const refusal = deny ?? stop;
  if (refusal !== undefined) return noted("blocked", refused(refusal));
  const withWord = { end: noted, begin, ...(word ? { word } : {}) };
  if (opinion.arguments === undefined) return await gated(batch, [call, prepared], withWord);
  const other = { ...call, name: prepared.tool, arguments: opinion.arguments };
  return await gated(batch, [other, await deps.toolbox.prepare(other, signal)], withWord);
}

function refused(reason: Text): ToolResult {
  return { content: `blocked: ${textOf(reason)}`, isError: true, summary: reason };
}

/** The result of a call that a person was prompted for and did not allow. */
function denied({ source }: Decision, reason: Text): ToolResult {
  const summary = message`denied, not executed: ${reason}`;
  return { content: summary.text, isError: true, summary, ...(source === "hook" ? {} : { denied: true }) };
}

function withNotes(result: ToolResult, notes: readonly string[]): ToolResult {
  return notes.length === 0 ? result : { ...result, content: [result.content, ...notes].join("\n\n") };
}

/** gate → execute. */
async function gated(
  batch: Batch,
  [call, prepared]: Entry,
  { end, begin, word }: Judging,
): Promise<ToolEnd> {
  const { deps, signal } = batch;
  if (typeof prepared === "string") return end("error", failure(prepared));
  const decision = await deps.gate.check(prepared, signal, word);
  if (decision.failure) return end("error", { ...decision.failure, isError: true });
  if (decision.decision === "deny") {
    const reason = decision.reason ?? message`refused by the permission policy`;
    if (decision.stop) batch.outcome.blocked = textOf(reason);
    return end("blocked", decision.asked ? denied(decision, reason) : refused(reason));
  }
  const changed = deps.amended?.(call.id);
  if (changed !== undefined) {
    const other = { ...call, arguments: changed };
    return await judged(batch, [other, await deps.toolbox.prepare(other, signal)], { end, begin });
  }
  // Also before a command that was judged to only read: the judgement may be wrong.
  if (!prepared.readOnly) await deps.checkpointer?.snapshotBefore(prepared);
  begin();
  const result = await deps.toolbox.execute(
    prepared,
    signal,
    (text) => void deps.conversation.record({ type: "tool.delta", callId: call.id, text }),
  );
  const { claimsToRead, readsNetwork } = prepared;
  const meansToRead = decision.readsOnly === true || claimsToRead === true || readsNetwork === true;
  if (!prepared.readOnly) deps.checkpointer?.detectAfter(prepared, meansToRead);
  if (result.endsTurn) batch.outcome.ended = result.endsTurn;
  const heard = deps.afterCall ? await withSaid(batch, prepared, result) : result;
  return end(result.isError ? "error" : "ok", heard);
}

async function withSaid(batch: Batch, prepared: PreparedCall, result: ToolResult): Promise<ToolResult> {
  const said = await batch.deps.afterCall?.(prepared, result, batch.signal);
  if (said?.stop !== undefined) batch.outcome.blocked = said.stop;
  return said ? withNotes(result, said.notes) : result;
}

const MAX_LENGTH = 120;
const MAX_TITLE = 300;
const MAX_PATHS = 20;

/** The tool and the files of a call, where they are known and its name does not say it. */
function callFacts(prepared: PreparedCall | string): Pick<NewEventOf<"tool.start">, "tool" | "paths"> {
  if (typeof prepared === "string") return {};
  const { call, tool, reads, writes = [] } = prepared;
  const paths = writes.length > 0 ? writes : reads;
  return {
    ...(tool === call.name ? {} : { tool }),
    ...(paths.length > 0 ? { paths: paths.slice(0, MAX_PATHS) } : {}),
  };
}

/**
 * Lines for people: what a call is about (its command, path or pattern, else its arguments as they were
 * sent), and what it does.
 */
function callSummary(
  call: ToolCall,
  prepared: PreparedCall | string,
): { readonly summary: string; readonly title: string; readonly said?: ToolEnd["said"] } {
  if (typeof prepared === "string") {
    return {
      summary: shortened(call.arguments),
      title: shortened(`${call.name} ${argumentsLine(call.arguments)}`, MAX_TITLE),
    };
  }
  const whole = textOf(prepared.title);
  const title = shortened(whole, MAX_TITLE);
  return {
    summary: shortened(subjectOf(prepared) || call.arguments),
    title,
    // A shortened title is English.
    ...(title === whole ? writtenFields(prepared.title) : {}),
  };
}

function shortened(text: string, max = MAX_LENGTH): string {
  // Blanks count as well: a little more than is kept is enough to look at.
  const begin = text.trimStart();
  const line = begin.slice(0, 16 * max).replace(/\s+/g, " ").trim();
  return line.length > max || begin.length > 16 * max ? `${line.slice(0, max - 1)}…` : line;
}

const SHELL_TOOL = "bash";

/**
 * Runs a command line that the user typed, as a turn without the model: judged, confined, bounded and undone
 * like a call of the model. What the model reads of it with the next turn is the line as a message of the
 * user, and command, exit code and output as a message in its own place.
 *
 * Contract: as `runTurn`.
 */
export async function runShellTurn(
  deps: AgentDeps,
  { command, id: messageId }: { readonly command: string } & Pick<UserInput, "id">,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { conversation, provider, checkpointer } = deps;
  const now = deps.now ?? performance.now.bind(performance);
  const started = now();
  const turn = conversation.nextTurn;
  const call: ToolCall = { id: `shell-${turn}`, name: SHELL_TOOL, arguments: JSON.stringify({ command }) };
  checkpointer?.begin(turn);
  await conversation.record({ type: "turn.start", turn });
  const typed = { ...defined({ id: messageId }), content: `!${command}`, origin: "user" } as const;
  await conversation.record({ type: "message.user", ...typed });
  const end = await runCall(deps, call, signal);
  await conversation.record(end);
  const durationMs = Math.max(0, Math.round(now() - started - conversation.waitedForPerson(started)));
  const content = report(command, end);
  await conversation.record({ type: "message.end", step: 0, model: provider.model.id, content, durationMs });
  const outcome: TurnOutcome = {
    ...(signal.aborted ? stopped(signal) : { reason: "done" }),
    answer: end.content,
    steps: 0,
    usage: NO_USAGE,
    durationMs,
  };
  await conversation.record({ type: "turn.end", turn, ...outcome });
  await Promise.all([conversation.sync(), checkpointer?.end()]);
  return outcome;
}

interface CommandEnd {
  readonly content: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
}

function report(command: string, { content, exitCode, signal }: CommandEnd): string {
  const end = exitCode === undefined ? "" : `Exit code: ${exitCode}${signal ? ` (${signal})` : ""}\n`;
  return `The user ran this command: ${command}\n${end}Output:\n${content}`;
}
