/** Line coverage by room, from the raw data of `deno test --coverage`. Alone: `deno task cov` prints the last run's table. */
import { run, say } from "./process.ts";
import { existing } from "./test_stages.ts";

/** Rooms that must not fall below their percentage. */
const REQUIRED: Readonly<Record<string, number>> = {
  core: 85,
  agent: 85,
  provider: 85,
  config: 85,
  session: 85,
};

export interface Lines {
  readonly hit: number;
  readonly found: number;
}

export interface CoverageReport {
  readonly table: string;
  readonly problems: readonly string[];
}

/** Lines per room of an LCOV file. A room is a folder of `src`, or a top folder such as `cli`. */
export function linesByRoom(lcov: string, root: string): Map<string, Lines> {
  const rooms = new Map<string, Lines>();
  let room: string | undefined;
  for (const line of lcov.split("\n")) {
    if (line.startsWith("SF:")) room = roomOf(line.slice(3), root);
    const field = /^(LF|LH):(\d+)/.exec(line);
    if (field === null || room === undefined) continue;
    const old = rooms.get(room) ?? { hit: 0, found: 0 };
    const count = Number(field[2]);
    rooms.set(
      room,
      field[1] === "LF" ? { ...old, found: old.found + count } : { ...old, hit: old.hit + count },
    );
  }
  return rooms;
}

function roomOf(file: string, root: string): string | undefined {
  if (!file.startsWith(root)) return undefined;
  const [top, second] = file.slice(root.length).replaceAll("\\", "/").replace(/^\/+/, "").split("/");
  return top === "src" ? second : top === "cli" || top === "plugins" ? top : undefined;
}

/** The table of all rooms and a line for each room that fell short. Rooms that are not there yet are not asked for. */
export async function coverageReport(rawDir: string): Promise<CoverageReport> {
  await dropTornFiles(rawDir);
  const done = await run(Deno.execPath(), { args: ["coverage", "--quiet", "--lcov", rawDir] });
  if (done.code !== 0) return { table: done.output, problems: [`Cannot compute coverage from ${rawDir}`] };
  const rooms = linesByRoom(done.output, Deno.cwd());
  const rows = [...rooms].sort(([a], [b]) => a < b ? -1 : 1).map(([room, lines]) =>
    `${room.padEnd(12)} ${percent(lines).toFixed(1).padStart(5)} %  ${lines.hit}/${lines.found} lines`
  );
  const problems: string[] = [];
  for (const [room, least] of Object.entries(REQUIRED)) {
    if ((await existing([`src/${room}`])).length === 0) continue;
    const reached = percent(rooms.get(room) ?? { hit: 0, found: 0 });
    if (reached < least) {
      problems.push(
        `Line coverage of src/${room} is ${reached.toFixed(1)} %; at least ${least} % is required`,
      );
    }
  }
  return { table: rows.join("\n"), problems };
}

/** Takes away what a killed child process left half written; `deno coverage` would refuse the whole folder for it. */
export async function dropTornFiles(rawDir: string): Promise<void> {
  if ((await existing([rawDir])).length === 0) return;
  for await (const entry of Deno.readDir(rawDir)) {
    const path = `${rawDir}/${entry.name}`;
    if (!entry.isFile || !entry.name.endsWith(".json")) continue;
    try {
      JSON.parse(await Deno.readTextFile(path));
    } catch {
      await Deno.remove(path);
    }
  }
}

function percent(lines: Lines): number {
  return lines.found === 0 ? 0 : (100 * lines.hit) / lines.found;
}

if (import.meta.main) {
  const report = await coverageReport(Deno.args[0] ?? "coverage/raw");
  say([report.table, ...report.problems].join("\n"));
}
