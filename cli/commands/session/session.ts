import { ReasonixError } from "../../../src/core/mod.ts";
import {
  loadEvents,
  loadIndex,
  loadManage,
  projectDir,
  type SearchHit,
  type SessionInfo,
  type SessionState,
} from "../../../src/session/mod.ts";
import { oneLine, terminalSafe } from "../../../src/util/terminal_text.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chosenSession, sessionsOf, withSessionLock } from "./choose.ts";
import { outputWidth, printableJson, table } from "../../terminal/table.ts";

export interface ListFlags {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly limit: number;
}

export function list(this: CliContext, flags: ListFlags): void {
  const paths = runPaths(this);
  const sessions = sessionsOf(paths, flags.all ?? false, flags.limit);
  if (flags.json) return printJson(this, sessions);
  if (sessions.length === 0) {
    const where = flags.all ? "" : ` for ${terminalSafe(paths.cwd)}`;
    this.process.stdout.write(`No sessions${where} yet\n`);
    return;
  }
  this.process.stdout.write(sessionTable(sessions, flags.all ?? false));
}

/** Sessions as a table; with their directories when they are of more than one. */
export function sessionTable(sessions: readonly SessionInfo[], folders: boolean): string {
  const width = outputWidth();
  return table(
    ["ID", "CHANGED", ...(folders ? ["FOLDER"] : []), "TITLE"],
    sessions.map((info) => [
      info.id,
      minute(info.updated),
      ...(folders ? [tail(info.cwd, 30)] : []),
      info.title || "(no title)",
    ]),
    width === undefined ? {} : { width },
  );
}

/** Date and time of day, UTC as everywhere in a session. */
function minute(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}

function tail(path: string, length: number): string {
  const characters = [...path];
  return characters.length > length ? `…${characters.slice(1 - length).join("")}` : path;
}

function printJson(context: CliContext, value: unknown): void {
  context.process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

export function show(this: CliContext, flags: { readonly json?: boolean }, ref?: string): void {
  const session = chosenSession(runPaths(this), ref);
  if (flags.json) {
    this.process.stdout.write(printableJson(Deno.readTextFileSync(session.path)));
    return;
  }
  const { state, notices } = loadEvents(session.path);
  for (const notice of notices) this.process.stderr.write(`! ${terminalSafe(notice.text)}\n`);
  this.process.stdout.write(terminalSafe(transcript(state, session.path)));
}

function transcript(state: SessionState, path: string): string {
  const { usage, parent } = state;
  const costs = Object.entries(state.costs).map(([currency, amount]) => `${amount.toFixed(4)} ${currency}`);
  const head = [
    ...(state.title === undefined ? [] : [`title     ${oneLine(state.title)}`]),
    `session   ${state.session ?? "?"}`,
    ...(parent ? [`parent    ${parent.session} up to event ${parent.seq}`] : []),
    `file      ${path}`,
    `directory ${state.cwd ?? "?"}`,
    `model     ${state.model ?? "?"}`,
    `turns     ${state.turns.length}`,
    `tokens    in ${usage.inputTokens} (${usage.cachedTokens} cached), out ${usage.outputTokens}`,
    `cost      ${costs.join(", ") || "unknown"}${
      costs.length > 0 && state.unpriced > 0 ? " and some unknown" : ""
    }`,
  ];
  const turns = state.turns.map((turn) => {
    const wrote = turn.checkpoint === undefined ? "" : ", may have changed files";
    return `\n#${turn.turn} ${turn.started} (${turn.reason ?? "unfinished"}, ${turn.steps} steps${wrote})\n` +
      `> ${shortened(turn.prompt)}\n\n${turn.answer ?? ""}\n`;
  });
  return `${head.join("\n")}\n${turns.join("")}`;
}

const PROMPT_LINES = 24;

/** A prompt can hold whole files. */
function shortened(prompt: string): string {
  const lines = prompt.split("\n");
  if (lines.length <= PROMPT_LINES) return prompt;
  const half = PROMPT_LINES / 2;
  return [
    ...lines.slice(0, half),
    `… ${lines.length - PROMPT_LINES} more lines …`,
    ...lines.slice(-half),
  ].join("\n");
}

export async function search(this: CliContext, flags: ListFlags, ...words: string[]): Promise<void> {
  const { home, cwd } = runPaths(this);
  const query = words.join(" ");
  if (query.trim() === "") {
    throw new ReasonixError("Cannot search for nothing", {
      exit: "usage",
      remedy: "give one or more words",
    });
  }
  const { SessionIndex } = await loadIndex();
  using index = await SessionIndex.open(home);
  const { hits } = index.search({
    query,
    limit: flags.limit,
    ...(flags.all ? {} : { project: projectDir(home, cwd) }),
  });
  if (flags.json) return printJson(this, hits);
  if (hits.length > 0) this.process.stdout.write(hits.map(hitText).join("\n"));
  else {
    const more = flags.all ? "try fewer or rarer words" : "--all searches the sessions of every directory";
    this.process.stdout.write(`No message matches "${oneLine(query)}"; ${more}\n`);
  }
}

function hitText(hit: SearchHit): string {
  const title = oneLine(hit.title, 60) || "(no title)";
  return `${hit.session}  ${minute(hit.time)}  turn ${hit.turn}, ${hit.role}  ${title}\n` +
    `    ${oneLine(hit.snippet, 300)}\n`;
}

export async function rename(
  this: CliContext,
  _flags: unknown,
  ref: string,
  ...words: string[]
): Promise<void> {
  const title = oneLine(words.join(" "), 200);
  if (title === "") {
    throw new ReasonixError("Cannot rename a session to nothing", {
      exit: "usage",
      remedy: "give a title",
    });
  }
  const session = chosenSession(runPaths(this), ref);
  const { renameSession } = await loadManage();
  await withSessionLock(() => renameSession(session.path, title));
  this.process.stdout.write(`Session ${session.id} is now "${title}"\n`);
}
