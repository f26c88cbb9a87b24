/** One step of the test command. */
export interface Stage {
  readonly name: string;
  /** Arguments of `deno`. */
  readonly command: readonly string[];
  /** Files and directories appended to the command; one that does not exist is a failure. */
  readonly paths: readonly string[];
  /** Says that the output ends with the summary of `deno test`; otherwise the exit code alone counts. */
  readonly tests: boolean;
  /** Says that the run counts towards line coverage. */
  readonly coverage: boolean;
  readonly limitSeconds: number;
}

const SOURCES = ["mod.ts", "cli", "src", "scripts", "tests", "demo", "plugins"];
const TEST = ["test", "-A", "--no-check"];

/** In the order of CI: cheap gates first. Type errors are found once, by `check`. */
export const STAGES: readonly Stage[] = [
  gate("fmt", ["fmt", "--check"], []),
  gate("lint", ["lint", "--quiet"], []),
  gate("check", ["check", "--quiet"], SOURCES),
  tests("house", TEST, ["tests/house"]),
  { ...tests("unit", [...TEST, "--parallel"], ["tests/unit"]), coverage: true },
  tests("doc", ["test", "-A", "--doc"], ["mod.ts"]),
  {
    ...tests("conformance", [...TEST, "--parallel"], ["tests/conformance"]),
    coverage: true,
    limitSeconds: 1500,
  },
  // One after the other, since many of them look at times or processes of the whole machine.
  // What they run is another process, of which coverage here knows nothing.
  { ...tests("e2e", TEST, ["tests/e2e"]), limitSeconds: 2400 },
];

function gate(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, command, paths, tests: false, coverage: false, limitSeconds: 300 };
}

function tests(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, command, paths, tests: true, coverage: false, limitSeconds: 900 };
}

/** Those of the paths where nothing is. */
export async function missingPaths(paths: readonly string[]): Promise<string[]> {
  const missing = await Promise.all(paths.map((path) => Deno.stat(path).then(() => [], () => [path])));
  return missing.flat();
}
