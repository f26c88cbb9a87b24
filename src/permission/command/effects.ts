import { absolutePath, baseName, contains, normalize } from "../../path/lexical.ts";
import { expand, type Start } from "./expand.ts";
import {
  affectsProgramLookup,
  codeReason,
  namesProgram,
  parseScript,
  riskyAssignment,
  riskyPrefix,
  setsCode,
  Unparsable,
} from "./parse.ts";
import { type Call, type Found, getopt, isLong, limitsReading, operands, type Program } from "./program.ts";
import { programNamed } from "./programs.ts";
import { inputText, scriptCode } from "./programs/code.ts";
import { unpackDirectories } from "./programs/tools.ts";
import {
  type Destruction,
  type Effects,
  type Environment,
  type FileUse,
  INHERITED,
  type Invocation,
  isDiscardDevice,
  type Line,
  program,
  type SimpleCommand,
  type VariableAssignment,
} from "./types.ts";
import { ANY, isKnown } from "../../rule/mod.ts";

/** The most programs that the words of one command may be looked at as: each is compared with every rule. */
const MAX_RUNS = 256;
/** The most characters that the programs of one command are compared with rules by. */
const MAX_RUN_TEXT = 512 * 1024;

type Gathered<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K] };

/**
 * Reads what running a command means: the third pass. What it hands on is in `nested`, for the caller to
 * follow.
 */
class CommandReader {
  readonly #environment: Environment;
  readonly #found: Gathered<Omit<Effects, "cwds">>;
  #moved = false;

  constructor(command: SimpleCommand, environment: Environment) {
    this.#environment = environment;
    this.#found = {
      command,
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
      readOnly: false,
    };
  }

  read(): Effects {
    const found = this.#found;
    const { argv, assigns, cwds } = found.command;
    if (argv.length === 0) {
      const usesFiles = found.reads.length + found.writes.length > 0;
      found.risk = riskyAssignment(assigns.map(({ name }) => name), this.#environment.env);
      found.noOp = !usesFiles && found.risk === undefined;
      found.readOnly = found.noOp || usesFiles;
    } else {
      found.risk = riskyPrefix(assigns);
      this.#readWords(argv);
      this.#addPrograms(assigns);
    }
    let length = 0;
    for (const { argv } of found.runs) for (const word of argv) length += word.length + 1;
    if (length > MAX_RUN_TEXT) throw new Unparsable("its words could be too many commands");
    const isSafe = (found.dynamic ?? found.risk ?? found.guarded) === undefined &&
      found.writes.every(({ path }) => isDiscardDevice(path));
    return {
      ...found,
      cwds: this.#moved ? undefined : cwds,
      readOnly: isSafe && (found.noOp || found.wrapper || found.readOnly),
    };
  }

  /** Values of variables that others may start as a program: refusals for it count. */
  #addPrograms(assigns: readonly VariableAssignment[]): void {
    for (const { name, value } of assigns) {
      const argv = namesProgram(name) ? value.split(/\s+/).filter((word) => word !== "") : [];
      if (argv.length > 0) this.#found.runs.push({ argv, at: 0, refusals: true });
    }
  }

  /** Reads the words down to the program that runs in the end. */
  #readWords(words: readonly string[]): void {
    const found = this.#found;
    let argv = words;
    for (let at = 0;;) {
      if (found.runs.push({ argv, at }) > MAX_RUNS) throw new Unparsable("it has too many wrappers");
      const word = argv[0] ?? "";
      if (!isKnown(word)) {
        found.dynamic = "only the shell will know which command this is";
        if (word === ANY) found.unseen = true;
        return this.#addDestruction({ argv: ["rm", ...argv.slice(1)], at }, programNamed("rm"));
      }
      // Behind a wrapper a name is a program's again.
      if (at === 0 && found.command.functions.has(word)) {
        found.noOp = true;
        return;
      }
      const name = this.#nameOf(word);
      if (name !== baseName(word)) found.runs.push({ argv: [name, ...argv.slice(1)], at, refusals: true });
      const row = programNamed(name);
      const inner = this.#unwrap(argv, name, row);
      if (inner === undefined) return this.#readProgram({ argv, at }, row);
      if (typeof inner === "string") {
        found.dynamic = inner;
        if (argv.length > MAX_RUNS) throw new Unparsable(`${inner}, and its words are too many`);
        // The command is one of the endings, so a refusal can still name it.
        for (let i = 1; i < argv.length; i++) this.#addEnding({ argv: argv.slice(i), at: at + i });
        return;
      }
      if (inner === argv.length) return;
      found.network ||= row?.network === true;
      at += inner;
      argv = argv.slice(inner);
    }
  }

  #addEnding(run: Invocation): void {
    this.#found.runs.push({ ...run, refusals: true });
    this.#addDestruction(run, programNamed(this.#nameOf(run.argv[0] ?? "")));
  }

  #nameOf(word: string): string {
    return this.#environment.ignoreCase ? baseName(word).toLowerCase() : baseName(word);
  }

  /**
   * Looks through a wrapper. Returns where the command behind it begins, the number of words if there is
   * none, the reason if that is not known, undefined if it is no wrapper.
   */
  #unwrap(argv: readonly string[], name: string, row: Program | undefined): number | string | undefined {
    const found = this.#found;
    const unknown = `${name} is used in a way that is not known here`;
    const two = programNamed(`${name} ${argv[1] ?? ""}`);
    const wrapper = row?.wraps === undefined ? two : row;
    if (wrapper?.wraps === undefined) {
      const behind = argv[1]?.startsWith("-") === true &&
        argv.slice(2).some((word) => programNamed(`${name} ${word}`)?.wraps !== undefined);
      if (behind || two?.runs) return unknown;
      const prints = argv.length === 2 && row?.prints?.split(" ").includes(argv[1] ?? "");
      return row?.runs && argv.length > 1 && !prints ? `${name} runs what its arguments say` : undefined;
    }
    const { wraps, skip = 0, bare } = wrapper;
    let at = wrapper === row ? 1 : 2;
    let parsed = getopt(argv.slice(at), wraps, true);
    at += parsed.end;
    if (wrapper.dash && argv[at] === "-") {
      parsed = getopt(argv.slice(++at), wraps, true);
      at += parsed.end;
    }
    if (parsed.unknown !== undefined) return unknown;
    if (parsed.options.some((each) => wrapper.queries?.includes(each.name))) {
      found.readOnly = true;
      return argv.length;
    }
    const assigns: VariableAssignment[] = [];
    for (; wrapper.assigns && argv[at]?.includes("="); at++) {
      const [variable = "", value = ""] = (argv[at] ?? "").split(/=(.*)/s, 2);
      if (!isKnown(variable)) return unknown;
      assigns.push({ name: variable, value });
    }
    const outputs = wrapper.writes?.split(" ") ?? [];
    const writes = parsed.options.flatMap((each) => outputs.includes(each.name) ? [each.value ?? ""] : []);
    if (outputs.includes("operand")) writes.push(...argv.slice(at, at + 1));
    at += skip;
    if (skip > 0) {
      if (argv[at] === "--") at++;
      else if (/^-/.test(argv[at] ?? "")) return unknown;
    }
    if (at >= argv.length) {
      found.readOnly = bare === "prints";
      return bare === "shell" ? unknown : argv.length;
    }
    found.via.push(name);
    found.guarded ??= wrapper.guarded;
    found.writes.push(...writes.map((path) => ({ path: isKnown(path) ? path : ANY })));
    if (argv.slice(1, at).some((each) => /^-[A-Za-z]*[CD]|^--chdir/.test(each))) this.#moved = true;
    found.risk ??= riskyPrefix(assigns);
    for (const { name, value } of assigns) if (setsCode(name, value)) found.dynamic = codeReason(name);
    this.#addPrograms(assigns);
    return at;
  }

  #callOf({ argv, at }: Invocation): Call {
    const { input, supply } = this.#found.command;
    return {
      argv,
      at,
      name: this.#nameOf(argv[0] ?? ""),
      args: argv.slice(1),
      input,
      supply,
      sessionScript: (path) => this.#sessionScript(path),
      named: programNamed,
    };
  }

  #sessionScript(path: string): string | undefined {
    const { sessionScript } = this.#environment;
    if (!sessionScript || !isKnown(path)) return undefined;
    const cwds = path.startsWith("/") ? [""] : this.#moved ? [] : this.#found.command.cwds ?? [];
    const [content, ...others] = cwds.map((cwd) => sessionScript(cwd === "" ? path : `${cwd}/${path}`));
    return others.length === 0 ? content : undefined;
  }

  #readProgram(run: Invocation, row: Program | undefined): void {
    const found = this.#found;
    const { argv, at } = run;
    const word = argv[0] ?? "";
    if (word.includes("/")) {
      found.scripts.push(word);
      const real = this.#realName(word);
      if (real !== undefined) found.runs.push({ argv: [real, ...argv.slice(1)], at, refusals: true });
      const content = row ? undefined : this.#sessionScript(word);
      if (content !== undefined) this.#apply(scriptCode(content, (path) => this.#sessionScript(path)));
    }
    if (!row) return;
    const call = this.#callOf(run);
    const files = fileUses(call, row);
    found.reads.push(...files.reads);
    found.writes.push(...files.writes);
    for (const i of mentioned(argv, row)) {
      found.runs.push({ argv: argv.slice(i), at: at + i, refusals: true });
    }
    const read = optionCode(call, row) ?? row.read?.(call) ?? {};
    const atHome = !/\//.test(word.replace(/^\/(?:usr\/)?bin\//, ""));
    const { network } = row;
    found.readOnly = atHome && (read.readOnly ?? onlyReads(call, row));
    found.network ||= network === true ||
      (network !== undefined && call.args.some((each) => network.test(each)));
    this.#apply(read);
    this.#addDestruction(run, row);
  }

  #apply(read: Found): void {
    const found = this.#found;
    found.dynamic ??= read.dynamic;
    found.unseen ??= read.unseen;
    found.code ??= read.code;
    found.wrapper ||= read.wrapper === true;
    found.network ||= read.network === true;
    found.runs.push(...read.runs ?? []);
    found.reads.push(...read.reads ?? []);
    found.writes.push(...read.writes ?? []);
    found.nested.push(...read.nested ?? []);
    found.scripts.push(...read.scripts ?? []);
  }

  #addDestruction(run: Invocation, row: Program | undefined): void {
    if (!row) return;
    const call = this.#callOf(run);
    this.#found.destructive.push(...row.destroys?.(call) ?? [], ...remoteDeletion(call, row));
  }

  /** Returns the name a path really leads to, when it is another one. */
  #realName(word: string): string | undefined {
    const cwd = this.#found.command.cwds?.[0];
    if (!word.startsWith("/") && cwd === undefined) return undefined;
    const path = word.startsWith("/") ? word : `${cwd}/${word}`;
    const real = baseName(this.#environment.realPath(path) ?? word);
    return real === baseName(word) ? undefined : real;
  }
}

function mentioned(argv: readonly string[], { mentions }: Program): number[] {
  if (mentions === undefined) return [];
  const plain = argv.flatMap((word, i) => i > 0 && !word.startsWith("-") ? [i] : []);
  return mentions === "first" ? plain.slice(0, 2) : plain.slice(1);
}

function optionCode({ name, args }: Call, row: Program): Found | undefined {
  const long = row.codeLong?.split(" ") ?? [];
  const code = row.interprets === undefined ? row.code : undefined;
  const end = args.indexOf("--");
  const word = (end < 0 ? args : args.slice(0, end)).find((each) =>
    isLong(each, long) || code?.test(each) || (code && !isKnown(each) && !/^[\w./]/.test(each))
  );
  if (word === undefined) return undefined;
  const shown = isKnown(word) ? word.split("\n", 1)[0]?.slice(0, 20) : "…";
  return { dynamic: `${name} is handed code or a command (${shown})` };
}

/** Reports whether the program's table proves that with these words it only reads and prints. */
function onlyReads({ args }: Call, row: Program): boolean {
  if (args.length === 1 && row.prints?.split(" ").includes(args[0] ?? "")) return true;
  if (row.reads || !limitsReading(row)) return row.reads === true;
  const { options, needs, most = Infinity, operands: allowed, words, first } = row;
  const [word = ""] = args;
  if (first && !(isKnown(word) && first.test(word))) return false;
  if (words) return args.every((each) => isKnown(each) && words.test(each));
  if (options === undefined) return true;
  const parsed = getopt(args, options);
  // A pattern may become several names.
  const count = parsed.operands.reduce((sum, each) => sum + (isKnown(each) ? 1 : 2), 0);
  return parsed.unknown === undefined && count <= most &&
    (needs === undefined || parsed.options.some(({ name }) => needs.test(name))) &&
    (allowed === undefined || parsed.operands.every((each) => isKnown(each) && allowed.test(each)));
}

type FileUses = Pick<Effects, "reads" | "writes">;

/** Options that give the pattern or the program, so that every plain word is a file. */
const PATTERN = /^(?:-[A-Za-z]*[ef]|--(?:regexp|file|expression))/;
const EVERYTHING_BELOW = /^(?:-[A-Za-z]*[rRa][A-Za-z]*|--recursive|--archive)$/;

/**
 * Returns the files that a program names in its words, as far as its row reports; used to refuse, never to
 * allow.
 */
function fileUses({ args }: Call, row: Program): FileUses {
  const deep = row.deep || args.some((word) => EVERYTHING_BELOW.test(word)) ? { deep: true } as const : {};
  const words = operands(args);
  const uses = (paths: readonly string[]): FileUse[] => paths.map((path) => ({ path, ...deep }));
  const written = row.outputs ? outputs(args, row.outputs.split(" ")).map((path) => ({ path })) : [];
  switch (row.files) {
    case "reads":
      return { reads: uses(words), writes: written };
    case "searches":
      return {
        reads: uses(args.some((word) => PATTERN.test(word)) ? words : words.slice(1)),
        writes: written,
      };
    case "writes":
      return { reads: [], writes: uses(words) };
    case "writes rest":
      return { reads: [], writes: uses(words.slice(1)) };
    case "copies":
    case "moves":
      return copies(args, { words, moves: row.files === "moves", uses });
    default:
      return { reads: [], writes: written };
  }
}

function outputs(args: readonly string[], names: readonly string[]): string[] {
  return args.flatMap((word, i) =>
    names.flatMap((name) => {
      if (word === name) return [args[i + 1] ?? ANY];
      const head = name.startsWith("--") ? `${name}=` : name;
      return word.startsWith(head) && !word.startsWith(`${head}-`) ? [word.slice(head.length)] : [];
    })
  );
}

function copies(
  args: readonly string[],
  { words, moves, uses }: {
    words: readonly string[];
    moves: boolean;
    uses: (paths: readonly string[]) => FileUse[];
  },
): FileUses {
  const [target] = outputs(args, ["-t", "--target-directory"]);
  const named = target === undefined ? words.slice(0, -1) : words.filter((word) => word !== target);
  const sources = uses(named);
  const last = target ?? words.at(-1);
  // Into a directory, a file keeps its name; `from/.` and, for some, `from/` give what is in them.
  const inside = uses(named.map((path) => `${last}/${path.slice(path.lastIndexOf("/") + 1)}`));
  const whole = args.some((word) => /^(?:-[A-Za-z]*T[A-Za-z]*|--no-target-directory)$/.test(word));
  return {
    reads: moves ? sources.map((use) => ({ ...use, moved: true })) : sources,
    writes: [
      ...moves ? sources : [],
      ...last === undefined ? [] : [...whole ? uses([last]) : [{ path: last }], ...inside],
    ],
  };
}

/** Nothing is deleted with one of these, and `help` in front. */
const HARMLESS = /^--(?:help|version|dry-run(?:=(?!none$|false$).*)?)$/;

/** Returns what a client of a service deletes there, by its table. It takes an open network to happen. */
function remoteDeletion({ name, args, input }: Call, row: Program): Destruction[] {
  if (args[0] === "help" || args.some((word) => HARMLESS.test(word))) return [];
  const found = deletingWord(args, row) ?? deletingOption(args, row) ??
    (row.text ? [args.join(" "), inputText(input) ?? ""].map((text) => row.text?.exec(text)?.[0]) : [])
      .find((text) => text !== undefined);
  return found === undefined ? [] : [{ action: ["deletesRemote", name, found.trim()], elsewhere: true }];
}

/** A subcommand among the first plain words, whether or not the options in front of it take a word each. */
function deletingWord(args: readonly string[], { deletes = "", depth = 1 }: Program): string | undefined {
  const plain = args.filter((word) => !word.startsWith("-"));
  const valued = args.filter((word, i) => !word.startsWith("-") && !/^-[^=]*$/.test(args[i - 1] ?? ""));
  const [first] = valued;
  if (deletes !== "" && first !== undefined && !isKnown(first)) return "…";
  const wanted = deletes.split(" ").map(toExpression);
  return [...valued.slice(0, depth), ...plain.slice(0, depth)].find((word) =>
    wanted.some((each) => each.test(word))
  );
}

function deletingOption(args: readonly string[], { deleting = "" }: Program): string | undefined {
  const wanted = deleting.split(" ").map(toExpression);
  const joined = args.flatMap((word, i) => {
    const short = /^-[A-Za-z]([A-Za-z].*)$/.exec(word)?.[1];
    return [word, `${word}=${args[i + 1] ?? ""}`, ...(short ? [`${word.slice(0, 2)}=${short}`] : [])];
  });
  return joined.find((word) => word.startsWith("-") && wanted.some((each) => each.test(word)));
}

function toExpression(pattern: string): RegExp {
  return pattern === ""
    ? /(?!)/
    : new RegExp(`^${pattern.replace(/[.+?^$()|[\]{}\\]/g, "\\$&").replaceAll("*", ".*")}$`, "i");
}

const MAX_NESTED_CODE = 12;
const MAX_COMMANDS = 2000;

/** Takes a line apart in three passes, nested code included, or throws {@linkcode Unparsable}. */
export function readLine(source: string, environment: Environment): Line {
  const reader = new LineReader(environment);
  reader.read(source, { cwds: [environment.cwd], input: INHERITED, functions: new Set() }, 0);
  const { found, forkBomb, affectsLookup } = reader;
  const dynamic = reader.dynamic ?? runsOwnFile(found, environment, affectsLookup);
  return { commands: distinct(found), dynamic, forkBomb };
}

class LineReader {
  readonly found: Effects[] = [];
  forkBomb = false;
  affectsLookup = false;
  dynamic: string | undefined;
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  read(source: string, start: Start, depth: number): void {
    if (depth > MAX_NESTED_CODE) throw new Unparsable("it is nested too deeply");
    const script = parseScript(source);
    const expansion = expand(script, this.#environment, start);
    this.dynamic ??= script.dynamic;
    this.forkBomb ||= expansion.forkBomb;
    this.affectsLookup ||= expansion.affectsLookup;
    const outer = [...start.written ?? [], ...script.writes.keys()];
    const written = new Set(outer);
    // The one `eval` of a script may write what it likes, but not before it begins.
    const alone = script.writes.get("*") === 1 && !start.written?.has("*");
    const inside = alone ? new Set(outer.filter((name) => name !== "*")) : written;
    for (const command of expansion.commands) this.#follow(command, { written, inside }, depth);
  }

  /** Adds a command and what it hands on: words of another command, or code for a shell. */
  #follow(
    command: SimpleCommand,
    script: { readonly written: ReadonlySet<string>; readonly inside: ReadonlySet<string> },
    depth: number,
  ): void {
    if (this.found.length > MAX_COMMANDS) throw new Unparsable("it has too many commands");
    if (depth > MAX_NESTED_CODE * 4) throw new Unparsable("it is nested too deeply");
    const result = new CommandReader(command, this.#environment).read();
    this.found.push(result);
    const { via, cwds } = result;
    for (const nested of result.nested) {
      if ("argv" in nested) {
        const { argv, supply = command.supply } = nested;
        const inner = {
          ...command,
          argv,
          supply,
          via,
          cwds,
          assigns: [],
          reads: [],
          writes: [],
          functions: NONE,
        };
        this.#follow(inner, script, depth + 1);
      } else {
        const written = nested.inside ? script.inside : script.written;
        const functions = nested.inside ? command.functions : NONE;
        this.read(nested.code, { cwds, input: command.input, functions, written }, depth + 1);
      }
    }
  }
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Each different command once: the rounds of a loop are mostly the same ones, and judging is what takes
 * time.
 */
function distinct(commands: readonly Effects[]): readonly Effects[] {
  if (new Set(commands.map(({ command }) => command.text)).size === commands.length) return commands;
  const seen = new Set<string>();
  return commands.filter((each) => {
    const { size } = seen;
    return seen.add(keyOf(each)).size > size;
  });
}

function keyOf({ command, runs, via, reads, writes, cwds, dynamic, guarded, risk }: Effects): string {
  const { text, input, supply } = command;
  const from = input.kind === "pipe" ? input.from.map((each) => each.text) : input;
  return JSON.stringify([text, runs, via, reads, writes, cwds, from, supply, dynamic, guarded, risk]);
}

/**
 * In-place editors change what is there; what they bring in is not looked at, as with a script of an
 * earlier call.
 */
const IN_PLACE = /^(?:sed|gsed|patch|truncate)$/;
/** These bring nothing into a file that is there. */
const CONTENTLESS = /^(?:touch|mkdir|rm|rmdir|chmod|chown|chgrp|flock)$/;

/** Says why a line that writes a file may run what it wrote, if so. */
function runsOwnFile(
  commands: readonly Effects[],
  { home, env }: Environment,
  affectsLookup: boolean,
): string | undefined {
  const absolutePaths = (path: string, cwds: readonly string[] | undefined) =>
    isKnown(path) && cwds ? cwds.map((cwd) => normalize(absolutePath(path, { cwd, home }))) : [ANY + path];
  const written = new Set<string>();
  /** Files that may have new content, with the commands that write them. */
  const created = new Map<string, Set<Effects>>();
  const unpacked: string[] = [];
  for (const each of commands) {
    const argv = program(each);
    const name = baseName(argv[0] ?? "");
    unpacked.push(...unpackDirectories(argv, name).flatMap((path) => absolutePaths(path, each.cwds)));
    for (const { path, redirect } of each.writes) {
      if (path.startsWith("/dev/") || (!redirect && (path === ANY || CONTENTLESS.test(name)))) continue;
      for (const file of absolutePaths(path, each.cwds)) {
        written.add(file);
        if (!redirect && (IN_PLACE.test(name) || each.code !== undefined)) continue;
        created.set(file, (created.get(file) ?? new Set()).add(each));
      }
    }
  }
  const anything = commands.some(({ code, writes }) => code !== undefined && writes.length > 0);
  if (!anything && written.size + unpacked.length === 0) return undefined;
  const isOwn = (path: string) =>
    written.has(path) || path.startsWith(ANY) || unpacked.some((directory) => contains(directory, path));
  const runsScript = commands.some(({ scripts, cwds }) =>
    scripts.some((script) => anything || absolutePaths(script, cwds).some(isOwn))
  );
  const directories = new Set((env.PATH ?? "").split(":").map((directory) => normalize(directory)));
  const lookup = affectsLookup ||
    commands.some(({ runs }) =>
      runs[0]?.argv.some((word) => affectsProgramLookup(word.split("=", 1)[0] ?? ""))
    );
  const isFound = (path: string) =>
    lookup || path.startsWith(ANY) || directories.has(path.slice(0, path.lastIndexOf("/")) || "/");
  const programs = new Set([...created.keys()].filter(isFound).map(baseName));
  const runsProgram = commands.some(({ runs }) => runs.some(({ argv }) => programs.has(argv[0] ?? "")));
  return runsScript || runsProgram || commands.some((each) => runsFileOfOthers(each, created))
    ? "it runs a file that it writes itself"
    : undefined;
}

/** Reports whether a program that runs files of a project may run one that another command writes. */
function runsFileOfOthers(effects: Effects, written: ReadonlyMap<string, ReadonlySet<Effects>>): boolean {
  return effects.runs.some(({ argv }) => {
    const files = programNamed(baseName(argv[0] ?? ""))?.autoexec;
    return files !== undefined &&
      [...written].some(([path, writers]) => files.test(path) && (writers.size > 1 || !writers.has(effects)));
  });
}
