import { ReasonixError } from "../../../src/core/mod.ts";
import {
  loadIndex,
  loadManage,
  projectDir,
  type SearchHit,
  type SessionInfo,
} from "../../../src/session/mod.ts";
import { fitDisplay } from "../../../src/util/display_width.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import { grouped, palette, wantsColour } from "../../../src/view/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chosenSession, countSessions, sessionsOf, withSessionLock } from "./choose.ts";
import { minute, outputWidth, table } from "../../terminal/table.ts";
import { forReader } from "../../terminal/narrow.ts";

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
    const where = flags.all ? "" : ` for ${paths.cwd}`;
    this.process.stdout.write(`No sessions${where} yet\n`);
    return;
  }
  this.process.stdout.write(sessionTable(sessions, flags.all ?? false));
  const total = countSessions(paths, flags.all ?? false);
  if (total > sessions.length) {
    const shown = `the latest ${grouped(sessions.length)} of ${grouped(total)} sessions`;
    this.process.stderr.write(`· These are ${shown}; --limit ${total} lists all of them\n`);
  }
}

/** Columns that a title needs to be told from others. */
const TITLE_ROOM = 16;

/** Sessions as a table; with their directories when they are of more than one. */
export function sessionTable(sessions: readonly SessionInfo[], folders: boolean): string {
  const width = outputWidth();
  const columns = (["ID", "CHANGED", ...(folders ? ["DIRECTORY"] as const : [])] as const)
    .map((name) => ({ name, cells: sessions.map((info) => CELLS[name](info)) }));
  const cellsWidth = ({ name, cells }: typeof columns[number]) =>
    2 + Math.max(...[name, ...cells].map((cell) => [...cell].length));
  const taken = () => columns.reduce((sum, column) => sum + cellsWidth(column), 0);
  // What a person goes by is the title; the id says when a session began.
  while (width !== undefined && columns.length > 1 && taken() + TITLE_ROOM > width) columns.splice(1, 1);
  return table(
    [...columns.map(({ name }) => name), "TITLE"],
    sessions.map((info, at) => [...columns.map(({ cells }) => cells[at] ?? ""), info.title || "(no title)"]),
    width === undefined ? {} : { width },
  );
}

const CELLS = {
  ID: ({ id }: SessionInfo) => id,
  CHANGED: ({ updated }: SessionInfo) => minute(updated),
  DIRECTORY: ({ cwd }: SessionInfo) => tail(cwd, 30),
};

function tail(path: string, length: number): string {
  const characters = [...path];
  return characters.length > length ? `…${characters.slice(1 - length).join("")}` : path;
}

function printJson(context: CliContext, value: unknown): void {
  context.process.stdout.json(value);
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
  const width = outputWidth();
  const { hits } = index.search({
    query,
    ...(width === undefined || flags.json ? {} : { width: Math.max(20, width - 6) }),
    limit: flags.limit,
    ...(flags.all ? {} : { project: projectDir(home, cwd) }),
  });
  if (flags.json) return printJson(this, hits);
  const { bold } = palette(wantsColour(this.process.env, Deno.stdout.isTerminal()));
  const mark = (text: string) => highlighted(text, words, bold);
  if (hits.length > 0) {
    this.process.stdout.exact(forReader(hits.map((hit) => hitText(hit, mark, width)).join("\n")));
  } else {
    const more = flags.all ? "try fewer or rarer words" : "--all searches the sessions of every directory";
    this.process.stdout.write(forReader(`No message matches "${oneLine(query)}"; ${more}\n`));
  }
}

/** The words of a query stand out where they occur. */
function highlighted(text: string, words: readonly string[], mark: (word: string) => string): string {
  const parts = words.join(" ").match(/[\p{L}\p{N}_]+/gu)?.sort((a, b) => b.length - a.length) ?? [];
  return parts.length === 0 ? text : text.replace(new RegExp(parts.join("|"), "giu"), mark);
}

/** Two lines, each cut at the width of the terminal; undefined: none is there. */
function hitText(hit: SearchHit, mark: (text: string) => string, width: number | undefined): string {
  const title = oneLine(hit.title, 60) || "(no title)";
  const fit = (line: string) => width === undefined ? line : fitDisplay(line, width);
  const head = `${hit.session}  ${minute(hit.time)}  turn ${hit.turn}, ${hit.role}  ${title}`;
  return `${fit(head)}\n${mark(fit(`    ${oneLine(hit.snippet, 300)}`))}\n`;
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
