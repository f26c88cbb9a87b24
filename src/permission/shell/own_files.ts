import { absolutePath, baseName, normalize } from "../../path/lexical.ts";
import { ANY, isKnown } from "../../rule/mod.ts";
import { program, type Segment } from "./line.ts";
import type { Found } from "./scope.ts";
import { steers } from "./variables.ts";

/** Programs that run what stands in certain files of a project, and these files. */
const BUILDERS: readonly (readonly [programs: RegExp, files: RegExp])[] = [
  [/^(?:g?make|remake)$/, /(?:^|\/)(?:GNUm|m|M)akefile$|\.mk$/],
  [
    /^(?:npm|npx|pnpm|yarn|bun|bunx|jest|vitest|mocha|eslint|vite|webpack|tsx|ts-node|node)$/,
    /\.(?:[cm]?[jt]sx?|json)$|\/\.\w+rc$/,
  ],
  [/^deno$/, /\.(?:[cm]?[jt]sx?|jsonc?)$/],
  [/^(?:python[\d.]*|pypy[\d.]*|pytest|tox|nox|pip[\d.]*|uv|poetry)$/, /\.(?:py|pth|toml|cfg|ini)$/],
  [/^(?:cargo|rustc)$/, /\.(?:rs|toml)$/],
  [/^go$/, /\.go$/],
  [/^(?:perl[\d.]*|prove)$/, /\.(?:p[lm]|t)$/],
  [/^(?:ruby[\d.]*|rake|bundle|rspec)$/, /\.(?:rb|ru)$|(?:Rake|Gem)file$/],
  [/^(?:cmake|ctest|ninja)$/, /CMakeLists\.txt$|\.(?:cmake|ninja)$/],
  [/^(?:gradle|gradlew|mvn|mvnw|ant|sbt)$/, /\.(?:gradle|kts|xml|sbt|java|kt|scala)$/],
  [/^(?:just|task|mise|rake)$/, /(?:^|\/)\.?[Jj]ustfile$|Taskfile\.ya?ml$/],
  [/^git$/, /(?:^|\/)(?:\.gitconfig|\.gitmodules|config|hooks\/[^/]+)$/],
  [
    /^(?:vim|vi|nvim|ex|gdb|lldb|emacs|tmux|screen|less|man|psql|sqlite3|ssh)$/,
    /(?:^|\/)(?:\.[\w-]+|config|init\.\w+)$/,
  ],
  [/^(?:bash|zsh|sh|ksh|dash)$/, /(?:^|\/)\.\w*(?:rc|profile|env|login)$/],
];
/** In-place editors change what is there; what they bring in is not looked at, as with a script of an earlier call. */
const IN_PLACE = /^(?:sed|gsed|patch|truncate)$/;
/** These bring nothing into a file that is there. */
const CONTENTLESS = /^(?:touch|mkdir|rm|rmdir|chmod|chown|chgrp)$/;

const REASON = "it runs a file that it writes itself";

/** Why a line that writes a file may run what it wrote, if so. */
export function runsOwnFile(found: Found): string | undefined {
  const home = found.context.home;
  const places = (path: string, cwds: readonly string[] | undefined) =>
    isKnown(path) && cwds ? cwds.map((cwd) => normalize(absolutePath(path, { cwd, home }))) : [ANY + path];
  const written = new Set<string>();
  const fresh = new Map<string, Set<Segment>>();
  for (const segment of found.segments) {
    for (const use of segment.uses) {
      if (use.access !== "write" || use.path.startsWith("/dev/")) continue;
      const name = use.redirect ? "" : baseName(program(segment)[0] ?? "");
      if (CONTENTLESS.test(name)) continue;
      for (const place of places(use.path, segment.cwds)) {
        written.add(place);
        if (IN_PLACE.test(name)) continue;
        const writers = fresh.get(place);
        if (writers) writers.add(segment);
        else fresh.set(place, new Set([segment]));
      }
    }
  }
  const unpacked = found.segments.flatMap((segment) =>
    unpackFolders(program(segment)).flatMap((folder) => places(folder, segment.cwds))
  );
  if (written.size + unpacked.length === 0) return undefined;
  const own = found.runs.some((run) =>
    places(run.path, run.cwds).some((path) =>
      written.has(path) || path.startsWith(ANY) || unpacked.some((folder) => path.startsWith(`${folder}/`))
    )
  );
  return own || namedByPath(found, [...fresh.keys()]) || builds(found, fresh) ? REASON : undefined;
}

/** Where an archive is unpacked, with whatever is in it. */
function unpackFolders(argv: readonly string[]): string[] {
  const name = baseName(argv[0] ?? "");
  const tar = /^(?:bsd|g)?tar$/.test(name) &&
    argv.slice(1).some((word, i) =>
      /^(?:-[A-Za-z]*x|--(?:extract|get)$)/.test(word) || (i === 0 && /^[A-Za-z]*x/.test(word))
    );
  if (!tar && !/^(?:unzip|7z|7za|cpio|ar)$/.test(name)) return [];
  const at = argv.findIndex((word) => /^(?:-C|-d|--directory)$/.test(word));
  return [at < 0 ? "." : argv[at + 1] ?? "."];
}

/** Names of the programs that a command starts, wrappers included. */
function startedNames(segment: Segment): string[] {
  return segment.views.map((view) => view.argv[0] ?? "");
}

/** A file in a folder of PATH, or anywhere when PATH is changed, that has the name of a command. */
function namedByPath(found: Found, written: readonly string[]): boolean {
  const names = new Set(found.segments.flatMap(startedNames));
  const folders = new Set((found.context.env.PATH ?? "").split(":").map((path) => normalize(path)));
  const anywhere = found.steered || [...found.values.keys()].some(steers);
  return written.some((path) =>
    names.has(baseName(path)) &&
    (anywhere || path.startsWith(ANY) || folders.has(path.slice(0, path.lastIndexOf("/")) || "/"))
  );
}

/** Whether a program that runs files of a project may run one that another command of the line writes. */
function builds(found: Found, written: ReadonlyMap<string, ReadonlySet<Segment>>): boolean {
  return BUILDERS.some(([programs, files]) => {
    const writers = new Set([...written].flatMap(([path, by]) => files.test(path) ? [...by] : []));
    return writers.size > 0 && found.segments.some((segment) =>
      (writers.size > 1 || !writers.has(segment)) &&
      startedNames(segment).some((name) => programs.test(baseName(name)))
    );
  });
}
