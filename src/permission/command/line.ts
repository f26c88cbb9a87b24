import { contains } from "../../path/contains.ts";
import { absolutePath, baseName, normalize } from "../../path/lexical.ts";
import { ANY, isKnown } from "../../rule/mod.ts";
import { effects } from "./effects.ts";
import { expand, type Start } from "./expand.ts";
import { parseScript, Unparsable } from "./parse.ts";
import { programNamed } from "./programs.ts";
import { unpackDirectories } from "./programs/files.ts";
import {
  type Effects,
  type Environment,
  INHERITED,
  type Line,
  program,
  type SimpleCommand,
} from "./types.ts";
import { affectsProgramLookup } from "./variables.ts";

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
    const result = effects(command, this.#environment);
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
  const from = input.kind === "pipe"
    ? input.from.map((each) => each.text)
    : input.kind === "text"
    ? input.text
    : "";
  return JSON.stringify([
    text,
    runs,
    via,
    reads,
    writes,
    cwds,
    input.kind,
    from,
    supply,
    dynamic,
    guarded,
    risk,
  ]);
}

/**
 * In-place editors change what is there; what they bring in is not looked at, as with a script of an
 * earlier call.
 */
const IN_PLACE = /^(?:sed|gsed|patch|truncate)$/;
/** These bring nothing into a file that is there. */
const CONTENTLESS = /^(?:touch|mkdir|rm|rmdir|chmod|chown|chgrp|flock)$/;

const REASON = "it runs a file that it writes itself";

/** Says why a line that writes a file may run what it wrote, if so. */
function runsOwnFile(
  commands: readonly Effects[],
  environment: Environment,
  affectsLookup: boolean,
): string | undefined {
  const { home, env } = environment;
  const places = (path: string, cwds: readonly string[] | undefined) =>
    isKnown(path) && cwds ? cwds.map((cwd) => normalize(absolutePath(path, { cwd, home }))) : [ANY + path];
  const written = new Set<string>();
  const fresh = new Map<string, Set<Effects>>();
  const unpacked: string[] = [];
  for (const each of commands) {
    const argv = program(each);
    const name = baseName(argv[0] ?? "");
    unpacked.push(...unpackDirectories(argv, name).flatMap((folder) => places(folder, each.cwds)));
    for (const { path, redirect } of each.writes) {
      if (path.startsWith("/dev/") || (!redirect && (path === ANY || CONTENTLESS.test(name)))) continue;
      for (const place of places(path, each.cwds)) {
        written.add(place);
        if (!redirect && (IN_PLACE.test(name) || each.code !== undefined)) continue;
        fresh.set(place, (fresh.get(place) ?? new Set()).add(each));
      }
    }
  }
  const anything = commands.some(({ code, writes }) => code !== undefined && writes.length > 0);
  if (!anything && written.size + unpacked.length === 0) return undefined;
  const own = commands.some(({ scripts, cwds }) =>
    scripts.some((script) =>
      anything ||
      places(script, cwds).some((path) =>
        written.has(path) || path.startsWith(ANY) || unpacked.some((directory) => contains(directory, path))
      )
    )
  );
  const folders = new Set((env.PATH ?? "").split(":").map((folder) => normalize(folder)));
  const lookup = affectsLookup ||
    commands.some(({ runs }) =>
      runs[0]?.argv.some((word) => affectsProgramLookup(word.split("=", 1)[0] ?? ""))
    );
  const named = (path: string) =>
    lookup || path.startsWith(ANY) || folders.has(path.slice(0, path.lastIndexOf("/")) || "/");
  return own || namedLike(commands, [...fresh.keys()].filter(named)) || builds(commands, fresh)
    ? REASON
    : undefined;
}

/** Names of the programs that a command starts, wrappers included. */
function startedNames({ runs }: Effects): string[] {
  return runs.map(({ argv }) => argv[0] ?? "");
}

/** Reports whether one of these files has the name of a command. */
function namedLike(commands: readonly Effects[], written: readonly string[]): boolean {
  const names = new Set(commands.flatMap(startedNames));
  return written.some((path) => names.has(baseName(path)));
}

/**
 * Reports whether a program that runs files of a project may run one that another command of the line
 * writes.
 */
function builds(commands: readonly Effects[], written: ReadonlyMap<string, ReadonlySet<Effects>>): boolean {
  return commands.some((each) =>
    startedNames(each).some((name) => {
      const files = programNamed(baseName(name))?.obeys;
      return files !== undefined &&
        [...written].some(([path, writers]) => files.test(path) && (writers.size > 1 || !writers.has(each)));
    })
  );
}
