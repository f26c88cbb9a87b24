/** Stages of one lane run one after the other, both lanes at the same time, and `alone` after them. */
type Lane = "main" | "program" | "alone";

/** One step of the test command. */
export interface Stage {
  readonly name: string;
  readonly lane: Lane;
  /** Says that tests of it start the bundle: it waits for the stage `build`. */
  readonly bundle?: boolean;
  /** Arguments of `deno`. */
  readonly command: readonly string[];
  /** Files and directories appended to the command; one that does not exist is a failure. */
  readonly paths: readonly string[];
  /** Says that the output ends with the summary of `deno test`; otherwise the exit code alone counts. */
  readonly tests: boolean;
  /** Says that the run counts towards line coverage. */
  readonly coverage: boolean;
  readonly limitSeconds: number;
  /** Number of test files that run as one, which loads once what they share; default: 1. */
  readonly together?: number;
  /** Variables of the environment in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

const SOURCES = ["mod.ts", "cli", "src", "page", "scripts", "tests", "demo", "plugins"];
const TEST = ["test", "-A", "--no-check"];

/** The bundle that the e2e tests start. */
export const TEST_BUNDLE = "dist/test/reasonix.js";

/** Long random tests: each run takes a sample of them, `deno task soak` their whole length. */
export const SOAK: readonly Stage[] = [
  soak("soak", [
    "tests/browser/reconnect_test.ts",
    "tests/conformance/edit/blanks_test.ts",
    "tests/conformance/permission/fuzz_test.ts",
    "tests/conformance/permission/reader_lines_test.ts",
    "tests/conformance/permission/touched_paths_test.ts",
    "tests/conformance/plugins/map_truth_test.ts",
    "tests/conformance/plugins/rag/kill_test.ts",
    "tests/conformance/provider/anthropic_test.ts",
    "tests/conformance/provider/google_test.ts",
    "tests/conformance/provider/project_entry_test.ts",
    "tests/conformance/review/corpus_test.ts",
    "tests/conformance/sandbox/jail_test.ts",
    "tests/conformance/turn/orders_test.ts",
    "tests/e2e/attack_clone_test.ts",
    "tests/e2e/attack_patch_test.ts",
    "tests/e2e/batch_kubernetes_test.ts",
    "tests/e2e/batch_test.ts",
    "tests/e2e/bundle_test.ts",
    "tests/e2e/chat_kill_test.ts",
    "tests/e2e/chat_modes_test.ts",
    "tests/e2e/chat_resize_test.ts",
    "tests/e2e/chat_test.ts",
    "tests/e2e/hostile_names_test.ts",
    "tests/e2e/install_test.ts",
    "tests/e2e/kill/kill_chains_test.ts",
    "tests/e2e/library_test.ts",
    "tests/e2e/npm_test.ts",
    "tests/e2e/plugin_bundles_test.ts",
    "tests/e2e/questions_test.ts",
    "tests/unit/batch/emit/engines_test.ts",
    "tests/unit/frontend/repl/attack/output_test.ts",
    "tests/unit/frontend/repl/full/conversation_test.ts",
    "tests/unit/frontend/repl/full/sizes_test.ts",
    "tests/unit/frontend/repl/overlay/chat_panels_test.ts",
    "tests/unit/frontend/repl/screen/full_screen_test.ts",
    "tests/unit/frontend/session/live_test.ts",
    "tests/unit/frontend/web/stream_test.ts",
    "tests/unit/git/hunks_test.ts",
    "tests/unit/mcp/server_lives_test.ts",
    "tests/unit/page/store_test.ts",
    "tests/unit/path/glob_test.ts",
    "tests/unit/rule/pattern_test.ts",
    "tests/unit/tool/shell/jobs_test.ts",
  ]),
];

/** Tests of packages without a limit of coverage, which makes tests a fifth slower. */
const UNMEASURED = [
  ...["batch", "cli", "command", "commit", "frontend", "git", "i18n", "page", "plugins", "reports"],
  ...["review", "view", "worktree"],
].map((name) => `tests/unit/${name}`);

/** In the order of CI: cheap gates first. Type errors are found once, by `check`. */
export const STAGES: readonly Stage[] = [
  gate("fmt", ["fmt", "--check"], []),
  gate("lint", ["lint", "--quiet"], []),
  gate("check", ["check", "--quiet"], SOURCES),
  { ...gate("build", ["run", "-A", "scripts/bundle.ts", TEST_BUNDLE, "--no-types"], []), lane: "program" },
  { ...tests("house", TEST, ["tests/house"]), lane: "program", together: 16 },
  {
    ...tests("unit", [...TEST, "--parallel", `--ignore=${UNMEASURED.join()}`], ["tests/unit"]),
    coverage: true,
    together: 8,
    env: jobs(3),
  },
  { ...tests("unit", [...TEST, "--parallel"], UNMEASURED), together: 8, env: jobs(3) },
  tests("doc", ["test", "-A", "--doc"], ["mod.ts"]),
  {
    ...tests("conformance", [...TEST, "--parallel"], ["tests/conformance"]),
    together: 4,
    limitSeconds: 1500,
    env: jobs(3),
    bundle: true,
  },
  // What these run is another process, of which coverage here knows nothing.
  {
    ...tests("e2e", [...TEST, "--parallel"], ["tests/e2e"]),
    lane: "program",
    together: 4,
    limitSeconds: 1500,
    env: jobs(5),
    bundle: true,
  },
  // Its tests wait for pages most of the time; next to others they would wait too long.
  {
    ...tests("browser", [...TEST, "--parallel"], ["tests/browser"]),
    lane: "alone",
    limitSeconds: 300,
    env: jobs(3),
    bundle: true,
  },
];

/** The report after the tests that count towards coverage. */
export const COVERAGE: Stage = gate("coverage", [], []);

/** Test files at once, more in both lanes than two cores run: tests of the program wait for processes. */
function jobs(count: number): Record<string, string> {
  return { DENO_JOBS: String(Math.max(count, navigator.hardwareConcurrency)) };
}

function gate(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, lane: "main", command, paths, tests: false, coverage: false, limitSeconds: 300 };
}

function tests(name: string, command: readonly string[], paths: readonly string[]): Stage {
  return { name, lane: "main", command, paths, tests: true, coverage: false, limitSeconds: 900 };
}

function soak(name: string, paths: readonly string[]): Stage {
  return { ...tests(name, TEST, paths), limitSeconds: 3600, env: { REASONIX_SOAK: "full" } };
}

/** Those of the paths where nothing is. */
export async function missingPaths(paths: readonly string[]): Promise<string[]> {
  const missing = await Promise.all(paths.map((path) => Deno.stat(path).then(() => [], () => [path])));
  return missing.flat();
}
