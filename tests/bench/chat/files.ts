/** Keys after `@` in a tree of 100,000 files, and the time until the wanted file is on the screen. */
import { run } from "../../../scripts/process.ts";
import { installedPeers } from "../peers/peers.ts";
import { type Row, row } from "../report.ts";
import { type Bench, type Runner, wait } from "../runner.ts";
import { Pty } from "./pty.ts";
import { screenTimes } from "./screen_times.ts";
import { removeTree } from "../../support/remove_tree.ts";

const DIRECTORIES = 1_000;
const FILES_EACH = 100;
const RUNS = 5;
const SETTLE_MS = 3_000;
/** Keys of a person; while the tree is listed, too. */
const KEY_MS = 97;
const MOST_MS = 15_000;
const MEANT = "@file_54321";
const SHOWN = "dir_543/file_54321.ts";

/** The data for visiting a program in the tree. */
interface Visited {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Found {
  /** The slowest key: from the key to the screen. */
  readonly key: number;
  /** From the `@` until the file is shown: the first one of the process, and a later one. */
  readonly first: number;
  readonly later: number;
}

export async function fileRows({ runner, program, quick, peers, log }: Bench): Promise<Row[]> {
  if (Deno.build.os !== "linux" || program.plain === undefined) return [];
  const cwd = await makeTree(`${runner.stage.root}/many`);
  const home = `${runner.stage.root}/home_files`;
  await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  await program.prepare(home, `${runner.server.url}/files/1/v1`);
  const own: Visited = {
    command: program.command,
    args: program.plain([]),
    cwd,
    env: runner.environment(home),
  };
  const found: Found[] = [];
  for (let round = -1; round < (quick ? 1 : RUNS); round++) {
    const one = await visit(own);
    if (round >= 0) found.push(one);
  }
  const rows = [
    row({ figure: KEY, unit: "ms", target: 50, reasonix: found.map(({ key }) => key) }),
    row({
      figure: `${FIRST} (floor: ripgrep --files alone)`,
      unit: "ms",
      reasonix: found.map(({ first }) => first),
      floor: await ripgrepTimes(cwd, quick ? 1 : RUNS),
    }),
    row({ figure: LATER, unit: "ms", reasonix: found.map(({ later }) => later) }),
  ];
  return peers ? [...rows, ...await peerRows(runner, cwd, log)] : rows;
}

const KEY = "@ in 100,000 files: the slowest key to the screen";
const FIRST = "@ in 100,000 files: the first @ until the file is shown";
const LATER = "@ in 100,000 files: a later @ until the file is shown, 10 keys included";

async function peerRows(runner: Runner, cwd: string, log: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, version, command, config: [path, text] } of await installedPeers(log)) {
    const home = await Deno.makeTempDir({ prefix: "bench-files-" });
    try {
      const file = `${home}/${path}`;
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(file, text(`${runner.server.url}/files/2/v1`));
      const found = await visit({
        command,
        args: [],
        cwd,
        env: { ...runner.environment(home), NO_COLOR: "" },
      });
      const suffix = ` (floor: ${name} ${version})`;
      rows.push(
        row({ figure: KEY + suffix, unit: "ms", floor: [found.key] }),
        row({ figure: FIRST + suffix, unit: "ms", floor: [found.first] }),
        row({ figure: LATER + suffix, unit: "ms", floor: [found.later] }),
      );
    } catch (error) {
      log(`${name} does not find the file: ${String(error).split("\n", 1)[0]}`);
    } finally {
      await removeTree(home);
    }
  }
  return rows;
}

/** Types the name twice: as soon as the chat rests, and again. */
async function visit(options: Visited): Promise<Found> {
  await using pty = new Pty(options);
  await wait(SETTLE_MS);
  const once = await typed(pty);
  // Leaves the menu, and the draft.
  for (const key of ["\x1b", "\x03"]) {
    pty.send(key);
    await wait(KEY_MS * 5);
  }
  const again = await typed(pty);
  return { key: Math.max(once.key, again.key), first: once.shown, later: again.shown };
}

async function typed(pty: Pty): Promise<{ readonly key: number; readonly shown: number }> {
  const before = pty.chunks.length;
  const sent: number[] = [];
  for (const letter of MEANT) {
    sent.push(pty.send(letter));
    await wait(KEY_MS);
  }
  const from = sent[0] ?? NaN;
  const end = performance.now() + MOST_MS;
  while (!pty.printed(from).includes(SHOWN) && performance.now() < end) await wait(10);
  await wait(KEY_MS * 5);
  const prefixes = sent.map((_, index) => MEANT.slice(0, index + 1));
  const times = screenTimes(pty.chunks.slice(before), prefixes);
  const [shown = NaN] = screenTimes(pty.chunks.slice(before), [SHOWN]);
  return { key: Math.max(...sent.map((time, index) => (times[index] ?? NaN) - time)), shown: shown - from };
}

async function makeTree(tree: string): Promise<string> {
  for (let directory = 0; directory < DIRECTORIES; directory++) {
    await Deno.mkdir(`${tree}/dir_${directory}`, { recursive: true });
    for (let file = 0; file < FILES_EACH; file++) {
      Deno.writeTextFileSync(`${tree}/dir_${directory}/file_${directory * FILES_EACH + file}.ts`, "");
    }
  }
  return tree;
}

async function ripgrepTimes(cwd: string, runs: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = -1; round < runs; round++) {
    const started = performance.now();
    const done = await run("rg", { args: ["--files", "--hidden"], cwd }).catch(() => undefined);
    if (done?.code !== 0) return [];
    if (round >= 0) times.push(performance.now() - started);
  }
  return times;
}
