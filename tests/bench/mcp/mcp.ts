/** The rows of MCP servers: what good and bad ones cost a start, how they start together, and a call. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { McpServers } from "../../../src/mcp/mod.ts";
import { openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { firstRequest } from "../figures.ts";
import { type Row, row } from "../report.ts";
import type { Bench, Program, Runner } from "../runner.ts";

const SERVERS = 20;
/** Tools of each, where their start is measured and where a start next to them is. */
const MANY_TOOLS = 50;
const TOOLS = 10;
const START_RUNS = 11;
const TOGETHER_RUNS = 3;
const CALLS = 300;
/** Seconds that the servers take to start, of which the last is the slowest. */
const SLOWEST = 2;
/** Seconds that a first run waits. */
const WAIT_SECONDS = 5;

type Entry = ReturnType<typeof scripted>;

/** Servers that do not start, or badly. */
const BAD: readonly Entry[] = [
  scripted("dead", { diesOn: "start" }),
  scripted("dies_listing", { diesOn: "tools/list" }),
  scripted("silent", { era: "old", silentOn: ["initialize"] }),
  scripted("silent_probe", { era: "old", silentOn: ["server/discover"] }),
  scripted("slow", { startSeconds: 30 }),
  scripted("noisy", { noise: true }),
  scripted("loud", { stderrBytes: 1_000_000 }),
  scripted("bad", { tools: "bad schemas" }),
  scripted("parent", { child: true }),
  { name: "absent", command: "no-such-server-program" },
];

export async function mcpRows({ runner, program, quick }: Bench): Promise<Row[]> {
  const runs = quick ? 4 : START_RUNS;
  const starts = await startTimes(runner, [program, await knowing(runner, program, good(runner))], runs);
  const bad = await startTimes(runner, [program, await knowing(runner, program, BAD)], runs);
  const together = await togetherTimes(quick ? 1 : TOGETHER_RUNS);
  const calls = await callTimes(quick ? CALLS / 3 : CALLS);
  const ms = (figure: string, reasonix: readonly number[], floor: readonly number[], target: Target) =>
    row({ figure, unit: "ms", reasonix, floor, target });
  return [
    ms(
      `first request with ${SERVERS} servers of ${TOOLS} tools (floor: none)`,
      starts.withServers,
      starts.without,
      (none) => none + 5,
    ),
    ms(
      `first request with ${BAD.length} bad servers (floor: none)`,
      bad.withServers,
      bad.without,
      (none) => none + 20,
    ),
    ms(
      `${SERVERS} servers of ${MANY_TOOLS} tools started (floor: the slowest alone)`,
      together.all,
      together.slowest,
      (alone) => 1.2 * alone,
    ),
    ms("a call (floor: the SDK's client)", calls.ours, calls.bare, (bare) => bare + 1),
  ];
}

type Target = (floor: number) => number;

interface StartTimes {
  readonly withServers: number[];
  readonly without: number[];
}

function good({ stage: { workspace: cwd } }: Runner): Entry[] {
  return Array.from({ length: SERVERS }, (_, n) => scripted(`server_${n}`, { tools: TOOLS }, { cwd }));
}

/** The program in a home where a run with these servers has been before. */
async function knowing(runner: Runner, program: Program, entries: readonly Entry[]): Promise<Program> {
  const { root, workspace: cwd } = runner.stage;
  const home = `${root}/mcp_home_${entries.length}`;
  const there = entries.map((entry): Entry => ({ ...entry, cwd }));
  {
    await using mcp = await openMcp(there, { home });
    const late = new Promise((resolve) => setTimeout(resolve, WAIT_SECONDS * 1000));
    await Promise.race([mcp.servers.start(), late]);
    for (const server of mcp.servers.unknown()) await server.overdue(WAIT_SECONDS);
  }
  const toml = there.map((entry) =>
    `\n[[plugins]]\n${
      Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join("")
    }`
  ).join("");
  return {
    ...program,
    async prepare(directory, url) {
      await program.prepare(directory, url);
      await Deno.writeTextFile(`${directory}/.reasonix/config.toml`, toml, { append: true });
      await Deno.mkdir(`${directory}/.reasonix/cache/mcp`, { recursive: true });
      for (const { name } of Deno.readDirSync(`${home}/cache/mcp`)) {
        await Deno.copyFile(`${home}/cache/mcp/${name}`, `${directory}/.reasonix/cache/mcp/${name}`);
      }
    },
  };
}

/** Times to the first request of two programs in turns, without servers and with them. */
async function startTimes(
  runner: Runner,
  [without, withServers]: readonly [Program, Program],
  runs: number,
): Promise<StartTimes> {
  const times: StartTimes = { withServers: [], without: [] };
  for (let round = -1; round < runs; round++) {
    for (const [name, each] of [["withServers", withServers], ["without", without]] as const) {
      const first = firstRequest(await runner.run(each, { model: { script: "hello" } }));
      if (round >= 0 && first !== undefined) times[name].push(first);
    }
  }
  return times;
}

/** Milliseconds until all servers are ready, and until the slowest alone is. */
async function togetherTimes(runs: number) {
  const seconds = (n: number) => SLOWEST * (n + 1) / SERVERS;
  const entries = Array.from(
    { length: SERVERS },
    (_, n) => scripted(`server_${n}`, { tools: MANY_TOOLS, startSeconds: seconds(n) }),
  );
  const times = { all: [] as number[], slowest: [] as number[] };
  for (let run = 0; run < runs; run++) {
    times.all.push(await startTime(entries));
    times.slowest.push(await startTime(entries.slice(-1)));
  }
  return times;
}

async function startTime(entries: Parameters<typeof openMcp>[0]): Promise<number> {
  await using mcp = await openMcp(entries);
  const begun = performance.now();
  await mcp.servers.start();
  const took = performance.now() - begun;
  mustBeReady(mcp.servers);
  return took;
}

function mustBeReady(servers: McpServers): void {
  const bad = servers.status.find(({ state }) => state !== "ready");
  if (bad) throw new Error(`${bad.name}: ${bad.state} ${bad.detail ?? ""}`);
}

/** Milliseconds of single calls, in turns with the SDK's own client. */
async function callTimes(calls: number) {
  await using mcp = await openMcp([scripted("s")]);
  await mcp.servers.start();
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport(scriptedServer()));
  const times = { ours: [] as number[], bare: [] as number[] };
  const args = { text: "hello" };
  for (let call = -20; call < calls; call++) {
    const begun = performance.now();
    await mcp.call("mcp__s__echo", args);
    const between = performance.now();
    await client.callTool({ name: "echo", arguments: args });
    const ended = performance.now();
    if (call < 0) continue;
    times.ours.push(between - begun);
    times.bare.push(ended - between);
  }
  await client.close();
  return times;
}
