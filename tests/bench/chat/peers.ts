/** The rows of other agents for the terminal, where they are installed in the version that is measured. */
import { run } from "../../../scripts/process.ts";
import { median } from "../figures.ts";
import { treeShare } from "../memory.ts";
import { type Row, row } from "../report.ts";
import type { Runner } from "../runner.ts";
import { Pty } from "./pty.ts";
import { screenTimes } from "./screen_times.ts";

interface Peer {
  readonly name: string;
  /** The command, looked up in `PATH`. */
  readonly command: string;
  /** The package of npm that has it, and its version: figures of another one would be compared with these. */
  readonly npm: string;
  readonly version: string;
}

const PEERS: readonly Peer[] = [
  { name: "pi", command: "pi", npm: "@earendil-works/pi-coding-agent", version: "0.74.2" },
  { name: "codex", command: "codex", npm: "@openai/codex", version: "0.169.0" },
  { name: "opencode", command: "opencode", npm: "opencode-ai", version: "1.18.33" },
  { name: "Go Reasonix", command: "reasonix", npm: "reasonix", version: "1.38.11" },
];

const RUNS = 3;
/** A screen on which nothing has changed for so long is drawn; one that never rests is measured then. */
const QUIET_MS = 1500;
const MOST_MS = 20_000;
const LETTERS = "qzxwvkjpqzxw";
const KEY_MS = 97;

interface PeerVisit {
  readonly drawn: number;
  readonly key: number;
  readonly memory: number;
}

/** Starts each peer on a terminal, in an empty home. `tell` hears of those that are left out. */
export async function peerRows(runner: Runner, tell: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const peer of PEERS) {
    const why = await missing(peer);
    if (why !== undefined) {
      tell(`${peer.name} is left out: ${why}; npm install --prefix DIR ${peer.npm}@${peer.version}`);
      continue;
    }
    const visits: PeerVisit[] = [];
    for (let round = 0; round < RUNS; round++) visits.push(await visitPeer(runner, peer));
    const of = (figure: string, unit: string, value: (visit: PeerVisit) => number) =>
      row({ figure: `${peer.name} ${peer.version}: ${figure}`, unit, others: { peer: visits.map(value) } });
    rows.push(
      of("screen drawn", "ms", ({ drawn }) => drawn),
      of("key to screen", "ms", ({ key }) => key),
      of("memory at rest (PSS)", "MB", ({ memory }) => memory),
    );
  }
  return rows;
}

async function missing({ command, version }: Peer): Promise<string | undefined> {
  const done = await run(command, { args: ["--version"] }).catch(() => undefined);
  if (done?.code !== 0) return `there is no command ${command}`;
  return done.output.includes(version) ? undefined : `${command} is another version`;
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
    await Deno.remove(home, { recursive: true });
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

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
