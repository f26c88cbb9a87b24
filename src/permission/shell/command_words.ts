import { baseName } from "../../path/lexical.ts";
import { ANY, isKnown } from "../../rule/mod.ts";
import { fileUses, gitFileUses } from "./file_use.ts";
import { readFind } from "./find.ts";
import { readGit } from "./git.ts";
import { fedCode } from "./interpreters.ts";
import type { Input, PathUse, Segment, Supply, View } from "./line.ts";
import { bindVariable, type Frame, type Scope } from "./scope.ts";
import { makePrograms } from "./make.ts";
import { Unparsable } from "./syntax.ts";
import { codeReason, namesProgram, setsCode } from "./variables.ts";
import { mentioned, unwrap } from "./wrappers.ts";
import { readXargs } from "./xargs.ts";

/** A simple command after expansion. */
export interface RawCommand {
  readonly text: string;
  readonly argv: readonly string[];
  readonly uses: readonly PathUse[];
  readonly input: Input;
  /** Names of variables set in front of it. */
  readonly assigns: readonly string[];
  /** Values of those that name a program for others to start. */
  readonly programs?: readonly string[];
  readonly scope: Scope;
  readonly via?: readonly string[];
  readonly supply?: Supply;
}

/** Walks shell code that a command is handed. */
export type WalkCode = (code: string, input: Input) => void;

/** Variables that only say how a program reports or which of its usual builds it makes. */
const HARMLESS =
  /^(?:[a-z][a-z0-9_]*|CI|DEBUG|VERBOSE|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|NODE_ENV|RUST_LOG|RUST_BACKTRACE|GOOS|GOARCH|CGO_ENABLED|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PORT|HOST|LOG_LEVEL|PUPPETEER_SKIP_DOWNLOAD|HUSKY|I)$/;

/** Why a variable in front of a command, or set for all later ones, keeps rules from covering it. */
export function riskyVariable(names: readonly string[]): string | undefined {
  const name = names.find((each) => !HARMLESS.test(each));
  return name === undefined ? undefined : `it sets ${name}`;
}

interface Reading {
  readonly views: View[];
  readonly via: string[];
  readonly uses: PathUse[];
  opaque?: string;
  guarded?: string;
  risk?: string;
  /** A wrapper changes the folder. */
  moved: boolean;
  carrier: boolean;
  inert: boolean;
}

/** Reads one command down to the program that runs in the end, and adds it and what it carries to the line. */
export function addCommand(raw: RawCommand, frame: Frame, walk: WalkCode): void {
  if (frame.found.segments.length > 2000) throw new Unparsable("it has too many commands");
  const reading: Reading = {
    views: [],
    via: [...raw.via ?? []],
    uses: [...raw.uses],
    carrier: false,
    inert: false,
    moved: false,
  };
  const risk = riskyVariable(raw.assigns);
  if (risk !== undefined) reading.risk = risk;
  const index = frame.found.segments.length;
  if (raw.argv.length === 0) reading.inert = raw.assigns.length > 0 && risk === undefined;
  else readWords(raw, reading, frame, walk);
  for (const value of raw.programs ?? []) addProgram(value, reading);
  // What it carries was added meanwhile; the carrier comes first, as in the line.
  frame.found.segments.splice(index, 0, finish(raw, reading));
}

/** A value that others may start as a program: refusals for it count. */
function addProgram(value: string, reading: Reading): void {
  const argv = value.split(/\s+/).filter((word) => word !== "");
  if (argv.length > 0) reading.views.push({ argv, at: 0, refusals: true });
}

function finish(raw: RawCommand, reading: Reading): Segment {
  const { views, via, uses, carrier, inert, opaque, guarded, risk, moved } = reading;
  return {
    text: raw.text,
    views,
    via,
    uses,
    carrier,
    inert,
    input: raw.input,
    cwds: moved ? undefined : raw.scope.cwds,
    ...(opaque === undefined ? {} : { opaque }),
    ...(guarded === undefined ? {} : { guarded }),
    ...(risk === undefined ? {} : { risk }),
    ...(raw.supply === undefined ? {} : { supply: raw.supply }),
  };
}

function readWords(raw: RawCommand, reading: Reading, frame: Frame, walk: WalkCode): void {
  let argv = raw.argv;
  let at = 0;
  for (;;) {
    reading.views.push({ argv, at });
    const word = argv[0] ?? "";
    if (!isKnown(word)) {
      reading.opaque = "only the shell will know which command this is";
      return;
    }
    // Behind a wrapper a name is a program's again.
    if (at === 0 && frame.found.defined.has(word)) {
      reading.inert = true;
      return;
    }
    const name = baseName(word);
    const inner = unwrap(argv, name);
    if (!inner) break;
    if (inner.kind === "none") return;
    if (inner.kind === "opaque") {
      reading.opaque = inner.reason;
      // The command is one of the endings, so a refusal can still name it.
      for (let i = 1; i < argv.length; i++) {
        reading.views.push({ argv: argv.slice(i), at: at + i, refusals: true });
      }
      return;
    }
    reading.via.push(name);
    if (inner.guarded !== undefined) reading.guarded ??= inner.guarded;
    if (argv.slice(1, inner.at).some((each) => /^-[A-Za-z]*[CD]|^--chdir/.test(each))) reading.moved = true;
    const names = inner.assigns.map((each) => each.split("=", 1)[0] ?? "");
    const risk = riskyVariable(names);
    if (risk !== undefined) reading.risk ??= risk;
    for (const each of inner.assigns) {
      const [name = "", value] = each.split(/=(.*)/s, 2);
      if (setsCode(name, value)) reading.opaque = codeReason(name);
      if (namesProgram(name)) addProgram(value ?? "", reading);
    }
    for (const each of names) bindVariable(frame, each, undefined);
    at += inner.at;
    argv = argv.slice(inner.at);
    if (argv.length === 0) return;
  }
  const scope = reading.moved ? { ...raw.scope, cwds: undefined } : raw.scope;
  readProgram({ ...raw, argv, scope, via: reading.via }, reading, frame, walk);
}

function readProgram(raw: RawCommand, reading: Reading, frame: Frame, walk: WalkCode): void {
  const { argv, input, scope } = raw;
  const word = argv[0] ?? "";
  const name = baseName(word);
  if (word.includes("/")) frame.found.runs.push({ path: word, cwds: scope.cwds });
  reading.uses.push(...fileUses(argv, name));
  const at = reading.views.at(-1)?.at ?? 0;
  const real = word.includes("/") ? realName(word, raw) : undefined;
  if (real !== undefined) reading.views.push({ argv: [real, ...argv.slice(1)], at, refusals: true });
  for (const i of mentioned(argv, name)) {
    reading.views.push({ argv: argv.slice(i), at: at + i, refusals: true });
  }
  if (/^(?:g?make|remake)$/.test(name)) makePrograms(argv).forEach((value) => addProgram(value, reading));
  const carry = (inner: readonly string[], supply?: Supply) =>
    addCommand({ ...raw, argv: inner, uses: [], assigns: [], ...(supply ? { supply } : {}) }, frame, walk);

  if (name === "git") {
    const git = readGit(argv);
    if (git.opaque !== undefined) reading.opaque = git.opaque;
    if (git.code !== undefined) walk(git.code, input);
    if (git.command) carry(git.command);
    const elsewhere = argv.some((each) => /^(?:-C|--git-dir|--work-tree)/.test(each)) &&
      git.folder !== undefined;
    if (git.plain.length < argv.length) {
      reading.views.push({ argv: git.plain, at, ...(elsewhere ? { refusals: true as const } : {}) });
    }
    reading.uses.push(...gitFileUses(git));
    return;
  }
  if (name === "find" || name === "fd" || name === "fdfind") {
    const find = readFind(argv, name);
    for (const command of find.commands) carry(command, find.supply);
    reading.uses.push(...find.uses);
    return;
  }
  if (name === "xargs") {
    const inner = readXargs(argv);
    if (inner === "opaque") reading.opaque = "xargs is used in a way that is not known here";
    else if (inner) {
      reading.carrier = true;
      carry(inner, supplied(input));
    }
    return;
  }
  readFed(raw, name, reading, { frame, walk });
}

/** The name a path really leads to, when it is another one. */
function realName(word: string, raw: RawCommand): string | undefined {
  const [cwd] = raw.scope.cwds ?? [];
  if (!word.startsWith("/") && cwd === undefined) return undefined;
  try {
    const real = baseName(Deno.realPathSync(word.startsWith("/") ? word : `${cwd}/${word}`));
    return real === baseName(word) ? undefined : real;
  } catch {
    return undefined;
  }
}

function readFed(
  raw: RawCommand,
  name: string,
  reading: Reading,
  to: { frame: Frame; walk: WalkCode },
): void {
  const fed = fedCode(raw.argv, name, raw.input);
  if (!fed) return;
  if (fed.kind === "opaque") reading.opaque = fed.reason;
  if (fed.kind === "script") {
    to.frame.found.runs.push({ path: fed.path, cwds: raw.scope.cwds });
    const at = raw.argv.indexOf(fed.path);
    if (at > 0) reading.views.push({ argv: raw.argv.slice(at), at, refusals: true });
    reading.uses.push({ path: fed.path, access: "read" });
  }
  if (fed.kind === "code") {
    reading.carrier = true;
    to.walk(fed.code, raw.input);
  }
}

/** Where the words come from that xargs reads: below the folders of a `find`, or unknown. */
function supplied(input: Input): Supply | undefined {
  if (input.kind !== "pipe") return undefined;
  const first = input.from[0];
  const argv = first?.views.at(-1)?.argv ?? [];
  const name = baseName(argv[0] ?? "");
  const passes = input.from.length === 1;
  return passes && (name === "find" || name === "fd") && !argv.includes(ANY)
    ? readFind(argv, name).supply
    : undefined;
}
