import { contains } from "../../../path/contains.ts";
import { absolutePath, baseName, normalize } from "../../../path/lexical.ts";
import { ANY, isKnown } from "../../../rule/mod.ts";
import { programNamed } from "../programs.ts";
import { unpackDirectories } from "../programs/archives.ts";
import { type Effects, type Environment, program } from "../types.ts";
import { affectsProgramLookup } from "../variables.ts";

/**
 * In-place editors change what is there; what they bring in is not looked at, as with a script of an
 * earlier call.
 */
const IN_PLACE = /^(?:sed|gsed|patch|truncate)$/;
/** These bring nothing into a file that is there. */
const CONTENTLESS = /^(?:touch|mkdir|rm|rmdir|chmod|chown|chgrp|flock)$/;

const REASON = "it runs a file that it writes itself";

/** Says why a line that writes a file may run what it wrote, if so. */
export function runsOwnFile(
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
        if ((!redirect && IN_PLACE.test(name)) || each.code !== undefined) continue;
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
