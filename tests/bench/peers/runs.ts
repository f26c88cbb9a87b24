/** One task for this program and other agents in turns. */
import { type Figure, firstRequest, type Sample, treeMemory, wall } from "../figures.ts";
import { type Row, row } from "../report.ts";
import type { Bench, RunPlan } from "../runner.ts";
import { installedPeers, type Peer, peerProgram } from "./peers.ts";

const RUNS = 5;

type Read = Pick<Figure, "name" | "unit" | "of">;

const TIMES: readonly Read[] = [
  { name: "process start → first request", unit: "ms", of: firstRequest },
  { name: "one question, whole run", unit: "ms", of: wall },
];
const MEMORY: readonly Read[] = [
  { name: "one question, memory of all processes", unit: "MB", of: treeMemory },
];
const HELLO: RunPlan = { model: { script: "hello" } };

/** No rows unless other agents are requested and installed. Every home is new. */
export async function peerRunRows(bench: Bench): Promise<Row[]> {
  if (!bench.peers) return [];
  const rows: Row[] = [];
  for (const peer of await installedPeers(bench.log)) {
    rows.push(
      ...await compare(bench, peer, {}, TIMES),
      ...await compare(bench, peer, { memory: true }, MEMORY),
    );
  }
  return rows;
}

/** Runs both in turns and computes figures from the runs. */
async function compare(
  { runner, program, quick }: Bench,
  peer: Peer,
  plan: Pick<RunPlan, "memory">,
  figures: readonly Read[],
): Promise<Row[]> {
  const model = { script: "hello", ...(peer.kind ? { kind: peer.kind } : {}) };
  const theirs: RunPlan = { ...plan, model, moreRequests: true };
  const samples = { ours: [] as Sample[], theirs: [] as Sample[] };
  for (let round = 0; round < (quick ? 2 : RUNS); round++) {
    samples.ours.push(await runner.run(program, { ...HELLO, ...plan }));
    samples.theirs.push(await runner.run(peerProgram(peer), theirs));
  }
  const read = (list: readonly Sample[], of: Read["of"]) =>
    list.map(of).filter((value) => value !== undefined);
  return figures.map(({ name, unit, of }) =>
    row({
      figure: `${name} (floor: ${peer.name} ${peer.version})`,
      unit,
      reasonix: read(samples.ours, of),
      floor: read(samples.theirs, of),
    })
  );
}
