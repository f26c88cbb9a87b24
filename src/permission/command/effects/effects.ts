import { baseName } from "../../../path/lexical.ts";
import { ANY, isKnown } from "../../../rule/mod.ts";
import { fileUses } from "./file_uses.ts";
import { type Call, type Found, getopt, isLong, type Program } from "../program.ts";
import { programNamed } from "../programs.ts";
import { embeddedCode, languageOf } from "../languages/embedded_code.ts";
import { remoteDeletion } from "./remote_deletion.ts";
import {
  type Destruction,
  type Effects,
  type Environment,
  type FileUse,
  type Invocation,
  isDiscardDevice,
  type Nested,
  type SimpleCommand,
} from "../types.ts";
import { Unparsable } from "../parse.ts";
import { unwrap, type Unwrapped } from "./unwrap.ts";
import { codeReason, namesProgram, riskyAssignment, riskyPrefix, setsCode } from "../variables.ts";

/** The most programs that the words of one command may be looked at as: each is compared with every rule. */
const MAX_RUNS = 256;
/** The most characters that the programs of one command are compared with rules by. */
const MAX_RUN_TEXT = 512 * 1024;

/** Effects while they are gathered. */
interface Draft {
  readonly command: SimpleCommand;
  readonly environment: Environment;
  readonly runs: Invocation[];
  readonly via: string[];
  readonly reads: FileUse[];
  readonly writes: FileUse[];
  readonly nested: Nested[];
  readonly scripts: string[];
  readonly destructive: Destruction[];
  network: boolean;
  wrapper: boolean;
  noOp: boolean;
  /** A wrapper changes the directory. */
  moved: boolean;
  /** What the program's table says of it. */
  readOnly: boolean;
  dynamic?: string | undefined;
  unseen?: true | undefined;
  code?: string | undefined;
  guarded?: string | undefined;
  risk?: string | undefined;
}

/**
 * Says what running a command means: the third pass. What it hands on is in `nested`, for the caller to
 * follow.
 */
export function effects(command: SimpleCommand, environment: Environment): Effects {
  const { argv, assigns } = command;
  const draft: Draft = {
    command,
    environment,
    runs: [],
    via: [...command.via ?? []],
    reads: [...command.reads],
    writes: [...command.writes],
    nested: [],
    scripts: [],
    destructive: [],
    network: false,
    wrapper: false,
    noOp: false,
    moved: false,
    readOnly: false,
  };
  if (argv.length === 0) {
    draft.risk = riskyAssignment(assigns.map(({ name }) => name), environment.env);
    draft.noOp = draft.reads.length + draft.writes.length === 0 && draft.risk === undefined;
    draft.readOnly = draft.noOp || draft.reads.length + draft.writes.length > 0;
  } else {
    draft.risk = riskyPrefix(assigns);
    readWords(draft);
    for (const { name, value } of assigns) if (namesProgram(name)) addProgram(value, draft);
  }
  return finish(draft);
}

function finish(draft: Draft): Effects {
  let length = 0;
  for (const { argv } of draft.runs) for (const word of argv) length += word.length + 1;
  if (length > MAX_RUN_TEXT) throw new Unparsable("its words could be too many commands");
  const { environment: _, moved, ...rest } = draft;
  const changes = draft.writes.some(({ path }) => !isDiscardDevice(path));
  const unsure = draft.dynamic ?? draft.risk ?? draft.guarded;
  return {
    ...rest,
    cwds: moved ? undefined : draft.command.cwds,
    readOnly: !changes && unsure === undefined && (draft.noOp || draft.wrapper || draft.readOnly),
  };
}

/** Adds a value that others may start as a program: refusals for it count. */
function addProgram(value: string, draft: Draft): void {
  const argv = value.split(/\s+/).filter((word) => word !== "");
  if (argv.length > 0) draft.runs.push({ argv, at: 0, refusals: true });
}

/** Reads the words down to the program that runs in the end. */
function readWords(draft: Draft): void {
  let { argv } = draft.command;
  for (let at = 0;;) {
    if (draft.runs.push({ argv, at }) > MAX_RUNS) throw new Unparsable("it has too many wrappers");
    const word = argv[0] ?? "";
    if (!isKnown(word)) {
      draft.dynamic = "only the shell will know which command this is";
      if (word === ANY) draft.unseen = true;
      addDestruction(draft, { argv: ["rm", ...argv.slice(1)], at }, programNamed("rm"));
      return;
    }
    // Behind a wrapper a name is a program's again.
    if (at === 0 && draft.command.functions.has(word)) {
      draft.noOp = true;
      return;
    }
    const name = nameOf(word, draft);
    if (name !== baseName(word)) draft.runs.push({ argv: [name, ...argv.slice(1)], at, refusals: true });
    const row = programNamed(name);
    const inner = unwrap(argv, name, row);
    if (!inner) return readProgram({ argv, at, name }, row, draft);
    if (inner.kind === "none") {
      draft.readOnly = inner.prints;
      return;
    }
    if (inner.kind === "dynamic") {
      draft.dynamic = inner.reason;
      if (argv.length > MAX_RUNS) throw new Unparsable(`${inner.reason}, and its words are too many`);
      // The command is one of the endings, so a refusal can still name it.
      for (let i = 1; i < argv.length; i++) addEnding({ argv: argv.slice(i), at: at + i }, draft);
      return;
    }
    passWrapper(name, inner, argv, draft);
    draft.network ||= row?.network === true;
    at += inner.at;
    argv = argv.slice(inner.at);
    if (argv.length === 0) return;
  }
}

function addEnding(run: Invocation, draft: Draft): void {
  draft.runs.push({ ...run, refusals: true });
  addDestruction(draft, run, programNamed(nameOf(run.argv[0] ?? "", draft)));
}

function nameOf(word: string, { environment }: Draft): string {
  return environment.ignoreCase ? baseName(word).toLowerCase() : baseName(word);
}

function passWrapper(
  name: string,
  inner: Extract<Unwrapped, { kind: "inner" }>,
  argv: readonly string[],
  draft: Draft,
): void {
  draft.via.push(name);
  draft.guarded ??= inner.guarded;
  draft.writes.push(...inner.writes.map((path) => ({ path })));
  if (argv.slice(1, inner.at).some((each) => /^-[A-Za-z]*[CD]|^--chdir/.test(each))) draft.moved = true;
  draft.risk ??= riskyPrefix(inner.assigns);
  for (const { name, value } of inner.assigns) {
    if (setsCode(name, value)) draft.dynamic = codeReason(name);
    if (namesProgram(name)) addProgram(value, draft);
  }
}

interface Running {
  readonly argv: readonly string[];
  readonly at: number;
  readonly name: string;
}

function callOf({ argv, at }: Pick<Running, "argv" | "at">, draft: Draft): Call {
  const { input, supply } = draft.command;
  return {
    argv,
    at,
    name: nameOf(argv[0] ?? "", draft),
    args: argv.slice(1),
    input,
    supply,
    ownScript: (path) => ownScript(path, draft),
  };
}

function ownScript(path: string, { command, environment, moved }: Draft): string | undefined {
  if (!environment.ownScript || !isKnown(path)) return undefined;
  const cwds = path.startsWith("/") ? [""] : moved ? [] : command.cwds ?? [];
  const [content, ...others] = cwds.map((cwd) =>
    environment.ownScript?.(cwd === "" ? path : `${cwd}/${path}`)
  );
  return others.length === 0 ? content : undefined;
}

function readProgram(running: Running, row: Program | undefined, draft: Draft): void {
  const { argv, at } = running;
  const word = argv[0] ?? "";
  if (word.includes("/")) {
    draft.scripts.push(word);
    const real = realName(word, draft);
    if (real !== undefined) draft.runs.push({ argv: [real, ...argv.slice(1)], at, refusals: true });
    const content = row ? undefined : ownScript(word, draft);
    if (content !== undefined) {
      apply(embeddedCode(languageOf(content), content, (path) => ownScript(path, draft)), draft);
    }
  }
  if (!row) return;
  const call = callOf(running, draft);
  const files = fileUses(call, row);
  draft.reads.push(...files.reads);
  draft.writes.push(...files.writes);
  for (const i of mentioned(argv, row)) {
    draft.runs.push({ argv: argv.slice(i), at: at + i, refusals: true });
  }
  const found = optionCode(call, row) ?? row.read?.(call);
  const atHome = !/\//.test(word.replace(/^\/(?:usr\/)?bin\//, ""));
  draft.readOnly = atHome && (found?.readOnly ?? onlyReads(call, row));
  draft.network ||= row.network === true ||
    (row.network !== undefined && call.args.some((each) => row.network !== true && row.network?.test(each)));
  if (found) apply(found, draft);
  addDestruction(draft, running, row);
}

function apply(found: Found, draft: Draft): void {
  draft.dynamic ??= found.dynamic;
  draft.unseen ??= found.unseen;
  draft.code ??= found.code;
  draft.wrapper ||= found.wrapper === true;
  draft.network ||= found.network === true;
  draft.runs.push(...found.runs ?? []);
  draft.reads.push(...found.reads ?? []);
  draft.writes.push(...found.writes ?? []);
  draft.nested.push(...found.nested ?? []);
  draft.scripts.push(...found.scripts ?? []);
}

function addDestruction(draft: Draft, run: Invocation, row: Program | undefined): void {
  const call = callOf(run, draft);
  if (row?.destroys) draft.destructive.push(...row.destroys(call));
  if (row?.remote) draft.destructive.push(...remoteDeletion(call, row.remote));
}

/** Returns the name a path really leads to, when it is another one. */
function realName(word: string, { command, environment }: Draft): string | undefined {
  const cwd = command.cwds?.[0];
  if (!word.startsWith("/") && cwd === undefined) return undefined;
  const real = baseName(environment.realPath(word.startsWith("/") ? word : `${cwd}/${word}`) ?? word);
  return real === baseName(word) ? undefined : real;
}

function mentioned(argv: readonly string[], { mentions }: Program): number[] {
  if (mentions === undefined) return [];
  const plain = argv.flatMap((word, i) => i > 0 && !word.startsWith("-") ? [i] : []);
  return mentions === "first" ? plain.slice(0, 2) : plain.slice(1);
}

function optionCode({ name, args }: Call, row: Program): Found | undefined {
  const long = row.codeLong?.split(" ") ?? [];
  const end = args.indexOf("--");
  const word = (end < 0 ? args : args.slice(0, end)).find((each) =>
    isLong(each, long) || row.code?.test(each) || (row.code && !isKnown(each) && !/^[\w./]/.test(each))
  );
  if (word === undefined) return undefined;
  const shown = isKnown(word) ? word.split("\n", 1)[0]?.slice(0, 20) : "…";
  return { dynamic: `${name} is handed code or a command (${shown})` };
}

/** Reports whether the program's table proves that with these words it only reads and prints. */
function onlyReads({ args }: Call, row: Program): boolean {
  if (args.length === 1 && row.prints?.split(" ").includes(args[0] ?? "")) return true;
  if (row.readOnly === undefined || row.readOnly === true) return row.readOnly === true;
  const { options, most = Infinity, operands: allowed } = row.readOnly;
  const parsed = getopt(args, options);
  // A pattern may become several names.
  const count = parsed.operands.reduce((sum, word) => sum + (isKnown(word) ? 1 : 2), 0);
  return parsed.unknown === undefined && count <= most &&
    (allowed === undefined || parsed.operands.every((word) => isKnown(word) && allowed.test(word)));
}
