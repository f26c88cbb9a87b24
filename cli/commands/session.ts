import {
  argument,
  choice,
  type CommandGroup,
  entry,
  flag,
  JSON_FLAG,
  option,
  optional,
  parsed,
  unusable,
  wholeNumber,
} from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { openForRewind, type RunPaths } from "../../src/run/mod.ts";
import {
  type FileReport,
  previewRewind,
  redoTarget,
  rewind,
  type RewindPreview,
  type RewindScope,
  type RewindTarget,
  turnTarget,
} from "../../src/control/mod.ts";
import { type EventOf, message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { minute, rowsText, table } from "../../src/reports/mod.ts";
import {
  type Checkpoints,
  findSession,
  lastSession,
  listSessions,
  loadCheckpoints,
  loadEvents,
  loadExport,
  loadIndex,
  loadManage,
  projectDir,
  projectDirs,
  type SearchHit,
  SessionBusyError,
  sessionIds,
  type SessionInfo,
  SessionLog,
  sessionOwner,
  type SessionPaths,
  type SessionState,
  type TurnRecord,
} from "../../src/session/mod.ts";
import { fitDisplay } from "../../src/util/display_width.ts";
import { attempt } from "../../src/util/lazy.ts";
import { oneLine, printableJson } from "../../src/util/terminal_text.ts";
import { attachments, userText } from "../../src/util/user_text.ts";
import { VERSION } from "../../src/util/version.ts";
import { CALL_MARKS, grouped, moneyFigure, palette, tokenFigures, wantsColor } from "../../src/view/mod.ts";
import { defined, isRecord, parseJson } from "../../src/util/json.ts";
import { confirmed } from "../terminal/open.ts";

const SESSION = argument("Id, part of an id, title, or file", "session", "sessions");
const LATEST = [optional(SESSION)];

function limit(most: string) {
  return {
    kind: "parsed",
    parse: wholeNumber("--limit", 1),
    brief: "Show at most N",
    placeholder: "n",
    default: most,
  } as const;
}

/** The session a command is about: the named one, else the directory's latest. */
function chosenSession({ home, cwd }: RunPaths, ref: string | undefined): SessionPaths {
  if (ref !== undefined) return findSession(home, ref, { cwd });
  const last = lastSession(projectDir(home, cwd));
  if (last) return last;
  throw usageError(
    message`Cannot choose a session: there is none for ${cwd} yet`,
    message`name one; reasonix session list --all shows those of every directory`,
  );
}

/** Sessions of this directory, or of every directory, latest change first. */
function sessionsOf({ home, cwd }: RunPaths, all: boolean, limit?: number): SessionInfo[] {
  const options = limit === undefined ? {} : { limit };
  return listSessions(all ? projectDirs(home) : projectDir(home, cwd), options);
}

/** Work on a session that no other process may be writing. */
async function withSessionLock<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SessionBusyError)) throw error;
    throw new ReasonixError(error.message, { remedy: message`end that process first`, cause: error });
  }
}

function printSessions(context: CliContext, paths: RunPaths, flags: { all?: boolean; limit?: number }): void {
  const { stdout, stderr } = context.process;
  const { all = false } = flags;
  const sessions = sessionsOf(paths, all, flags.limit);
  if (sessions.length === 0) return stdout.write(`No sessions${all ? "" : ` for ${paths.cwd}`} yet\n`);
  stdout.write(sessionTable(sessions, all, openSessions(paths)));
  const projects = all ? projectDirs(paths.home) : [projectDir(paths.home, paths.cwd)];
  const total = projects.reduce((sum, project) => sum + sessionIds(project).length, 0);
  if (total === sessions.length) return;
  const shown = `the latest ${grouped(sessions.length)} of ${grouped(total)} sessions`;
  stderr.write(`· These are ${shown}; --limit ${total} lists all of them\n`);
}

/** The process that has a session open, and the address of its web page, if it has one. */
interface OpenSession {
  readonly pid?: number;
  readonly program?: string;
  readonly web?: string;
}

/** Finds the processes that have sessions open. */
function openSessions({ home }: Pick<RunPaths, "home">): (session: SessionInfo) => OpenSession | undefined {
  const addresses = new Map<unknown, string>();
  for (const name of attempt(() => [...Deno.readDirSync(`${home}/serve`)].map((file) => file.name)) ?? []) {
    const read = attempt(() => parseJson(Deno.readTextFileSync(`${home}/serve/${name}`)));
    if (isRecord(read) && typeof read.address === "string") addresses.set(read.pid, read.address);
  }
  return ({ path }) => {
    const owner = sessionOwner(path);
    if (!owner) return undefined;
    const { pid, program } = owner;
    return defined({ pid, program, web: pid === undefined ? undefined : addresses.get(pid) });
  };
}

/** "chat, http://127.0.0.1:8787": the program, or the process where that is not known. */
function openText({ pid, program, web }: OpenSession): string {
  return [program ?? (pid === undefined ? "open" : `process ${pid}`), web].filter(Boolean).join(", ");
}

const TITLE_ROOM = 16;

interface Column {
  readonly name: string;
  readonly cells: readonly string[];
}

/** Sessions as a table; with their directories when they are of more than one. */
function sessionTable(
  sessions: readonly SessionInfo[],
  hasDirectories: boolean,
  openOf: ReturnType<typeof openSessions> = () => undefined,
): string {
  const width = outputWidth();
  const opened = sessions.map((info) => openOf(info));
  const columns = (["ID", "CHANGED", ...(hasDirectories ? ["DIRECTORY"] as const : [])] as const)
    .map((name): Column => ({ name, cells: sessions.map((info) => CELLS[name](info)) }));
  if (opened.some(Boolean)) {
    columns.push({ name: "OPEN IN", cells: opened.map((open) => open ? openText(open) : "") });
  }
  const cellsWidth = ({ name, cells }: Column) =>
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

interface CallRecord {
  readonly seq: number;
  readonly id: string;
  readonly title: string;
  end?: EventOf<"tool.end">;
}

async function sessionText(context: CliContext, { path, dir }: SessionPaths): Promise<string> {
  const calls: CallRecord[] = [];
  const { state, notices } = loadEvents(path, (event) => {
    if (event.type === "tool.start") {
      const { call, summary, title = `${call.name} ${summary}` } = event;
      calls.push({ seq: event.seq, id: call.id, title });
    } else if (event.type === "tool.end") endCall(calls, event);
  });
  for (const notice of notices) context.process.stderr.write(`! ${notice.text}\n`);
  const { readChanges } = await loadCheckpoints();
  const changes = readChanges(dir);
  const turns = state.turns.map((turn) => {
    const last = turn.to ?? Infinity;
    const made = calls.filter(({ seq }) => seq > turn.from && seq < last);
    return turnText(turn, made, changes(turn.from, last));
  });
  return head(state, path) + turns.join("");
}

/** Ids may repeat from turn to turn; a call that was refused has not begun. */
function endCall(calls: CallRecord[], end: EventOf<"tool.end">): void {
  const begun = calls.findLast(({ id }) => id === end.callId);
  if (begun && !begun.end) begun.end = end;
  else calls.push({ seq: end.seq, id: end.callId, title: end.name, end });
}

function head(
  { title, session, parent, cwd, model, turns, durationMs, ...state }: SessionState,
  path: string,
) {
  return rowsText([
    ["title", title && oneLine(title)],
    ["session", session ?? "?"],
    ["parent", parent && `${parent.session} up to event ${parent.seq}`],
    ["file", path],
    ["directory", cwd ?? "?"],
    ["model", model ?? "?"],
    ["turns", grouped(turns.length)],
    ["tokens", tokenFigures(state.usage).join(", ") || "unknown"],
    ["cost", moneyFigure(state) ?? "unknown"],
    ["time", `${(durationMs / 1000).toFixed(1)} s`],
  ]);
}

function turnText(turn: TurnRecord, calls: readonly CallRecord[], changed: readonly string[]): string {
  const facts = [
    minute(turn.started),
    turn.reason ?? "unfinished",
    ...(turn.steps === 0 ? [] : [`${turn.steps} ${turn.steps === 1 ? "step" : "steps"}`]),
    ...(changed.length > 0 ? [`changed ${firstOf(changed, 6)}`] : []),
  ];
  const attached = attachments(turn.prompt).map((name) => `  attached ${name}\n`).join("");
  const made = calls.map((call) => `${callLine(call)}\n`).join("");
  return `\n#${turn.turn} ${facts.join(" · ")}\n> ${shortened(userText(turn.prompt))}\n${attached}` +
    `${made === "" ? "" : `\n${made}`}\n${turn.answer ?? ""}\n`;
}

function callLine({ title, end }: CallRecord): string {
  const result = end === undefined ? "no result" : oneLine(end.summary, 120);
  return `  ${end ? CALL_MARKS[end.outcome] : "?"} ${oneLine(title, 200)}${
    result === "" ? "" : ` · ${result}`
  }`;
}

function firstOf(paths: readonly string[], most: number): string {
  const more = paths.length > most ? ` and ${grouped(paths.length - most)} more` : "";
  return paths.slice(0, most).map((path) => oneLine(path, 200)).join(", ") + more;
}

const PROMPT_LINES = 24;

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

const DAYS = { h: 1 / 24, d: 1, w: 7 } as const;

function ageInDays(value: string): number {
  const [, number, unit = "d"] = /^(\d+)([hdw])?$/.exec(value) ?? [];
  if (number !== undefined) return Number(number) * DAYS[unit as keyof typeof DAYS];
  throw unusable(value, "--older-than", "days, or a number with h, d or w such as 30d");
}

/** Deletes sessions that no process is writing. */
async function deleteAll(context: CliContext, sessions: readonly SessionInfo[]): Promise<void> {
  const { deleteSession } = await loadManage();
  let count = 0;
  for (const { path } of sessions) {
    try {
      deleteSession(chosenSession(runPaths(context), path));
      count += 1;
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error;
      context.process.stderr.write(`! ${error.message}; it stays\n`);
    }
  }
  context.process.stdout.write(`Deleted ${count} ${count === 1 ? "session" : "sessions"}\n`);
}

const SCOPES: Readonly<Record<RewindScope, string>> = {
  both: "code and conversation",
  code: "code only",
  conversation: "conversation only",
};

interface Change {
  readonly target: (state: SessionState) => RewindTarget;
  readonly preview: boolean;
  readonly done: (id: string) => string;
}

async function change(context: CliContext, ref: string | undefined, asked: Change): Promise<void> {
  const paths = runPaths(context);
  const session = chosenSession(paths, ref);
  using log = await withSessionLock(() => SessionLog.open(session.path));
  const parts = await openForRewind({ paths, log, preview: asked.preview });
  const target = asked.target(log.state);
  if (asked.preview) {
    const preview = await previewRewind(parts, target);
    context.process.stdout.write(talkPreview(log.state, target));
    if (target.scope !== "conversation") await showFiles(context, preview, await parts.checkpoints());
    return;
  }
  if (target.scope !== "conversation" && Deno.stdin.isTerminal()) {
    const { files } = await previewRewind(parts, target);
    const others = firstOf(files.filter((file) => file.alsoByUser).map(({ path }) => path), SHOWN_PATHS);
    const question = `Changed by someone else since: ${others}. Overwrite that too? Type yes:`;
    if (others !== "" && prompt(question) !== "yes") {
      return context.process.stdout.write("Nothing was changed\n");
    }
  }
  const report = await rewind(parts, target);
  context.process.stdout.write(asked.done(log.id));
  if (target.scope !== "conversation") showReport(context, report);
}

function talkPreview(state: SessionState, target: RewindTarget): string {
  if (target.scope === "code") return "Conversation: stays as it is\n";
  const left = state.turns.filter(({ from }) => from > target.to);
  if (left.length === 0) return "Conversation: no turn would be left behind\n";
  const lines = left.map(({ turn, prompt }) => `  #${turn} ${oneLine(userText(prompt), 70)}\n`);
  return `Conversation: would leave behind\n${lines.join("")}`;
}

async function showFiles(
  context: CliContext,
  { files, uncovered }: RewindPreview,
  checkpoints: Checkpoints,
): Promise<void> {
  const { stdout } = context.process;
  stdout.write(files.length === 0 ? "Files: nothing to restore\n" : "Files:\n");
  for (const file of files) {
    const also = file.alsoByUser ? "  (also changed by someone else, whose change would be lost)" : "";
    const not = file.unavailable === undefined ? "" : `  (cannot be restored: ${file.unavailable})`;
    stdout.write(`  ${file.action.padEnd(6)}  ${oneLine(file.path, 400)}${also}${not}\n`);
  }
  stdout.write(uncoveredText(uncovered));
  for (const file of files) {
    const diff = file.unavailable === undefined ? await checkpoints.diff(file) : undefined;
    if (diff !== undefined) stdout.write(`\n${diff}`);
  }
}

const SHOWN_PATHS = 10;

function uncoveredText(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  if (paths[0] === ".") {
    return "Not covered: what commands changed, since the workspace has too many files; what tools wrote is\n";
  }
  return `Not covered, ignored and too many files to keep: ${firstOf(paths, SHOWN_PATHS)}\n`;
}

function showReport(context: CliContext, { restored, failed, uncovered }: FileReport): void {
  const { stdout, stderr } = context.process;
  if (restored.length + failed.length === 0) stdout.write("No file had to be restored\n");
  for (const { action, path, alsoByUser } of restored) {
    const done = { create: "created", update: "updated", delete: "deleted" }[action];
    const also = alsoByUser ? "  (had been changed by someone else since; session redo restores it)" : "";
    stdout.write(`  ${done}  ${oneLine(path, 400)}${also}\n`);
  }
  stdout.write(uncoveredText(uncovered));
  for (const { path, reason } of failed) {
    stderr.write(`! Cannot restore ${oneLine(path, 400)}: ${reason}\n`);
  }
  if (failed.length > 0) context.process.exitCode = 1;
}

export const sessionCommands: CommandGroup = {
  commands: {
    list: entry("List this directory's sessions, newest first", {
      flags: { all: flag("List those of every directory"), json: JSON_FLAG, limit: limit("20") },
      run(flags) {
        const paths = runPaths(this);
        if (flags.json) {
          const openOf = openSessions(paths);
          const sessions = sessionsOf(paths, flags.all ?? false, flags.limit);
          this.process.stdout.json(sessions.map((info) => ({ ...info, ...defined({ open: openOf(info) }) })));
        } else printSessions(this, paths, flags);
      },
    }),
    show: entry("Print a session; without a name the latest", {
      flags: { json: flag("Print the events") },
      args: LATEST,
      async run({ json }, ref?: string) {
        const session = chosenSession(runPaths(this), ref);
        const { stdout } = this.process;
        if (json) stdout.exact(printableJson(Deno.readTextFileSync(session.path)));
        else stdout.write(await sessionText(this, session));
      },
    }),
    search: entry("Find messages in this directory's sessions", {
      flags: { all: flag("Search the sessions of every directory"), json: JSON_FLAG, limit: limit("10") },
      rest: { ...argument("Words to find", "word"), minimum: 1 },
      async run({ all, json, limit }, ...words) {
        const { home, cwd } = runPaths(this);
        const { stdout, env } = this.process;
        const query = words.join(" ");
        if (query.trim() === "") {
          throw usageError(message`Cannot search for nothing`, message`give one or more words`);
        }
        const { SessionIndex } = await loadIndex();
        using index = await SessionIndex.open(home);
        const width = outputWidth();
        const { hits } = index.search({
          query,
          limit,
          ...(width === undefined || json ? {} : { width: Math.max(20, width - 6) }),
          ...(all ? {} : { project: projectDir(home, cwd) }),
        });
        if (json) return stdout.json(hits);
        const { bold } = palette(wantsColor(env, Deno.stdout.isTerminal()));
        const mark = (text: string) => highlighted(text, words, bold);
        const more = all ? "try fewer or rarer words" : "--all searches the sessions of every directory";
        if (hits.length > 0) {
          stdout.exact(forReader(hits.map((hit) => hitText(hit, mark, width)).join("\n")));
        } else stdout.write(forReader(`No message matches "${oneLine(query)}"; ${more}\n`));
      },
    }),
    rename: entry("Give a session a title", {
      rest: { ...argument("The session, then its new title", "session title", "sessions"), minimum: 2 },
      async run(_flags, ref, ...words) {
        const title = oneLine(words.join(" "), 200);
        if (title === "") {
          throw usageError(message`Cannot rename a session to nothing`, message`give a title`);
        }
        const session = chosenSession(runPaths(this), ref);
        const { renameSession } = await loadManage();
        await withSessionLock(() => renameSession(session.path, title));
        this.process.stdout.write(`Session ${session.id} is now "${title}"\n`);
      },
    }),
    export: entry("Write a session for others to read", {
      flags: {
        format: choice("Set the form; default: by the ending of the file", ["markdown", "html", "json"]),
        output: option("Write here instead of standard output", "file"),
        force: flag("Overwrite the file"),
      },
      args: LATEST,
      async run({ format, output, force = false }, ref?: string) {
        const session = chosenSession(runPaths(this), ref);
        const { stdout } = this.process;
        const { exportSession, exportToFile } = await loadExport();
        if (output === undefined || output === "-") {
          const text = exportSession(session.path, format ?? "markdown");
          return Deno.stdout.isTerminal() ? stdout.write(text) : stdout.exact(text);
        }
        exportToFile(session.path, output, { format, force, taken: "choose another name, or add --force" });
        stdout.write(`Exported session ${session.id} to ${output}\n`);
      },
    }),
    fork: entry("Copy a session, or its beginning", {
      flags: { turn: parsed("Copy up to the end of this turn", "n", wholeNumber("--turn", 1)) },
      args: LATEST,
      async run({ turn }, ref?: string) {
        const { path, id } = chosenSession(runPaths(this), ref);
        const { copySession, forkSession } = await loadManage();
        const made = turn === undefined
          ? copySession(path, { version: VERSION })
          : forkSession(path, turn, { version: VERSION });
        const what = turn === undefined ? id : `${id} up to turn ${turn}`;
        this.process.stdout.write(
          `${made.id} is a copy of ${what}\nContinue with: reasonix run --resume ${made.id} "…"\n`,
        );
      },
    }),
    rewind: entry("Restore files and conversation to an earlier turn", {
      description: "Restore files and conversation to the end of a turn; without --to, to before the\n" +
        "last one. Files that only you changed stay as they are. Nothing is lost:\n" +
        "`session redo` takes it back.",
      flags: {
        to: parsed("Restore the end of this turn; 0: before the first", "turn", wholeNumber("--to", 0)),
        code: flag("Restore files only"),
        conversation: flag("Restore the conversation only"),
        preview: flag("Only show what would change"),
      },
      args: LATEST,
      async run({ to, code, conversation, preview = false }, ref?: string) {
        if (code && conversation) {
          throw usageError(
            message`Cannot use --code and --conversation together`,
            message`leave both out to rewind code and conversation`,
          );
        }
        const scope: RewindScope = code ? "code" : conversation ? "conversation" : "both";
        let turn = to ?? 0;
        await change(this, ref, {
          target: (state) => {
            turn = to ?? state.turns.at(-2)?.turn ?? 0;
            return turnTarget(state, turn, scope);
          },
          preview,
          done: (id) =>
            `Session ${id} is back ${turn === 0 ? "before the first turn" : `at the end of turn ${turn}`} ` +
            `(${SCOPES[scope]})\nTake it back with: reasonix session redo ${id}\n`,
        });
      },
    }),
    redo: entry("Take the latest rewind back", {
      flags: { preview: flag("Only show what would change") },
      args: LATEST,
      async run({ preview = false }, ref?: string) {
        const done = (id: string) => `Restored session ${id} to before the rewind\n`;
        await change(this, ref, { target: redoTarget, preview, done });
      },
    }),
    delete: entry("Delete a session for good", {
      flags: { yes: flag("Do not ask") },
      args: [SESSION],
      async run({ yes }, ref) {
        const session = chosenSession(runPaths(this), ref);
        const { stdout } = this.process;
        if (!yes && !confirmsDeletion(`session ${session.id}`)) return stdout.write("Nothing was deleted\n");
        const { deleteSession } = await loadManage();
        await withSessionLock(() => deleteSession(session));
        stdout.write(`Deleted session ${session.id}\n`);
      },
    }),
    prune: entry("Delete old sessions for good", {
      flags: {
        olderThan: parsed("Delete those not changed for this time: 12h, 30d, 6w", "age", ageInDays),
        keep: parsed("Keep the latest N", "n", wholeNumber("--keep", 0)),
        all: flag("Delete those of every directory"),
        dryRun: flag("Only list what would be deleted"),
        yes: flag("Do not ask"),
      },
      async run({ olderThan: olderThanDays, keep, all = false, dryRun, yes }) {
        if (olderThanDays === undefined && keep === undefined) {
          throw usageError(
            message`Cannot prune without a rule`,
            message`give --older-than 30d, --keep N, or both`,
          );
        }
        const { pruneCandidates } = await loadManage();
        const rule = { now: new Date(), ...defined({ olderThanDays, keep }) };
        const doomed = pruneCandidates(sessionsOf(runPaths(this), all), rule);
        const { stdout } = this.process;
        if (doomed.length === 0) return stdout.write("Nothing to delete\n");
        stdout.write(sessionTable(doomed, all));
        const what = doomed.length === 1 ? "this session" : `these ${doomed.length} sessions`;
        if (dryRun) stdout.write(`Would delete ${what}\n`);
        else if (yes || confirmsDeletion(what)) await deleteAll(this, doomed);
        else stdout.write("Nothing was deleted\n");
      },
    }),
  },
};

function confirmsDeletion(what: string): boolean {
  const question = `Delete ${what} for good?`;
  return confirmed(question, { action: `delete ${what}`, exit: "usage", remedy: "add --yes" });
}
