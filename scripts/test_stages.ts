/** One step of the test command. */
export interface Stage {
  readonly name: string;
  /** Arguments of `deno`. */
  readonly command: readonly string[];
  /** Files and folders appended to the command; those that do not exist are left out. */
  readonly paths: readonly string[];
  /** Whether the output ends with the summary of `deno test`; otherwise the exit code alone counts. */
  readonly tests: boolean;
  /** Whether the run counts towards line coverage. */
  readonly coverage: boolean;
  readonly limitSeconds: number;
}

const SOURCES = ["mod.ts", "cli", "src", "plugins", "scripts", "tests", "demo"];
const TEST = ["test", "-A", "--no-check", "--permit-no-files"];

/** In the order of CI: cheap gates first. Type errors are found once, by `check`. */
export const STAGES: readonly Stage[] = [
  gate("fmt", ["fmt", "--check"], []),
  gate("lint", ["lint", "--quiet"], []),
  gate("check", ["check", "--quiet"], SOURCES),
  tests("house", TEST, ["tests/house"]),
  { ...tests("unit", [...TEST, "--parallel"], ["tests/unit", "plugins"]), coverage: true },
  tests("doc", ["test", "-A", "--doc", "--permit-no-files"], ["mod.ts"]),
  { ...tests("conformance", [...TEST, "--parallel"], ["tests/conformance"]), coverage: true },
  { ...tests("e2e", TEST, ["tests/e2e"]), coverage: true },
];

function gate(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, command, paths, tests: false, coverage: false, limitSeconds: 300 };
}

function tests(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, command, paths, tests: true, coverage: false, limitSeconds: 900 };
}

export async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map((path) => Deno.stat(path).then(() => [path], () => [])),
  );
  return found.flat();
}
