/**
 * The rows of the plugins that come with the program. Those of one plugin are in `scenarios/plugins_NAME.ts`,
 * with a line in {@linkcode OWN}.
 */
import { stringify } from "smol-toml";
import { PLUGINS } from "../../plugins/plugins.ts";
import { TokenCounter } from "../../src/context/tokens.ts";
import { canonicalListing } from "../../src/mcp/listing.ts";
import { mustRun } from "../../scripts/process.ts";
import { openPlugin, pluginCommandLine } from "../support/plugin_client.ts";
import { firstRequest } from "./figures.ts";
import { residentSize } from "./memory.ts";
import { type Row, row } from "./report.ts";
import type { Bench, Program } from "./runner.ts";
import { mapRows } from "./scenarios/plugins_map.ts";
import { ragRows } from "./scenarios/plugins_rag.ts";
import { webRows } from "./scenarios/plugins_web.ts";
import { removeTree } from "../support/remove_tree.ts";

/** A place where plugins start from the built file. */
interface PluginBench extends Bench {
  /** Path of reasonix.plugins.js. */
  readonly file: string;
  /** An empty directory. */
  readonly scratch: string;
}

/** Rows of single plugins, by name. */
const OWN: readonly ((bench: PluginBench) => Promise<Row[]>)[] = [mapRows, ragRows, webRows];

const STARTS = 11;
const RUNS = 15;
/** The share of a bare server's time that a plugin may take, and its memory in MB. */
const TIMES_BARE = 1.15;
const MOST_MB = 48;
const MORE_MS = 5;
const MOST_TOKENS = 1_200;
/** As often a figure that does not vary counts as measured. */
const LEAST = 5;
/** The plugins that a user sets up. */
const NAMES = PLUGINS.map(({ name }) => name).filter((name) => name !== "example");
/** Settings with which each offers all of its tools. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  rag: { indexes: { docs: { path: "docs" } } },
  web: { search: "searxng", searxng_url: "http://127.0.0.1:1" },
};

export async function pluginRows(bench: Bench): Promise<Row[]> {
  const program = bench.program.plain?.([]).find((word) => word.endsWith("/reasonix.js"));
  if (program === undefined) {
    bench.log("The plugins are left out: the program is no bundle");
    return [];
  }
  const file = program.replace(/[^/]*$/, "reasonix.plugins.js");
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-bench-plugins-" });
  try {
    const inside: PluginBench = { ...bench, file, scratch };
    const rows = [...await startRows(inside), await runRow(inside), await tokenRow(inside)];
    for (const rowsOf of OWN) rows.push(...await rowsOf(inside));
    return rows;
  } finally {
    await removeTree(scratch);
  }
}

interface Start {
  readonly ms: number;
  readonly mb: number;
}

/** From the start of a process to its list of tools, in turns with a server of nothing but the SDK. */
async function startRows({ file, scratch, quick }: PluginBench): Promise<Row[]> {
  const bare = await bareServer(scratch);
  const names = [...NAMES, "example"];
  const found = new Map<string, Start[]>(["bare", ...names].map((name) => [name, []]));
  for (let round = -1; round < (quick ? STARTS / 2 : STARTS); round++) {
    for (const [name, starts] of found) {
      const line = name === "bare"
        ? bare
        : await pluginCommandLine(name, { file, workspace: scratch, home: `${scratch}/home` });
      const start = await startOf(line);
      if (round >= 0) starts.push(start);
    }
  }
  const of = (name: string, key: keyof Start) => (found.get(name) ?? []).map((start) => start[key]);
  return names.flatMap((name) => [
    row({
      figure: `${name}: process start → tools/list (floor: a server with the SDK alone)`,
      unit: "ms",
      reasonix: of(name, "ms"),
      floor: of("bare", "ms"),
      target: (floor) => TIMES_BARE * floor,
    }),
    row({
      figure: `${name}: resident memory after tools/list`,
      unit: "MB",
      reasonix: of(name, "mb"),
      floor: of("bare", "mb"),
      target: MOST_MB,
    }),
  ]);
}

type CommandLine = Awaited<ReturnType<typeof pluginCommandLine>>;

/** The floor: one file, started as plugins are. */
async function bareServer(scratch: string): Promise<CommandLine> {
  const [root, entry] = ["../../", "./floors/sdk_server.ts"].map((path) =>
    new URL(path, import.meta.url).pathname
  );
  const output = `${scratch}/bare.js`;
  const flags = ["--quiet", "--platform=deno", "--minify", "--config", `${root}deno.json`];
  await mustRun(Deno.execPath(), { args: ["bundle", ...flags, "-o", output, entry ?? ""] });
  const still = ["--quiet", "--no-prompt", "--no-lock", "--no-remote", "--no-config", "--no-npm"];
  const args = ["run", ...still, "--v8-flags=--max-semi-space-size=1", output];
  return { command: Deno.execPath(), args, env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" } };
}

/** Starts a server, asks for its tools without a client's library, and ends it. */
async function startOf({ command, args, env }: CommandLine): Promise<Start> {
  const streams = { stdin: "piped", stdout: "piped", stderr: "null" } as const;
  const begun = performance.now();
  const child = new Deno.Command(command, { args: [...args], env, clearEnv: true, ...streams }).spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    await writer.write(new TextEncoder().encode(REQUESTS));
    for (let seen = ""; !/"id":2\b/.test(seen);) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`A server ended before it listed its tools: ${args.join(" ")}`);
      seen += value;
    }
    return { ms: performance.now() - begun, mb: residentSize(child.pid) };
  } finally {
    await writer.close();
    await reader.cancel();
    await child.status;
  }
}

const REQUESTS = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/list" },
].map((request) => `${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`).join("");

/** A run in which all plugins are set up and known from before, in turns with one that has none. */
async function runRow({ runner, program, scratch, quick }: PluginBench): Promise<Row> {
  const plugins = NAMES.map((name) => ({
    name,
    command: "reasonix",
    args: ["plugin", name],
    settings: SETTINGS[name] ?? {},
  }));
  const entries = `\n${stringify({ plugins })}`;
  const home = `${scratch}/knowing`;
  await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  await Deno.writeTextFile(`${home}/.reasonix/config.toml`, entries);
  await mustRun(program.command, {
    args: [...program.plain?.(["mcp", "tools"]) ?? []],
    cwd: runner.stage.workspace,
    env: runner.environment(home),
  });
  const withPlugins: Program = {
    ...program,
    async prepare(directory, url) {
      await program.prepare(directory, url);
      await Deno.writeTextFile(`${directory}/.reasonix/config.toml`, entries, { append: true });
      const [from, to] = [home, directory].map((each) => `${each}/.reasonix/cache/mcp`);
      await Deno.mkdir(to ?? "", { recursive: true });
      for (const { name } of Deno.readDirSync(from ?? "")) {
        await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
      }
    },
  };
  const times = { all: [] as number[], none: [] as number[] };
  for (let round = -1; round < (quick ? RUNS / 3 : RUNS); round++) {
    for (const [name, each] of [["none", program], ["all", withPlugins]] as const) {
      const first = firstRequest(await runner.run(each, { model: { script: "hello" } }));
      if (round >= 0 && first !== undefined) times[name].push(first);
    }
  }
  return row({
    figure: `first request with ${NAMES.length} plugins that are known (floor: none)`,
    unit: "ms",
    reasonix: times.all,
    floor: times.none,
    target: (none) => none + MORE_MS,
  });
}

/** The tools of all plugins, as `reasonix context` counts them. */
async function tokenRow({ file, scratch }: PluginBench): Promise<Row> {
  let sum = 0;
  for (const name of NAMES) {
    const settings = SETTINGS[name] ?? {};
    await using plugin = await openPlugin(name, {
      file,
      workspace: scratch,
      home: `${scratch}/home`,
      settings,
    });
    const { tools } = await plugin.client.listTools();
    const none = { prompts: [], resources: [], templates: [] };
    const offered = canonicalListing({ tools, ...none }).tools.map((tool) => ({
      name: `mcp__${name}__${tool.name}`,
      description: tool.description,
      parameters: tool.schema,
    }));
    sum += new TokenCounter().tools({ system: "", tools: offered });
  }
  const figure = "the tools of all plugins";
  return row({ figure, unit: "tokens", reasonix: Array(LEAST).fill(sum), target: MOST_TOKENS });
}
