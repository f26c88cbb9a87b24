import { renameSync, rmSync } from "node:fs";
import { message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import { type Change, Git, readChange } from "../git/mod.ts";
import type { Assembly } from "../run/mod.ts";
import { absolutePath, contains, isAbsolute } from "../path/lexical.ts";
import { existingRealPath } from "../path/real_path.ts";
import { exists, readSmallText } from "../path/probe.ts";
import { attempt } from "../util/lazy.ts";
import { shellWord } from "../util/process.ts";
import continuedPrompt from "./continued.md" with { type: "text" };
import messagePrompt from "./message.md" with { type: "text" };
import {
  changeText,
  cleanMessage,
  edited,
  keep,
  material,
  NO_TEXT,
  runUserGit,
  wishes,
  wrapBody,
  type WritingOptions,
  writtenBy,
} from "./writing.ts";

/** HEAD and the index; files of the working tree do not count. */
interface State {
  readonly head: string | undefined;
  readonly index: string;
}

/** The staged change, and the facts that its message depends on. */
interface Staged {
  readonly git: Git;
  readonly top: string;
  /** The file that keeps the message until it was used. */
  readonly kept: string;
  readonly change: Change;
  readonly state: State;
  readonly branch: string | undefined;
  /** Unfinished operations of git: merge, cherry-pick, revert, rebase. */
  readonly operations: readonly string[];
  /** The message that git began, with its comments and without. */
  readonly begun: { readonly raw: string; readonly text: string };
  /** Messages of commits that are squashed into this one. */
  readonly squashed: string;
  readonly template: string;
  /** Subjects of the latest commits. */
  readonly subjects: readonly string[];
}

const MAX_TEXT = 16_000;
/** Messages that are written without a prompt while the index changes. */
const MAX_ATTEMPTS = 3;

/**
 * Writes the message for what is staged, shows it and commits with the user's git, hooks and signing. Returns
 * false where the user left. Throws a ReasonixError where nothing was committed; the message is kept then.
 */
export async function commitStaged(options: WritingOptions): Promise<boolean> {
  const { cwd, host, signal, yes } = options;
  let staged = await readStaged(cwd, signal);
  reportSurroundings(staged, options);
  const { kept } = staged;
  const assembly = await host.assembly();
  let text = await writeMessage(staged, assembly, options);
  // The message of an earlier run may still be needed.
  attempt(() => renameSync(kept, `${kept}.old`));
  const isSame = async () => {
    const { head, index } = await stateOf(staged.git, staged.top, signal);
    return head === staged.state.head && index === staged.state.index;
  };
  for (let count = 1;; count += 1) {
    await keep(kept, text);
    let answer: "commit" | "edit" | "leave" | undefined;
    if (await isSame()) {
      host.show(text);
      answer = yes ? "commit" : await host.choose(message`Commit with this message?`, [
        { label: message`commit`, key: "y", value: "commit" },
        { label: message`edit the message`, key: "e", value: "edit" },
        { label: message`leave`, key: "n", value: "leave" },
      ]) ?? "leave";
      if (signal.aborted) throw notCommitted(message`it was stopped`, kept, "interrupt");
      if (answer === "leave") {
        host.report(message`Nothing was committed; the message is in ${kept}`);
        return false;
      }
      if (answer === "edit") text = await editedMessage(text, staged, options);
      if (await isSame()) return await commit(staged, options);
    }
    if (yes && count === MAX_ATTEMPTS) throw notCommitted(message`what is staged keeps changing`, kept);
    staged = await readStaged(cwd, signal);
    if (answer === "edit") host.report(message`What is staged changed meanwhile`);
    else {
      host.report(message`What is staged changed meanwhile: the message is written again`);
      text = await writeMessage(staged, assembly, options);
    }
  }
}

async function editedMessage(
  text: string,
  { git, top, kept }: Staged,
  { host, signal }: WritingOptions,
): Promise<string> {
  const { text: configured } = await git.run(["config", "--get", "core.editor"], { cwd: top, signal });
  const editor = host.environment.GIT_EDITOR ?? configured.trim();
  const changed = (await edited(text, editor, host).catch((error) => {
    throw notCommitted(error.message, kept);
  })).trim();
  if (changed === "") throw notCommitted(message`the message is empty`, kept);
  await keep(kept, changed);
  return changed;
}

function notCommitted(why: Text, kept: string, exit: "failed" | "interrupt" = "failed"): ReasonixError {
  return new ReasonixError(message`Nothing was committed: ${why}`, {
    exit,
    remedy: message`use the message with ${`\`git commit -F ${shellWord(kept)}\``}, or run this again`,
  });
}

/** Commits with the message that is kept. */
async function commit({ git, top, kept, state, operations }: Staged, options: WritingOptions): Promise<true> {
  const { host, signal } = options;
  const words = ["-c", "i18n.commitEncoding=UTF-8", "commit", "--cleanup=whitespace", "--file", kept];
  const code = await runUserGit(words, top, options);
  // Hooks may take any time, and an abort must not hide a commit.
  const { head, index } = await stateOf(git, top);
  if (head === state.head) {
    const exit = signal.aborted ? "interrupt" : "failed";
    throw notCommitted(message`git commit ended with exit code ${code}`, kept, exit);
  }
  rmSync(kept, { force: true });
  if (index !== state.index) {
    host.report(
      message`The commit is not exactly what was staged: a hook or another program changed the index`,
    );
  }
  if (operations.includes("rebase")) {
    host.report(message`A rebase is in progress: continue it with ${"`git rebase --continue`"}`);
  }
  return true;
}

/** Reads what is staged. Throws a ReasonixError, with the remedy, where nothing can be committed. */
async function readStaged(cwd: string, signal: AbortSignal): Promise<Staged> {
  const git = Git.find(cwd);
  const ask = async (...args: readonly string[]) => (await git.run(args, { cwd, signal })).text.trim();
  const change = await readChange(git, cwd, { kind: "staged" }, signal);
  const { top } = change;
  const directory = await ask("rev-parse", "--absolute-git-dir");
  const lock = `${directory}/index.lock`;
  if (exists(lock)) {
    throw new ReasonixError(message`Cannot commit: another git process uses the index (${lock})`, {
      remedy: message`wait until it ends; if none runs, remove that file`,
    });
  }
  const operations = OPERATIONS.filter(([, ...files]) => files.some((file) => exists(`${directory}/${file}`)))
    .map(([name]) => name);
  if (change.files.length === 0 && !operations.includes("merge")) {
    const { files: { length: count } } = await readChange(git, top, { kind: "uncommitted" }, signal);
    throw usageError(
      message`Cannot commit: nothing is staged`,
      count === 0
        ? message`nothing has changed either`
        : message`stage what belongs to the commit with ${"`git add FILE`"} (changed files: ${count})`,
    );
  }
  const raw = textFile(`${directory}/MERGE_MSG`);
  // Git knows the character that begins a comment.
  const begun = await git.run(["stripspace", "--strip-comments"], { cwd: top, input: raw, signal });
  const state = await stateOf(git, top, signal);
  const log = ["log", "-30", "--no-merges", "--no-show-signature", "--encoding=UTF-8", "--format=%s"];
  return {
    ...{ git, top, change, state, operations },
    kept: `${directory}/REASONIX_COMMIT_MSG`,
    branch: await ask("symbolic-ref", "--quiet", "--short", "HEAD") || undefined,
    begun: { raw, text: begun.text.trim() },
    squashed: textFile(`${directory}/SQUASH_MSG`),
    template: templateOf(await ask("config", "--type=path", "--get", "commit.template"), top),
    subjects: (await ask(...log)).split("\n").filter((subject) => subject !== ""),
  };
}

const OPERATIONS = [
  ["merge", "MERGE_HEAD"],
  ["cherry-pick", "CHERRY_PICK_HEAD"],
  ["revert", "REVERT_HEAD"],
  ["rebase", "rebase-merge", "rebase-apply"],
] as const;

async function stateOf(git: Git, top: string, signal?: AbortSignal): Promise<State> {
  const options = { cwd: top, signal };
  const { code, text } = await git.run(["rev-parse", "--quiet", "--verify", "HEAD"], options);
  const { stdout } = await git.run(["ls-files", "--stage", "-z"], options);
  const digest = await crypto.subtle.digest("SHA-256", stdout);
  return { head: code === 0 ? text.trim() : undefined, index: new Uint8Array(digest).toHex() };
}

function textFile(path: string): string {
  return (readSmallText(path) ?? "").replace(/\r\n?/g, "\n").slice(0, MAX_TEXT);
}

/** A template inside of the repository may not lead out of it. */
function templateOf(setting: string, top: string): string {
  const real = setting === "" ? undefined : existingRealPath(absolutePath(setting, { cwd: top }));
  return real !== undefined && (isAbsolute(setting) || contains(top, real)) ? textFile(real) : "";
}

function reportSurroundings({ branch, state, operations, change }: Staged, { host }: WritingOptions): void {
  for (const name of operations) host.report(message`In the middle of: ${name}`);
  if (branch === undefined && state.head !== undefined && !operations.includes("rebase")) {
    host.report(
      message`HEAD is detached: the commit will be on no branch; ${"`git switch -c NAME`"} makes one`,
    );
  }
  const hidden = change.files.filter(({ omitted }) => omitted !== undefined).length;
  if (hidden > 0) {
    host.report(
      message`The model sees only the names of files that are generated, binary or too large: ${hidden}`,
    );
  }
}

async function writeMessage(staged: Staged, assembly: Assembly, options: WritingOptions): Promise<string> {
  const { loaded: { config }, provider: { model } } = assembly;
  const text = await messageOf(staged, assembly, options);
  return config.git.trailer ? withTrailer(text, `Assisted-by: Reasonix (${model.id})`) : text;
}

async function messageOf(
  { begun, subjects, template, squashed, change }: Staged,
  assembly: Assembly,
  { hint, signal }: WritingOptions,
): Promise<string> {
  if (begun.text !== "" && hint === "" && !/\bConflicts:/.test(begun.raw)) return begun.text;
  const prompt = [
    material("subjects of the last commits", subjects.join("\n")),
    material("form of messages here (comments explain it)", template),
    material("beginning", begun.raw),
    material("messages of the squashed commits", squashed),
    await changeText(change, assembly),
    wishes(hint),
  ].join("");
  const asked = [hint, template, ...subjects].join("\n");
  const request = { agent: "commit", description: "write the message", prompt, signal };
  if (begun.text !== "") {
    const added = await writtenBy(assembly, { ...request, system: continuedPrompt }, (reply) => {
      const text = cleanMessage(reply, asked);
      return { value: /^none\.?$/i.test(text) ? "" : wrapBody(text) };
    });
    return `${begun.text}\n\n${added}`.trim();
  }
  const { style, limit } = styleOf(subjects);
  const system = messagePrompt.replace("{style}", () => style)
    .replace("{limit}", `At most ${limit} characters.`);
  return await writtenBy(assembly, { ...request, system }, (reply) => {
    const [subject = "", ...rest] = cleanMessage(reply, asked).split("\n");
    if (subject === "") return NO_TEXT;
    const problem = subject.length > limit
      ? `the first line has ${subject.length} characters, ${limit} are allowed`
      : undefined;
    const value = [...fitSubject(subject, limit), wrapBody(rest.join("\n"))].join("\n").trim();
    return { value, problem };
  });
}

/** A subject that is too long is cut between words; then the body begins with it. */
function fitSubject(subject: string, limit: number): string[] {
  if (subject.length <= limit) return [subject];
  const end = subject.lastIndexOf(" ", limit);
  return [
    subject.slice(0, end > 0 ? end : limit).replace(/[\s,;:-]+$/, "").toWellFormed(),
    "",
    wrapBody(subject),
  ];
}

const CONVENTIONAL = /^([a-z]+)(?:\(([^)]*)\))?!?: \S/;
const USUAL_LIMIT = 72;

/** The style of subjects as far as it can be measured. The model sees the rest. */
export function styleOf(subjects: readonly string[]): { readonly style: string; readonly limit: number } {
  const matches = subjects.map((subject) => CONVENTIONAL.exec(subject)).filter((match) => match !== null);
  const conventional = matches.length > 0 && matches.length * 2 >= subjects.length;
  const used = (group: number) => [...new Set(matches.flatMap((match) => match[group] ?? []))].join(", ");
  const scopes = used(2);
  const lengths = subjects.map(({ length }) => length).sort((a, b) => a - b);
  // A few long subjects are no style.
  const usual = lengths[Math.floor((lengths.length - 1) * 0.75)] ?? 0;
  const style = conventional
    ? `Conventional Commits, as the earlier subjects: type(scope): subject. Types here: ${used(1)}. ` +
      (scopes === "" ? "No scopes." : `Scopes here: ${scopes}.`)
    : subjects.length === 0
    ? "In English, in the imperative, with a capital and without a period at the end."
    : "No Conventional Commits: no type before the subject.";
  return { style, limit: usual <= USUAL_LIMIT ? USUAL_LIMIT : lengths.at(-1) ?? USUAL_LIMIT };
}

function withTrailer(text: string, trailer: string): string {
  const last = text.split("\n\n").slice(1).at(-1) ?? "";
  const trailers = last !== "" && last.split("\n").every((line) => /^[A-Za-z][\w-]*: \S/.test(line));
  return `${text}\n${trailers ? "" : "\n"}${trailer}`;
}
