import type { Assembly } from "../../run/mod.ts";
import { confirmed, minuteOf } from "../asking.ts";
import { copyAndSay } from "../copy.ts";
import type { ArgumentValue, Choice, CommandBody, CommandHost } from "../command.ts";
import type { CompactionReport } from "../../context/mod.ts";
import {
  type FileReport,
  previewRewind,
  redoTarget,
  rewind,
  type RewindScope,
  type RewindTarget,
  turnTarget,
} from "../../control/mod.ts";
import { ReasonixError, usageError } from "../../core/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import { isAbsolute } from "../../path/lexical.ts";
import {
  type IndexedSession,
  lastAnswer,
  listSessions,
  loadExport,
  loadIndex,
  loadManage,
  projectDir,
  type SessionInfo,
  type SessionState,
} from "../../session/mod.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import { userText } from "../../util/user_text.ts";
import { VERSION } from "../../util/version.ts";
import { grouped, moneyFigure } from "../../view/mod.ts";

export const newCommand: CommandBody = {
  async run(host, message) {
    const texts = await loadTexts("session_commands", host.locale);
    // A session that could not be opened is not tried again for one that is to be left.
    const old = host.opening === false ? undefined : await host.session().catch(() => undefined);
    const kept = old && old.session.state.lastSeq > 0 ? old.session.id : undefined;
    await host.reopen({});
    host.say(kept === undefined ? texts.began : texts.beganAfter(kept));
    if (message !== "") host.send(message);
  },
};

export const clearCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session } = await host.session();
    const { id, paths, state: { lastSeq, turns } } = session;
    if (lastSeq === 0) return host.say(texts.nothingToClear);
    if (!await confirmed(host, texts.reallyClear(turns.length))) return;
    await host.reopen({});
    (await loadManage()).deleteSession(paths);
    host.say(texts.cleared(id));
  },
};

export const resumeCommand: CommandBody = {
  async run(host, wanted) {
    const id = wanted === "" ? await chooseSession(host) : await namedSession(host, wanted);
    if (id !== undefined) await host.reopen({ resume: id });
  },
  async complete(host) {
    return (await otherSessions(host)).map(({ id, title }) => ({
      value: id,
      detail: oneLine(title, 60),
      also: title,
    }));
  },
};

/** The session that a piece of its title names; anything else is for the opener to make out. */
async function namedSession(host: CommandHost, wanted: string): Promise<string | undefined> {
  const texts = await loadTexts("session_commands", host.locale);
  const found = (await otherSessions(host)).filter(({ title }) => matches(title, wanted));
  if (found.length < 2) return found[0]?.id ?? wanted;
  return await host.choose(
    texts.whichSession,
    found.map((info) => ({
      label: oneLine(info.title, 60) || texts.noTitle,
      detail: `${minuteOf(info.updated)}  ${info.id.slice(0, 8)}`,
      value: info.id,
    })),
    { filter: true },
  );
}

const MOST = 200;

/** Sessions of the directory, latest change first, without the open one. */
async function otherSessions(host: CommandHost): Promise<SessionInfo[]> {
  const { paths: { home, cwd }, session } = await host.session();
  return listSessions(projectDir(home, cwd), { limit: MOST }).filter(({ id }) => id !== session.id);
}

function matches(title: string, wanted: string): boolean {
  return title.toLowerCase().includes(wanted.toLowerCase());
}

export const forkCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session } = await host.session();
    const turn = argument === "" ? undefined : Number(argument);
    if (turn !== undefined && !Number.isSafeInteger(turn)) {
      throw usageError(texts.noTurn(argument), texts.turnRemedy);
    }
    await requireSaved(host);
    const { copySession, forkSession } = await loadManage();
    const { id } = turn === undefined
      ? copySession(session.paths.path, { version: VERSION })
      : forkSession(session.paths.path, turn, { version: VERSION });
    const stays = host.headless || host.oneSession;
    if (!stays) await host.reopen({ resume: id });
    host.say(stays ? texts.forkedHeadless(id, session.id) : texts.forked(id, session.id));
  },
  complete: async (host) => turnValues((await host.session()).session.state),
};

export const renameCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const title = oneLine(argument, 200);
    if (title === "") {
      throw usageError(texts.noNewTitle, texts.noNewTitleRemedy);
    }
    const { recorder } = (await host.session()).controller;
    await recorder.record({ type: "session.rename", title });
    await recorder.sync();
    host.say(texts.renamed(title));
  },
};

export const compactCommand: CommandBody = {
  async run(host, hint, signal) {
    const texts = await loadTexts("session_commands", host.locale);
    const assembly = await host.session();
    const { controller } = assembly;
    await assembly.open();
    const report = await assembly.stoppable(signal, () => controller.compact(hint === "" ? undefined : hint));
    const text = compactionText(report, texts, host.showsEvents === true);
    if (text !== "") host.say(text);
  },
};

/** One line; where the compaction itself was shown, only what went wrong. */
function compactionText(
  report: CompactionReport,
  texts: Texts["session_commands"],
  isShown: boolean,
): string {
  const { method, tokensBefore, tokensAfter, removed = 0, archive, problem } = report;
  if (method === "none") return `${texts.nothingCompacted(grouped(tokensBefore))}\n`;
  const figures = texts.compacted(removed, method, `${grouped(tokensBefore)} → ${grouped(tokensAfter)}`);
  const lines = [
    ...(isShown ? [] : [archive === undefined ? figures : texts.archived(figures, archive)]),
    ...(problem === undefined ? [] : [texts.noBetterMethod(problem)]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

export const undoCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { turns } = (await host.session()).session.state;
    const last = turns.at(-1);
    if (!last) return host.say(texts.nothingToUndo);
    const prompt = userText(last.prompt);
    const done = texts.undone(last.turn, oneLine(prompt, 60));
    const isDone = await bringBack(host, { turn: turns.at(-2)?.turn ?? 0, scope: "both", done });
    // Most who undo want to ask again in other words.
    if (isDone) host.draft?.(prompt);
  },
};

const SCOPES: readonly RewindScope[] = ["both", "code", "conversation"];

export const rewindCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const words = argument.split(/\s+/).filter((word) => word !== "");
    const named = SCOPES.find((scope) => words.includes(scope));
    const [number, extra] = words.filter((word) => word !== named);
    if (extra !== undefined || (number !== undefined && !/^\d+$/.test(number))) {
      throw usageError(texts.noTurn(extra ?? number ?? ""), texts.rewindRemedy);
    }
    // Who names everything on one line means files and conversation.
    const moment = number === undefined
      ? await chooseMoment(host, named)
      : { turn: Number(number), scope: named ?? "both" };
    if (!moment) return;
    const { turn, scope } = moment;
    await bringBack(host, { turn, scope, done: texts.rewound(turn, texts.scopes[scope]) });
  },
  complete: async (host) => turnValues((await host.session()).session.state),
  async completeNext(host, { before }) {
    const { scopes } = await loadTexts("session_commands", host.locale);
    return before.length > 1 ? [] : SCOPES.map((value) => ({ value, detail: scopes[value] }));
  },
};

export const redoCommand: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { rewindable } = await host.session();
    const target = redoTarget(rewindable.recorder.state);
    const report = await rewind(rewindable, target);
    const files = target.scope === "conversation" ? "" : `\n\n${fileReportText(report, texts)}`;
    host.say(`${texts.redone}${files}`);
  },
};

export const exportCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session, paths: { cwd } } = await host.session();
    await requireSaved(host);
    const name = argument.replace(/^(["'])(.*)\1$/, "$2") || `reasonix-${session.id.slice(0, 15)}.md`;
    const file = isAbsolute(name) ? name : `${cwd}/${name}`;
    const { exportToFile } = await loadExport();
    exportToFile(session.paths.path, file, { taken: texts.otherName });
    host.say(texts.exported(file));
  },
};

export const copyCommand: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session: { state } } = await host.session();
    const answer = state.turns.findLast(({ answer = "" }) => answer.trim() !== "")?.answer;
    if (answer === undefined) return host.say(texts.noAnswer);
    const text = argument === "" ? answer : block(answer, argument, texts);
    await copyAndSay(host, text, (line) => host.say(line));
  },
  async complete(host) {
    const { turns } = (await host.session()).session.state;
    return codeBlocks(turns.findLast(({ answer = "" }) => answer !== "")?.answer ?? "")
      .map((code, at) => ({ value: String(at + 1), detail: code.split("\n")[0] ?? "" }));
  },
};

type SessionTexts = Awaited<ReturnType<typeof loadTexts<"session_commands">>>;

function block(answer: string, argument: string, texts: SessionTexts): string {
  const blocks = codeBlocks(answer);
  const found = /^\d+$/.test(argument) ? blocks[Number(argument) - 1] : undefined;
  if (found !== undefined) return found;
  throw usageError(texts.noBlock(argument), texts.blockCount(blocks.length));
}

/** The code of fenced blocks, without the fences. */
function codeBlocks(markdown: string): string[] {
  const blocks: string[] = [];
  let open: { readonly fence: string; readonly indent: number; readonly lines: string[] } | undefined;
  for (const line of markdown.split("\n")) {
    const [, indent = "", fence] = /^(\s*)(`{3,}|~{3,})/.exec(line) ?? [];
    if (open) {
      const { fence: mark, indent: depth, lines } = open;
      const isEnd = fence !== undefined && fence.startsWith(mark) && line.trim() === fence;
      if (!isEnd) lines.push(line.replace(new RegExp(`^\\s{0,${depth}}`), ""));
      else {
        blocks.push(lines.join("\n"));
        open = undefined;
      }
    } else if (fence !== undefined) open = { fence, indent: indent.length, lines: [] };
  }
  return open ? [...blocks, open.lines.join("\n")] : blocks;
}

export const webCommand: CommandBody = {
  async run(host, argument) {
    const { web: texts } = await loadTexts("session_commands", host.locale);
    const what = argument === "" ? "open" : argument;
    if (what !== "open" && what !== "share" && what !== "off") {
      throw usageError(texts.unknown(argument), texts.unknownRemedy);
    }
    if (!host.web) throw usageError(texts.notHere, texts.notHereRemedy);
    await host.web(what);
  },
  async complete(host) {
    const { web: { words } } = await loadTexts("session_commands", host.locale);
    return Object.entries(words).map(([value, detail]) => ({ value, detail }));
  },
};

export const viewCommand: CommandBody = {
  async run(host, argument) {
    const { view: texts } = await loadTexts("session_commands", host.locale);
    if (argument !== "" && argument !== "full" && argument !== "scroll") {
      throw usageError(texts.unknown(argument), texts.unknownRemedy);
    }
    if (!host.view) throw usageError(texts.notHere, texts.notHereRemedy);
    await host.view(argument || undefined);
  },
  async complete(host) {
    const { view: { words } } = await loadTexts("session_commands", host.locale);
    return Object.entries(words).map(([value, detail]) => ({ value, detail }));
  },
};

export const quitCommand: CommandBody = { run: (host) => host.quit() };

/** Turns that have ended, the latest first, with what the user asked in each. */
function turnValues({ turns }: SessionState): readonly ArgumentValue[] {
  return turns.filter(({ to }) => to !== undefined).toReversed()
    .map(({ turn, prompt }) => ({ value: String(turn), detail: oneLine(userText(prompt), 60) }));
}

/**
 * Goes back to the end of a turn, with a confirmation where changes of someone else would be lost. Returns
 * false when the user left it.
 */
async function bringBack(
  host: CommandHost,
  { turn, scope, done }: { readonly turn: number; readonly scope: RewindScope; readonly done: string },
): Promise<boolean> {
  const assembly = await host.session();
  const texts = await loadTexts("session_commands", host.locale);
  const target = turnTarget(assembly.session.state, turn, scope);
  if (!await agrees(host, target, texts)) return false;
  const report = await assembly.rewind(turn, scope);
  host.say(scope === "conversation" ? done : `${done}\n\n${fileReportText(report, texts)}`);
  return true;
}

async function agrees(
  host: CommandHost,
  target: RewindTarget,
  texts: Texts["session_commands"],
): Promise<boolean> {
  if (host.headless || target.scope === "conversation") return true;
  const { files } = await previewRewind((await host.session()).rewindable, target);
  const others = files.filter(({ alsoByUser }) => alsoByUser).map(({ path }) => path);
  return others.length === 0 || await confirmed(host, texts.overwriteForeign(pathList(others, texts)));
}

const SHOWN_PATHS = 10;

/** The files that a rewind changed, one line each, as Markdown. */
function fileReportText(
  { restored, failed, uncovered }: FileReport,
  texts: Texts["session_commands"],
): string {
  const lines = restored.map(({ action, path, alsoByUser }) =>
    `- ${texts.restored[action]} \`${oneLine(path, 400)}\`${alsoByUser ? texts.alsoByUser : ""}`
  );
  if (restored.length + failed.length === 0) lines.push(texts.noFile);
  for (const { path, reason } of failed) {
    lines.push(`- ${texts.notRestored(oneLine(path, 400), terminalSafe(reason))}`);
  }
  if (uncovered[0] === ".") lines.push("", texts.tooManyFiles);
  else if (uncovered.length > 0) lines.push("", texts.uncovered(pathList(uncovered, texts)));
  return lines.join("\n");
}

function pathList(paths: readonly string[], texts: Texts["session_commands"]): string {
  const names = paths.slice(0, SHOWN_PATHS).map((path) => oneLine(path, 200)).join(", ");
  return paths.length > SHOWN_PATHS ? texts.andMore(names, paths.length - SHOWN_PATHS) : names;
}

/** Throws a ReasonixError where the session is in memory only, since the disk took nothing of it. */
async function requireSaved(host: Pick<CommandHost, "session" | "locale">): Promise<void> {
  const { session, controller } = await host.session();
  await controller.recorder.sync();
  if (session.problem === undefined) return;
  const texts = await loadTexts("session_commands", host.locale);
  throw new ReasonixError(texts.notSaved(session.problem), { remedy: texts.saveFirst });
}

/** The entry that goes from the sessions of this directory to all of them, and back. */
const ELSEWHERE = Symbol("elsewhere");

/** Lets the user choose a session to continue, without the open one; undefined when they left. */
async function chooseSession(host: CommandHost): Promise<string | undefined> {
  const texts = (await loadTexts("overlay", host.locale)).sessions;
  for (let all = false;; all = !all) {
    const sessions = await sessionChoices(host, all, texts);
    const elsewhere: Choice<string | typeof ELSEWHERE> = {
      label: all ? texts.onlyHere : texts.everywhere,
      value: ELSEWHERE,
      preview: () => "",
    };
    const chosen = await host.choose(
      all ? texts.titleAll(sessions.length) : texts.title(sessions.length),
      [elsewhere, ...sessions],
      { filter: true, current: Math.min(1, sessions.length) },
    );
    if (chosen !== ELSEWHERE) return chosen;
  }
}

async function sessionChoices(
  host: CommandHost,
  all: boolean,
  texts: Texts["overlay"]["sessions"],
): Promise<Choice<string>[]> {
  const { paths: { home, cwd }, session } = await host.session();
  const { SessionIndex } = await loadIndex();
  using index = await SessionIndex.open(home);
  const where = all ? {} : { project: projectDir(home, cwd) };
  const money = new Map(index.stats({ by: "session", ...where }).map((row) => [row.key, moneyFigure(row)]));
  const age = ages(host.locale, Date.now());
  return index.list(where).filter(({ id }) => id !== session.id).map((info) => ({
    label: oneLine(info.title, 200) || texts.untitled,
    detail: [
      age(info.updated),
      texts.turns(info.turns),
      money.get(info.id),
      all ? info.cwd : undefined,
    ].filter((part) => part !== undefined).join(" · "),
    value: info.id,
    preview: () => sessionPreview(info, texts),
  }));
}

function sessionPreview({ prompt, path }: IndexedSession, texts: Texts["overlay"]["sessions"]): string {
  const last = lastAnswer(path);
  return [
    `${texts.first} ${oneLine(prompt, 200)}`,
    ...(last === undefined ? [] : [`${texts.last} ${oneLine(last, 300)}`]),
  ].join("\n");
}

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** Returns what says how long ago a time was, in the largest unit that fits. */
function ages(locale: string, now: number): (time: string) => string {
  const format = new Intl.RelativeTimeFormat(locale, { style: "narrow", numeric: "auto" });
  return (time) => {
    const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
    const [unit, size] = STEPS.find(([, size]) => seconds >= size) ?? ["second", 1];
    return format.format(-Math.floor(seconds / size), unit);
  };
}

const SHOWN_FILES = 3;

/** Lets the user choose where to go back to and what to bring back; undefined when they left. */
async function chooseMoment(
  host: CommandHost,
  scope?: RewindScope,
): Promise<{ readonly turn: number; readonly scope: RewindScope } | undefined> {
  const texts = (await loadTexts("overlay", host.locale)).turns;
  const assembly = await host.session();
  const turn = await host.choose(texts.title, momentsOf(assembly, texts));
  if (turn === undefined) return undefined;
  const chosen = scope ?? await host.choose<RewindScope>(texts.what, [
    { label: texts.both, key: "b", value: "both" },
    { label: texts.code, key: "f", value: "code" },
    { label: texts.conversation, key: "c", value: "conversation" },
  ]);
  return chosen === undefined ? undefined : { turn, scope: chosen };
}

function momentsOf(assembly: Assembly, texts: Texts["overlay"]["turns"]): Choice<number>[] {
  const { turns } = assembly.session.state;
  // The end of the latest turn is where the session is.
  const ended = turns.slice(0, -1).filter(({ to }) => to !== undefined);
  const moments = [
    ...ended.map(({ turn, prompt }) => ({
      label: texts.after(turn, oneLine(userText(prompt), 200)),
      value: turn,
    })).reverse(),
    { label: texts.before, value: 0 },
  ];
  const known = new Map<number, Promise<string>>();
  return moments.map((moment) => ({
    ...moment,
    preview: () => {
      const found = known.get(moment.value) ?? turnPreview(assembly, moment.value, texts);
      known.set(moment.value, found);
      return found;
    },
  }));
}

/** The turns that a rewind would drop and the files that it would restore. */
async function turnPreview(
  assembly: Assembly,
  turn: number,
  texts: Texts["overlay"]["turns"],
): Promise<string> {
  const { state } = assembly.session;
  const target = turnTarget(state, turn, "both");
  const { files } = await previewRewind(assembly.rewindable, target);
  const left = state.turns.filter(({ from }) => from > target.to);
  const names = files.slice(0, SHOWN_FILES).map((file) =>
    `  ${texts.actions[file.action]} ${oneLine(file.path)}`
  );
  const more = files.length - names.length;
  return [
    texts.leaves(left.length),
    files.length === 0 ? texts.noFiles : texts.files(files.length),
    ...names,
    ...(more > 0 ? [texts.moreFiles(more)] : []),
  ].join("\n");
}
