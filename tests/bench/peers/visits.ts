/** The chats of other agents, each in an empty home: how they start, show keys and rest. */
import { median } from "../figures.ts";
import { treeShare } from "../memory.ts";
import { type Row, row } from "../report.ts";
import { type Runner, wait } from "../runner.ts";
import { Pty } from "../chat/pty.ts";
import { screenTimes } from "../chat/screen_times.ts";
import { installedPeers, type Peer } from "./peers.ts";
import { removeTree } from "../../support/remove_tree.ts";

const RUNS = 3;
/** A screen unchanged for this time is complete; one that always changes is measured then. */
const QUIET_MS = 1500;
const MOST_MS = 20_000;
const LETTERS = "qzxwvkjpqzxw";
const KEY_MS = 97;

interface PeerVisit {
  readonly drawn: number;
  readonly key: number;
  readonly memory: number;
}

/** Starts each peer on a terminal, in an empty home. Reports peers that are left out to `log`. */
export async function peerVisitRows(runner: Runner, log: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const peer of await installedPeers(log)) {
    const visits: PeerVisit[] = [];
    for (let round = 0; round < RUNS; round++) visits.push(await visitPeer(runner, peer));
    const of = (figure: string, unit: string, value: (visit: PeerVisit) => number) =>
      row({ figure: `${figure} (floor: ${peer.name} ${peer.version})`, unit, floor: visits.map(value) });
    rows.push(
      of("screen drawn", "ms", ({ drawn }) => drawn),
      of("key to screen", "ms", ({ key }) => key),
      of("memory at rest (PSS)", "MB", ({ memory }) => memory),
    );
  }
  return rows;
}

async function visitPeer(runner: Runner, { command }: Peer): Promise<PeerVisit> {
  const home = await Deno.makeTempDir({ prefix: "bench-peer-" });
  try {
    await using pty = new Pty({
      command,
      args: [],
      cwd: runner.stage.workspace,
      env: { ...runner.environment(home), NO_COLOR: "" },
    });
    const drawn = await rest(pty);
    const memory = treeShare(pty.pid());
    const sent: number[] = [];
    for (const letter of LETTERS) {
      sent.push(pty.send(letter));
      await wait(KEY_MS);
    }
    await rest(pty);
    const prefixes = sent.map((_, index) => LETTERS.slice(0, index + 1));
    const shown = screenTimes(pty.chunks, prefixes);
    const key = median(sent.map((time, index) => (shown[index] ?? NaN) - time)) ?? NaN;
    return { drawn: drawn - pty.started, key, memory };
  } finally {
    await removeTree(home);
  }
}

/** Waits until nothing is printed any more; returns the time of what was printed last. */
async function rest(pty: Pty): Promise<number> {
  const end = performance.now() + MOST_MS;
  for (;;) {
    const last = pty.chunks.at(-1)?.time ?? performance.now();
    if (performance.now() > end || (pty.chunks.length > 0 && performance.now() - last > QUIET_MS)) {
      return last;
    }
    await wait(50);
  }
}
