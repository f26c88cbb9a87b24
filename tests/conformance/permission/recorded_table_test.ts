/** Runs the lines of the table and compares their effects with the decisions of the gate. */
import { readLine } from "../../../src/permission/command/effects.ts";
import { matchPattern } from "../../../src/rule/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { bash, scene } from "../../unit/permission/scene.ts";
import { jailed } from "../../unit/sandbox/jail/jail_support.ts";
import { type Expected, RULE_SETS, TABLE } from "./command_table.ts";
import { CHANGES, type Excuse, IMITATED, MILDER, NOTED, SECRET, SETUP, UNSEEN } from "./recorded_table.ts";
import { recordAll, type Recording, RecordingJail } from "./recording_jail.ts";
import { removeTree } from "../../support/remove_tree.ts";

type SetName = keyof typeof RULE_SETS;
const SETS = Object.keys(RULE_SETS) as SetName[];
const words = (plain: string): string[] => plain.split(" ");
const hasFlags = (args: readonly string[], ...flags: RegExp[]) =>
  flags.every((flag) => args.some((arg) => flag.test(arg)));
const isPush = ([name, ...args]: readonly string[]) =>
  name === "git" &&
  args.find((arg, i) => !arg.startsWith("-") && !/^-[cC]$/.test(args[i - 1] ?? "")) === "push";

/** Returns whether a line did what the rules of a set deny; independent of the gate. */
const REFUSED: Readonly<Record<SetName, (did: Recording) => boolean>> = {
  refuse: ({ started }) =>
    started.map(words).some(([name, ...args]) =>
      name === "curl" || isPush([name ?? "", ...args]) ||
      (name === "rm" && hasFlags(args, /^-\w*[rR]|^--recursive/, /^-\w*f|^--force/))
    ),
  permit: () => false,
  carve: ({ started }) => started.map(words).some((line) => line[0] === "rm" || isPush(line)),
  files: ({ changed, read, output }) =>
    changed.some((path) => /^ws\/secret(\/|$)|\.lock$|(^|\/)\.env$/.test(path)) ||
    read.some((path) => /(^|\/)\.env$/.test(path)) || output.includes(SECRET),
};

interface Stage {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly recorded: ReadonlyMap<string, Recording>;
}

async function onStage(set: SetName, work: (stage: Stage) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    const [seed, tree] = [`${root}/seed`, `${root}/tree`];
    await Deno.mkdir(seed);
    const build = new Deno.Command("bash", {
      args: ["-c", `${SETUP}\n${CHANGES[set]}\ncp -a "${seed}" "${tree}"`],
      cwd: seed,
      env: { PATH: "/usr/bin:/bin", HOME: `${seed}/home` },
      clearEnv: true,
    });
    const { success, stderr } = await build.output();
    assert(success, new TextDecoder().decode(stderr));
    const env = { PATH: "/tmp/bin:/usr/bin:/bin", HOME: `${tree}/home`, LC_ALL: "C" };
    const world = { seed, tree, start: "ws", noted: NOTED, imitated: IMITATED, env };
    const jail = await RecordingJail.create(world, `${root}/jail`);
    const recorded = await recordAll(jail, TABLE[set].map(([line]) => line));
    await work({ cwd: `${tree}/ws`, env, recorded });
  } finally {
    await removeTree(root);
  }
}

const shown = (line: string, did: Recording | undefined) =>
  `${JSON.stringify(line)} started [${did?.started.slice(0, 3).join("; ")}], changed [${
    did?.changed.join(" ")
  }]`;

/** The reason why a line has no visible effect; not for an installed program. */
function reasonOf(excuse: Excuse | undefined): string | undefined {
  if (typeof excuse !== "object") return excuse;
  return statOf(`/usr/bin/${excuse.needs}`) ? undefined : `${excuse.needs} is not installed`;
}

/** Rows whose effect differs from their expectation. */
function surprises(set: SetName, { recorded }: Stage): string[] {
  return TABLE[set].flatMap(([line, expected]) => {
    const did = recorded.get(line);
    const refused = did !== undefined && REFUSED[set](did);
    if (expected === "guard") return [];
    if (expected !== "deny") return refused ? [`not refused: ${shown(line, did)}`] : [];
    const excused = reasonOf(UNSEEN[set][line]) !== undefined;
    return refused || excused ? [] : [`refused for nothing: ${shown(line, did)}`];
  });
}

/** In a headless run, a guarded line is refused like a denied one. */
const STRICTNESS: Readonly<Record<Expected, number>> = { allow: 0, ask: 1, guard: 2, deny: 2 };

/** Rows with a weaker decision than a command they started, written plainly. */
async function milder(set: SetName, { cwd, env, recorded }: Stage): Promise<string[]> {
  const { gate } = scene(cwd, RULE_SETS[set], { env: () => env, saveRule: () => Promise.resolve() });
  const strict = async (line: string) => {
    const { decision, headless } = await gate.explain(bash(line));
    return STRICTNESS[decision !== "ask" ? decision : headless === "allow" ? "ask" : "guard"];
  };
  const wrong: string[] = [];
  for (const [line, expected] of TABLE[set]) {
    for (const plain of new Set(recorded.get(line)?.started)) {
      if (await strict(plain) > STRICTNESS[expected]) wrong.push(line);
    }
  }
  return wrong;
}

/** Starts and changes that are missing in a complete analysis of a line. */
function unforeseen({ cwd, env, recorded }: Stage): string[] {
  const isDirectory = (path: string) => statOf(path)?.isDirectory === true;
  const environment = { cwd, home: env.HOME ?? "", env, isDirectory, realPath: (path: string) => path };
  return [...recorded].flatMap(([line, did]) => {
    const read = readable(() => readLine(line, environment));
    const open = (each: NonNullable<typeof read>["commands"][number]) =>
      each.dynamic !== undefined || each.code !== undefined || each.scripts.length > 0 ||
      each.risk !== undefined;
    if (read === undefined || read.dynamic !== undefined || read.commands.some(open)) return [];
    const names = read.commands.flatMap(({ runs, via }) => [...runs.map(({ argv }) => argv[0] ?? ""), ...via])
      .map((name) => name.replace(/.*\//, ""));
    const starts = did.started.map((plain) => words(plain)[0] ?? "")
      .filter((name) => !names.some((known) => matchPattern(name, known) !== "no"));
    const changes = read.commands.every((each) => each.readOnly || each.noOp)
      ? did.changed.filter((path) => !/^ws\/\.git(\/|$)/.test(path))
      : [];
    return starts.length + changes.length > 0
      ? [shown(line, { ...did, started: starts, changed: changes })]
      : [];
  });
}

function readable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const statOf = (path: string) => readable(() => Deno.statSync(path));

for (const set of SETS) {
  Deno.test({
    ...jailed(`each line of the table does what it is judged for when the rules are "${set}"`),
    fn: (t) =>
      onStage(set, async (stage) => {
        assertEquals(stage.recorded.size, TABLE[set].length);
        assertEquals(surprises(set, stage), []);
        assertEquals(
          await milder(set, stage),
          TABLE[set].map(([line]) => line).filter((line) => line in MILDER),
        );
        assertEquals(unforeseen(stage), []);
        for (const [line, excuse] of Object.entries(UNSEEN[set])) {
          const reason = reasonOf(excuse);
          const did = stage.recorded.get(line);
          const name = reason === undefined ? "shows what it is refused for" : `shows nothing: ${reason}`;
          await t.step(`${JSON.stringify(line)} ${name}`, () => {
            assert(did !== undefined && REFUSED[set](did) === (reason === undefined), shown(line, did));
          });
        }
      }),
  });
}

Deno.test("the table has 319 lines, of which at most 15 are refused without a visible reason", () => {
  const count = (rows: readonly number[]) => rows.reduce((sum, each) => sum + each, 0);
  assertEquals(count(SETS.map((set) => TABLE[set].length)), 319);
  assertEquals(count(SETS.map((set) => Object.keys(UNSEEN[set]).length)), 15);
});

for (const [line, excuse] of SETS.flatMap((set) => Object.entries(UNSEEN[set]))) {
  if (typeof excuse !== "object" || reasonOf(excuse) === undefined) continue;
  const name = `the refused line ${JSON.stringify(line)} does what it is refused for`;
  Deno.test({ name: `${name} [skipped: ${reasonOf(excuse)}]`, ignore: true, fn: () => {} });
}
