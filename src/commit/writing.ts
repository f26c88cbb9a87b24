/** Shared by commits and pull requests: the user's git, and texts that a model writes about a change. */
import { message, ReasonixError, type Text } from "../core/mod.ts";
import { type Change, type ChangedFile, Git } from "../git/mod.ts";
import type { Assembly } from "../run/mod.ts";
import { mayHoldKeys } from "../path/key_files.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { editText } from "../util/editor.ts";
import { attempt } from "../util/lazy.ts";
import { findProgram, runInTerminal, runProgram } from "../util/process.ts";
import { cutText, terminalSafe } from "../util/terminal_text.ts";
import { roughWidth, wrapText } from "../view/mod.ts";

/** The front end of a commit or a pull request. */
export interface GitHost {
  report(line: Text): void;
  /** Shows a text of the model, or the output of a program. */
  show(text: string): void;
  /** Undefined: the user left without. The first entry is the one that Enter takes. */
  choose<T>(
    title: Text,
    entries: readonly { readonly label: Text; readonly key: string; readonly value: T }[],
  ): Promise<T | undefined>;
  prompt(question: Text, initial: string): Promise<string | undefined>;
  /** The environment of the user's programs. */
  readonly environment: Readonly<Record<string, string>>;
  /** Lends the terminal to other programs while `run` runs. Absent: there is none. */
  readonly terminal?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Opens the session that writes texts. */
  assembly(): Promise<Assembly>;
}

export interface WritingOptions {
  /** Directory of the command. */
  readonly cwd: string;
  readonly host: GitHost;
  /** Wishes of the user for the text. */
  readonly hint: string;
  /** Every question has its first answer. */
  readonly yes: boolean;
  readonly signal: AbortSignal;
}

/** Variables by which a surrounding git names another repository than that of the directory. */
const LOCATION =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|PREFIX)$/;

/** Returns the top of the repository, or the directory itself where there is none. */
export async function repositoryTop(cwd: string): Promise<string> {
  const git = attempt(() => Git.find(cwd));
  const found = await git?.run(["rev-parse", "--show-toplevel"], { cwd });
  return found?.code === 0 ? found.text.trim() : cwd;
}

/** The environment of the user's programs, which take the repository of the directory. */
export function userEnvironment({ environment }: GitHost): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !LOCATION.test(name)));
}

/** Returns an installed program of the user; never one of the repository. */
export function userProgram(name: string, top: string, { environment }: GitHost): string | undefined {
  return findProgram(name, environment.PATH ?? "", [top]);
}

/**
 * Runs git with the user's settings, hooks and credentials, and returns its exit code. It has the terminal
 * where there is one; otherwise its output is shown.
 */
export async function runUserGit(
  args: readonly string[],
  top: string,
  { host, signal }: WritingOptions,
): Promise<number> {
  signal.throwIfAborted();
  const words = [userProgram("git", top, host) ?? "git", ...args];
  const options = { cwd: top, env: userEnvironment(host) };
  // A terminal sends Ctrl-C to the program, too: it ends in its usual way.
  if (host.terminal) return await host.terminal(() => runInTerminal(words, options));
  const { code, errors, text } = await runProgram(words, { ...options, signal });
  const output = terminalSafe(errors + text).trim();
  if (output !== "") host.show(output);
  return code;
}

/** Saves a text that the user may not lose. It stays in git's directory until it was used. */
export async function keep(path: string, text: string): Promise<void> {
  await writeFileAtomic(path, `${text}\n`, { mode: 0o600 });
}

/** Lets the user change a text, in the editor where there is a terminal. */
export async function edited(text: string, editor: string | undefined, host: GitHost): Promise<string> {
  if (!host.terminal) return await host.prompt(message`Change the text`, text) ?? text;
  const env = (name: string) => name === "VISUAL" && editor ? editor : host.environment[name];
  return await editText(text, { env, lend: host.terminal });
}

/** Frames text that orders nothing; nothing in it ends the frame. */
export function material(name: string, text: string): string {
  const safe = terminalSafe(text).replace(/<(?=\s*\/?\s*material)/gi, "<\u200b").trim();
  return safe === "" ? "" : `<material name="${name}">\n${safe}\n</material>\n\n`;
}

const MAX_DIFF = 60_000;
/** Less of a file says nothing. */
const LEAST_PART = 400;
const MAX_ROWS = 8_000;
const MAX_LINE = 500;

/** The change for a model: all files with their figures, and as much of the diff as fits. */
export async function changeText({ files, top }: Change, assembly: Assembly): Promise<string> {
  const rows: string[] = [];
  const diffs: { readonly text: string; readonly at: number }[] = [];
  for (const [at, file] of files.entries()) {
    const hidden = file.hunks.length > 0 ? await reasonToHide(file, top, assembly) : undefined;
    rows.push(`${row(file)}${hidden === undefined ? "" : ` (no diff: ${hidden})`}`);
    if (file.hunks.length > 0 && (hidden ?? file.omitted) === undefined) {
      diffs.push({ at, text: diffText(file, assembly) });
    }
  }
  let left = MAX_DIFF;
  // Small files are whole; the large ones share what is left.
  const smallest = diffs.toSorted((a, b) => a.text.length - b.text.length);
  const shown = smallest.flatMap(({ text, at }, index) => {
    if (left < LEAST_PART) return [];
    const part = cut(text, Math.max(LEAST_PART, Math.floor(left / (diffs.length - index))));
    left -= part.length;
    return [{ text: part, at }];
  });
  const missing = diffs.length - shown.length;
  const diff = shown.toSorted((a, b) => a.at - b.at).map(({ text }) => text)
    .concat(missing > 0 ? `(the diff of ${missing} more files is left out)` : []).join("\n");
  return material("files", cut(rows.join("\n"), MAX_ROWS)) + material("diff", diff);
}

/** The rules of the session hold for what it does not read itself, too. */
async function reasonToHide(
  { path, oldPath = path }: ChangedFile,
  top: string,
  assembly: Assembly,
): Promise<string | undefined> {
  for (const each of new Set([path, oldPath])) {
    if (mayHoldKeys(each)) return "it may hold keys";
    if (await assembly.deniesReading(`${top}/${each}`)) return "it may not be read";
  }
}

function row(file: ChangedFile): string {
  const { status, kind, added, removed, hunks, omitted } = file;
  const isMode = kind === "text" && status === "modified" && hunks.length === 0 && !omitted;
  const facts = [...new Set([kind, omitted, isMode && "mode"])].filter((fact) => fact && fact !== "text");
  return `${nameOf(file)} +${added} -${removed}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
}

function nameOf({ status, path, oldPath }: ChangedFile): string {
  return `${status} ${oldPath === undefined ? "" : `${oldPath} → `}${path}`;
}

function diffText(file: ChangedFile, { redact }: Assembly): string {
  const parts = file.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join("\n")
  );
  // A line is cut when no secret is in it any more: a half would not be found.
  return redact([nameOf(file), ...parts].join("\n")).split("\n")
    .map((line) => cutText(line, MAX_LINE)).join("\n");
}

/** The first whole lines of a text. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, Math.max(0, text.lastIndexOf("\n", most)));
  const left = text.slice(kept.length).split("\n").length - 1;
  return `${kept}\n(${left} more lines)`.trimStart();
}

export const NO_TEXT = { value: undefined, problem: "there is no text in it" };

/** The hint of the user for a model. */
export function wishes(hint: string): string {
  return hint === "" ? "" : `The author says about this change: ${hint}`;
}

/**
 * Has the model write a text, a second time where `read` finds a problem, and returns the last one. Throws a
 * ReasonixError where it wrote nothing.
 */
export async function writtenBy<T>(
  assembly: Assembly,
  { system, prompt, ...request }: {
    /** Its name in `[agent] subagent_models`. */
    readonly agent: string;
    readonly description: string;
    readonly system: string;
    readonly prompt: string;
    readonly signal: AbortSignal;
  },
  read: (reply: string) => { readonly value: T | undefined; readonly problem?: string | undefined },
): Promise<T> {
  let fault = "";
  for (const isLast of [false, true]) {
    const { text: reply, outcome: { reason, detail } } = await assembly.runInternal({
      ...request,
      overrides: { readOnly: true },
      prompt: assembly.redact(`${system.trim()}\n\n${prompt.trim()}${fault}`),
    }).catch((error) => {
      const { aborted, reason } = request.signal;
      if (!aborted) throw error;
      const exit = reason === "terminated" ? "terminated" : "interrupt";
      throw new ReasonixError(message`Cannot write the text: ${message`it was stopped`}`, { exit });
    });
    if (reason !== "done") {
      const exit = reason === "interrupted" ? "interrupt" : reason;
      throw new ReasonixError(message`Cannot write the text: ${detail ?? reason}`, { exit });
    }
    const { value, problem } = read(assembly.redact(reply));
    if (value !== undefined && (isLast || problem === undefined)) return value;
    fault = `\n\nYour last answer cannot be used: ${problem}.\n${material("last answer", reply)}`;
  }
  throw new ReasonixError(message`Cannot write the text: the model answered with none`, {
    remedy: message`try again, or name another model with --model`,
  });
}

const INTRODUCTION = /^(?:here\b.*:|(?:sure|certainly|okay|of course|below is|the message)\b.*[:.!])$/i;
const LABEL = /^(?:\*\*)?(?:commit message|message|subject|title)(?:\*\*)?:(?:\*\*)?\s*/i;
const TRAILER =
  /^(?:co-authored-by|signed-off-by|assisted-by|reviewed-by|acked-by|tested-by|generated (?:with|by)\b|\u{1f916})/iu;
const QUOTED = /^(?:\*\*([^*]+)\*\*|["“]([^"“”]+)["”]|`([^`]+)`|'([^']+)')$/;

/** Returns a message of a model without what is no part of it; trailers only as far as `asked` names them. */
export function cleanMessage(reply: string, asked = ""): string {
  let text = terminalSafe(reply.replace(/\r\n?/g, "\n").toWellFormed()).trim();
  const [opening = ""] = text.split("\n", 1);
  if (text.includes("\n") && INTRODUCTION.test(opening)) text = text.slice(opening.length).trim();
  const fence = /^(`{3,})[\w-]*\n(?:([\s\S]*)\n)?\1$/.exec(text) ??
    /^(`{3,})[\w-]*\n([\s\S]*?)\n\1$/m.exec(text);
  if (fence && fence.index === 0) text = fence[2]?.trim() ?? "";
  text = unquoted(text);
  const wanted = text.split("\n").map((line) => line.trimEnd()).filter((line) => {
    const name = TRAILER.exec(line)?.[0].toLowerCase();
    return name === undefined || asked.toLowerCase().includes(name);
  });
  const [first = "", ...rest] = wanted.join("\n").trim().split("\n");
  const subject = unquoted(first.replace(LABEL, "").replace(/^#+ /, "").trim());
  const body = rest.join("\n").replace(/\n{3,}/g, "\n\n").trim();
  return body === "" ? subject : `${subject}\n\n${body}`;
}

function unquoted(text: string): string {
  return QUOTED.exec(text)?.slice(1).find((inner) => inner !== undefined)?.trim() ?? text;
}

/** Wraps the prose of a body at 72 columns; lists, quotations, code and addresses stay as they are. */
export function wrapBody(body: string): string {
  return body.split("\n").flatMap((line) =>
    line.length <= 76 || /^(?:\s{4}|\t|>|```)|:\/\//.test(line)
      ? [line]
      : wrapText(line, 72, roughWidth, /^\s*(?:[-*]|\d+\.)\s+/.exec(line)?.[0].replace(/./g, " ") ?? "")
  ).join("\n");
}
