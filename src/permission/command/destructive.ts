import { message, type Text, textOf } from "../../core/mod.ts";
import { absolutePath, baseName, contains, normalize } from "../../path/lexical.ts";
import { exists, isFile } from "../../path/probe.ts";
import { MKTEMP_NAME } from "./expand.ts";
import { concerns } from "./match_rule.ts";
import {
  describeAction,
  type DestructiveAction,
  type KnownLocation,
  locationText,
  SHELL_DECIDES,
  TOO_MANY_NAMES,
} from "./reasons.ts";
import { type Destruction, type Effects, isDiscardDevice, type Line, program } from "./types.ts";
import type { CommandEnvironment, DestructiveFinding, DestructiveTarget } from "../types.ts";
import {
  ANY,
  firstMark,
  isKnown,
  matchPattern,
  ONE,
  type PathContext,
  type Rule,
  STAR,
} from "../../rule/mod.ts";
import { attempt } from "../../util/lazy.ts";

export interface DestructiveContext extends CommandEnvironment {
  readonly pathContext: PathContext;
  readonly strict: boolean;
  /** Commands may do everything that the user may. */
  readonly fullAccess: boolean;
  readonly dangerous: readonly Rule[];
}

/**
 * Words in code of other languages, and in whatever a dynamic part of a line is handed, that are reason
 * enough to ask: all of one row. Options may be quoted, as in `["rm", "-rf", "/"]`.
 */
const MENTIONS: readonly (readonly RegExp[])[] = [
  [/\brm\b/, /[\s"'`]-\w*[rR]|[\s"'`]--r/],
  [/\b(?:mkfs|wipefs|shutdown|reboot|poweroff|killall5|badblocks)\b/],
  [/\bdd\b/, /\bof=\/dev\//],
  [
    /\b(?:rmtree|rmSync|rmdirSync|rm_rf?|remove_tree|remove_dir|remove_entry\w*|remove_dir_all|RemoveAll|deleteRecursively)\b/,
  ],
  [/\bdelete_recursively\b|\bRemove-Item\b[^;|\n]*\s-r/i],
  [/\b(?:rm|rmdir|remove)(?:Sync)?\b/, /\brecursive\b/],
  [/\bDeno\.remove/],
  [/\bkill\s*\(\s*-1\b/],
  [/\b(?:push|send-pack)\b/, /--force|--mirror|[\s"'`]-f\b/],
];

/** A command of the user's list is mentioned where all its plain words are. */
function mentionOf({ spec }: Rule): readonly RegExp[] {
  const words = spec?.kind === "command"
    ? spec.words
    : spec?.kind === "literal"
    ? spec.text.split(/\s+/)
    : [];
  const plain = words.flatMap((word) => word.split(/[*?]+/)).filter((word) => /\w/.test(word));
  return plain.map((word) => new RegExp(`(?<!\\w)${RegExp.escape(word)}`));
}

/** Finds words that are reason enough to ask, in text that cannot be judged as a command. */
export function mentioned(text: string, dangerous: readonly Rule[] = []): string | undefined {
  const own = dangerous.map(mentionOf).filter((words) => words.length > 0);
  const row = [...MENTIONS, ...own].find((words) => words.every((word) => word.test(text)));
  return row?.map((word) => word.exec(text)?.[0]?.trim() ?? "").join(" ");
}

/**
 * Finds the destructive commands (decisions.md, 6): what would destroy data outside of the workspace, the
 * workspace itself, a device, the running system or the history of a remote. Programs' tables say what they
 * destroy; here their targets are resolved.
 */
export function findDestructive(
  line: Line,
  command: string,
  context: DestructiveContext,
): DestructiveFinding[] {
  const findings: DestructiveFinding[] = [];
  if (line.forkBomb) {
    findings.push(finding(command, ["forkBomb"]));
  }
  const findTargets = hitFinder(context.pathContext, context.privateDirectories);
  let rest = command;
  for (const each of line.commands) {
    findings.push(...inspectCommand(each, findTargets, context));
    if (each.dynamic === undefined && !each.wrapper && each.runs.length > 0) {
      rest = rest.replaceAll(each.command.text, "");
    }
  }
  if (findings.length > 0) return unique(findings);
  const find = (text: string) => mentioned(text, context.dangerous);
  const mention = line.dynamic === undefined
    ? hiddenMention(line, rest, find)
    : find(command) ?? piped(line, find);
  if (mention !== undefined) return [finding(command, ["hidden", JSON.stringify(mention)])];
  const blind = context.fullAccess ? line.commands.find(({ unseen }) => unseen) : undefined;
  return blind === undefined ? [] : [finding(blind.command.text, ["unseen"])];
}

export function finding(command: string, action: DestructiveAction, hit?: Hit): DestructiveFinding {
  return hit
    ? { command, reason: describeAction(action, described(hit)), targets: [hit.target] }
    : { command, reason: describeAction(action), targets: [] };
}

type FindMention = (text: string) => string | undefined;

/**
 * Returns what is mentioned in commands that cannot be looked into, in what they are handed, and in code of
 * other languages.
 */
function hiddenMention(line: Line, rest: string, find: FindMention): string | undefined {
  const codes = line.commands.flatMap(({ code }) => code === undefined ? [] : [code]).join("\n");
  const dynamic = line.commands.filter((each) => each.dynamic !== undefined);
  const texts = dynamic.filter(({ wrapper }) => !wrapper).map(({ command }) => command.text);
  return find(codes) ??
    (dynamic.length === 0 ? undefined : find([rest, ...texts].join("\n")) ?? piped(line, find));
}

/** Returns what is piped or written into an interpreter. */
function piped({ commands }: Line, find: FindMention): string | undefined {
  for (const { command: { input }, dynamic } of commands) {
    if (dynamic === undefined || input.kind === "inherited" || input.kind === "file") continue;
    const text = input.kind === "text"
      ? input.text ?? ""
      : input.from.map(({ text, argv }) => `${text}\n${argv.join(" ")}`).join("\n");
    const found = find(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inspectCommand(
  effects: Effects,
  findTargets: FindHits,
  context: DestructiveContext,
): DestructiveFinding[] {
  const findings: DestructiveFinding[] = [];
  const { command: { text }, cwds } = effects;
  const note = (action: DestructiveAction, hit?: Hit) => findings.push(finding(text, action, hit));
  for (const { path } of effects.writes) if (DEVICE.test(path)) note(["redirectsToDevice", path]);
  for (const { action, paths, among, elsewhere } of effects.destructive) {
    if (elsewhere && !context.network) continue;
    if (!paths) note(action);
    const hits = (paths ?? []).flatMap((path) => findTargets(path, cwds));
    for (const hit of hits) if (counts(hit, among)) note(action, hit);
  }
  const named = context.dangerous.find((rule) => concerns(rule, effects) !== "no");
  if (named) note(["configured", named.text]);
  if (context.strict && findings.length === 0) {
    const words = effects.dynamic === undefined ? [program(effects)] : effects.runs.map(({ argv }) => argv);
    const names = words.map(([word = ""]) => isKnown(word) ? baseName(word) : "rm");
    const action = [...names, ""].map((name) => strictFinding(name, effects, context.pathContext))
      .find((each) => each !== undefined);
    if (action !== undefined) note(action);
  }
  return findings;
}

function described({ location, target: { path, files, more } }: Hit): Text {
  if (files === undefined) return message`${path} (${location})`;
  if (more) return message`${path} (${location}, at least ${files} files)`;
  return files === 1
    ? message`${path} (${location}, 1 file)`
    : message`${path} (${location}, ${files} files)`;
}

/** Devices with contents; the ones that keep nothing are left out. */
const DEVICE =
  /^\/dev\/(?!null$|zero$|full$|stdout$|stderr$|stdin$|tty|fd\/|shm\/|pts\/|tcp\/|udp\/|random$|urandom$)|^\/proc\/sysrq-trigger$/;

function unique(findings: readonly DestructiveFinding[]): DestructiveFinding[] {
  const seen = new Set<string>();
  return findings.filter((finding) => {
    const key = `${textOf(finding.reason)}\0${finding.targets.map((target) => target.path).join("\0")}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

const COMMANDS = /^(?:rm|mv|chmod|chown|dd|mkfs(?:\..*)?|shutdown|reboot)$/;

/** The wide class of `[safety] confirm = "strict"`; see docs/permissions.md. */
function strictFinding(
  name: string,
  { writes, cwds: directories }: Effects,
  pathContext: PathContext,
): DestructiveAction | undefined {
  if (COMMANDS.test(name)) return ["strictProgram", name];
  const target = writes.find((use) => use.redirect && !use.append && !isDiscardDevice(use.path));
  if (!target) return undefined;
  const cwds = directories ?? [pathContext.cwd];
  const there = !isKnown(target.path) ||
    cwds.some((cwd) => isFile(absolutePath(target.path, { cwd, home: pathContext.home })));
  return there ? ["strictOverwrite", isKnown(target.path) ? target.path : "…"] : undefined;
}

/**
 * The most files that are counted, and the most names that a glob may become; beyond them there are "at
 * least" as many.
 */
const MAX_COUNT = 5000;
const MAX_NAMES = 200;

/** A target of a destructive command. */
interface Hit {
  readonly location: Text;
  /** The directory that is hit itself; absent for its contents and for what is not known. */
  readonly at?: KnownLocation;
  readonly target: DestructiveTarget;
}

/**
 * Finds what a path, which may have unknown parts, hits outside of the roots: also a root, the home directory
 * or the root directory, and what holds one. In `privateDirectories` nothing of the user's is lost.
 */
type FindHits = (path: string, cwds: readonly string[] | undefined) => Hit[];

function hitFinder(pathContext: PathContext, privateDirectories: readonly string[]): FindHits {
  const roots = [...new Set(pathContext.roots.map((root) => pathContext.realPath(root)))];
  const home = pathContext.realPath(pathContext.home);
  const locate = (path: string): KnownLocation | undefined => {
    if (path === "/") return "root";
    if (path === home) return "home";
    if (roots[0] === path) return "workspace";
    if (contains(path, home)) return "holdsHome";
    if (roots.some((root) => contains(path, root))) return "holdsWorkspace";
    const own = contains(home, path) ? roots : [...roots, ...privateDirectories];
    return own.some((root) => contains(root, path)) ? undefined : "outside";
  };
  return (path, cwds) => {
    const isAbsolute = /^[/~]/.test(path);
    if (path === ANY || path === "" || (!isAbsolute && !cwds)) return [unknownHit(path)];
    return (isAbsolute ? [pathContext.cwd] : cwds ?? []).flatMap((cwd) =>
      findHits(absolutePath(path, { cwd, home: pathContext.home }), pathContext, locate)
    );
  };
}

/** Hits that count: only root, home and workspace (`vital`), or all but the workspace's root. */
function counts({ at, location }: Hit, among: Destruction["among"]): boolean {
  if (among === "vital") return at !== "outside" && location !== SHELL_DECIDES;
  return among === undefined || at !== "workspace";
}

type LocateTarget = (path: string) => KnownLocation | undefined;

function unknownHit(path: string): Hit {
  return { location: SHELL_DECIDES, target: { path: readable(path) } };
}

/** Marks as a person would write them. */
function readable(path: string): string {
  return path.replaceAll(STAR, "*").replaceAll(ONE, "?").replaceAll(ANY, "…") || "…";
}

function findHits(path: string, pathContext: PathContext, judge: LocateTarget): Hit[] {
  const mark = firstMark(path);
  if (mark < 0) {
    const real = removed(path, pathContext);
    const location = judge(real);
    return location === undefined
      ? []
      : [{ at: location, location: locationText(location), target: count(real) }];
  }
  if (path.includes(`/${MKTEMP_NAME}`)) {
    return path.slice(path.indexOf(`/${MKTEMP_NAME}`)).includes("..") ? [unknownHit(path)] : [];
  }
  if (path.includes(ANY)) return [unknownHit(path)];
  return globHits(path, pathContext, judge);
}

/** Removing a link removes the link; with a slash behind it, what it leads to. */
function removed(path: string, pathContext: PathContext): string {
  if (/\/\.{0,2}$/.test(path)) return pathContext.realPath(path);
  const cut = path.replace(/\/+$/, "").lastIndexOf("/");
  const directory = pathContext.realPath(path.slice(0, cut) || "/");
  return normalize(`${directory}/${path.slice(cut + 1)}`);
}

function globHits(path: string, pathContext: PathContext, judge: LocateTarget): Hit[] {
  const slashless = path.replace(/\/+$/, "");
  const cut = slashless.lastIndexOf("/");
  const last = slashless.slice(cut + 1);
  const directory = slashless.slice(0, cut) || "/";
  const real = isKnown(directory) ? pathContext.realPath(directory) : undefined;
  const location = real === undefined ? undefined : judge(real);
  if (real !== undefined && location === undefined && !path.endsWith("/")) return [];
  const everything = [...last].every((char) => char === STAR || char === ".");
  if (real !== undefined && location !== undefined && everything) {
    return [{ location: locationText(location, true), target: count(real) }];
  }
  const names = expandGlob(path);
  if (names.length > MAX_NAMES) {
    return [{ location: TOO_MANY_NAMES, target: { path: readable(path) } }];
  }
  return names.flatMap((name) => findHits(name, pathContext, judge));
}

/**
 * The existing paths a glob with marks becomes. Hidden names only match where the pattern begins with a dot.
 */
function expandGlob(path: string): string[] {
  let found = [""];
  for (const part of path.split("/").filter((each) => each !== "")) {
    found = found.flatMap((base) => {
      if (isKnown(part)) return [`${base}/${part}`];
      return listDirectory(base || "/")
        .filter((entry) =>
          (part.startsWith(".") || !entry.startsWith(".")) &&
          matchPattern(part.replaceAll(STAR, ANY), entry) === "yes"
        )
        .map((entry) => `${base}/${entry}`);
    }).slice(0, MAX_NAMES + 1);
  }
  return found;
}

function listDirectory(path: string): string[] {
  return attempt(() => [...Deno.readDirSync(path)].map((entry) => entry.name)) ?? [];
}

/** Counts the files below a path; links are not followed. */
function count(path: string): DestructiveTarget {
  let files = 0;
  const open = [path];
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    try {
      for (const entry of Deno.readDirSync(directory)) {
        if (entry.isDirectory) open.push(`${directory === "/" ? "" : directory}/${entry.name}`);
        else files++;
        if (files >= MAX_COUNT || open.length >= MAX_COUNT) return { path, files, more: true };
      }
    } catch {
      if (directory === path) return { path, ...(exists(path) ? { files: 1 } : { files: 0 }) };
    }
  }
  return { path, files };
}
