/** The rows of editors: the start, a prompt, a fast model, many sessions and a long one. */
import { longLog } from "../../support/long_session.ts";
import { processorTime, treeShare } from "../memory.ts";
import { installedPeers, peerProgram } from "../peers/peers.ts";
import { onRuntime } from "../programs.ts";
import { type Row, row } from "../report.ts";
import { type Bench, type Program, wait } from "../runner.ts";
import { firstSession } from "../sessions.ts";
import { LineClient, resultOf } from "./line_client.ts";
import { removeTree } from "../../support/remove_tree.ts";

const START_RUNS = 11;
const RUNS = 5;
const PROMPTS = 7;
const FURTHER = 10;
/** Between two actions of a user. */
const PAUSE_MS = 400;
const SETTLE_MS = 1500;

const INITIALIZE = "initialize";
const NEW = "session/new";
const PROMPT = "session/prompt";
const CHUNK = '"agent_message_chunk"';

/** A program that serves an editor. */
interface Agent {
  readonly program: Program;
  readonly args: readonly string[];
}

/** Without Linux, which has the memory of processes, there are no rows. */
export async function acpRows(bench: Bench): Promise<Row[]> {
  const { program, quick, peers, log } = bench;
  if (Deno.build.os !== "linux" || program.plain === undefined) return [];
  const ours: Agent = { program, args: program.plain(["acp"]) };
  const peer = peers ? (await installedPeers(log)).find(({ name }) => name === "Go Reasonix") : undefined;
  const agents = [ours, ...peer ? [{ program: peerProgram(peer), args: ["acp"] }] : []];
  const named = peer ? ` (floor: ${peer.name} ${peer.version})` : "";
  const starts = await inTurns(quick ? 4 : START_RUNS, agents, (agent) => startTimes(bench, agent));
  const visits = await inTurns(quick ? 1 : 3, agents, (agent) => promptTimes(bench, agent));
  const shares = await inTurns(quick ? 2 : RUNS, agents, (agent) => memory(bench, agent));
  const streams = await repeat(quick ? 2 : RUNS, () => streamTimes(bench, ours));
  const loads = await repeat(quick ? 2 : RUNS, await loader(bench, ours));
  const compared = <T>(figure: string, unit: string, target: number, samples: readonly T[][], of: Of<T>) => {
    const [reasonix, floor] = samples.map((list) => list.flatMap(of));
    return row({ figure: figure + named, unit, target, reasonix, floor });
  };
  return [
    compared("start to initialize answered", "ms", 90, starts, ({ initialized }) => initialized),
    compared("session/new", "ms", 60, starts, ({ opened }) => opened),
    compared("first prompt to the request", "ms", 5, visits, ({ first }) => first),
    compared("a later prompt to the request", "ms", 5, visits, ({ later }) => later),
    compared("reply to the first text in the editor", "ms", 2, visits, ({ shown }) => shown),
    row({
      figure: "processor, 2,000 tokens/s (floor: --output-format jsonl)",
      unit: "ms",
      target: (jsonl) => 1.2 * jsonl,
      reasonix: streams.map(({ acp }) => acp),
      floor: streams.map(({ jsonl }) => jsonl),
    }),
    compared("memory at rest after a prompt (PSS)", "MB", 60, shares, ({ one }) => one),
    compared("memory of a further session at rest", "MB", 3, shares, ({ further }) => further),
    row({ figure: "load of 10,000 messages", unit: "ms", target: 1000, reasonix: loads }),
  ];
}

type Of<T> = (sample: T) => number | readonly number[];

async function repeat<T>(runs: number, work: () => Promise<T>): Promise<T[]> {
  const found: T[] = [];
  for (let run = 0; run < runs; run++) found.push(await work());
  return found;
}

/** Samples of each agent, in turns. An uncounted round before them fills the code cache. */
async function inTurns<T>(
  runs: number,
  agents: readonly Agent[],
  work: (agent: Agent) => Promise<T>,
): Promise<T[][]> {
  const samples = agents.map((): T[] => []);
  for (let round = -1; round < runs; round++) {
    for (const [at, agent] of agents.entries()) {
      const sample = await work(agent);
      if (round >= 0) samples[at]?.push(sample);
    }
  }
  return samples;
}

let number = 0;

/** A started agent. */
interface Served extends AsyncDisposable {
  readonly client: LineClient;
  /** The server's key for the requests of the agent. */
  readonly path: string;
  /** Milliseconds from the start until the first answer. */
  readonly initialized: number;
}

/** Starts an agent that has a model with this script; without `home` in a new one. */
async function serve(
  { runner }: Bench,
  { program, args }: Agent,
  { script, home: given, alone = false }: { script: string; home?: string; alone?: boolean },
): Promise<Served> {
  const { server, stage } = runner;
  const path = `${script}/acp_${++number}`;
  const home = given ?? `${stage.root}/home_acp_${number}`;
  await Deno.mkdir(home, { recursive: true });
  await program.prepare(home, `${server.url}/${path}/v1`);
  const { command } = alone ? onRuntime(program, await stage.runtime()) : program;
  const env = { ...runner.environment(home), ...program.task(server.url).env };
  const client = new LineClient({ command, args, cwd: stage.root, env });
  const capabilities = { fs: { readTextFile: false, writeTextFile: false } };
  const params = { protocolVersion: 1, clientCapabilities: capabilities };
  const { answer } = await client.request(INITIALIZE, params);
  return {
    client,
    path,
    initialized: answer.time - client.started,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      if (given === undefined) await removeTree(home);
    },
  };
}

async function open(
  client: LineClient,
  cwd: string,
): Promise<{ readonly id: string; readonly took: number }> {
  const { sent, answer } = await client.request(NEW, { cwd, mcpServers: [] });
  return { id: String(resultOf(answer).sessionId), took: answer.time - sent };
}

async function prompt(client: LineClient, sessionId: string) {
  const before = client.lines.length;
  const params = { sessionId, prompt: [{ type: "text", text: "Do the task." }] };
  const { sent, answer } = await client.request(PROMPT, params);
  const first = client.lines.slice(before).find(({ text }) => text.includes(CHUNK));
  if (first === undefined) throw new Error(`No text came: ${answer.text}`);
  return { sent, first, answer };
}

async function startTimes(bench: Bench, agent: Agent) {
  await using served = await serve(bench, agent, { script: "hello" });
  const { took } = await open(served.client, bench.runner.stage.workspace);
  return { initialized: served.initialized, opened: took };
}

/** Times of a first prompt and of later ones, in milliseconds. */
async function promptTimes(bench: Bench, agent: Agent) {
  const { server, stage: { workspace } } = bench.runner;
  await using served = await serve(bench, agent, { script: "hello" });
  const { client, path } = served;
  const { id } = await open(client, workspace);
  const prompts: Awaited<ReturnType<typeof prompt>>[] = [];
  for (let turn = 0; turn < PROMPTS; turn++) {
    await wait(PAUSE_MS);
    prompts.push(await prompt(client, id));
  }
  // Other agents make more requests than one for a prompt; the one that is answered is meant.
  const ahead = server.clock() - performance.now();
  const { exchanges } = await server.report(path);
  const waits = prompts.map(({ sent, first }) => {
    const found = exchanges.find(({ arrived }) => arrived >= sent + ahead);
    return {
      request: (found?.arrived ?? NaN) - ahead - sent,
      shown: first.time + ahead - (found?.replied ?? NaN),
    };
  });
  const [first, ...later] = waits;
  return {
    first: first?.request ?? NaN,
    later: later.map(({ request }) => request),
    shown: waits.map(({ shown }) => shown),
  };
}

/** Milliseconds of processor time for an answer of 2,000 tokens a second, from its first text on. */
async function streamTimes(bench: Bench, agent: Agent) {
  const { program } = agent;
  const args = program.plain?.(["run", "--output-format", "jsonl", "Do the task."]) ?? [];
  const { server, stage } = bench.runner;
  const home = `${stage.root}/home_jsonl_${++number}`;
  await Deno.mkdir(home);
  await program.prepare(home, `${server.url}/tokens/jsonl_${number}/v1`);
  const env = { ...bench.runner.environment(home), ...program.task(server.url).env };
  const jsonl = await (async () => {
    await using run = new LineClient({ command: program.command, args, cwd: stage.workspace, env });
    void run.end();
    return await usedBetween(run, '"message.delta"', '"type":"message.end"');
  })();
  await removeTree(home);
  await using served = await serve(bench, agent, { script: "tokens" });
  const { client } = served;
  const { id } = await open(client, stage.workspace);
  await wait(PAUSE_MS);
  const answered = prompt(client, id);
  const acp = await usedBetween(client, CHUNK, '"stopReason"');
  await answered;
  return { acp, jsonl };
}

/** Processor time of the program from a line with this text to the line that ends it. */
async function usedBetween(client: LineClient, first: string, last: string): Promise<number> {
  const used = () => processorTime(client.pid);
  const begin = await client.line((text) => text.includes(first), used);
  return await client.line((text) => text.includes(last), used) - begin;
}

/** Megabytes of all processes with one session at rest, and of each further one. */
async function memory(bench: Bench, agent: Agent) {
  const { stage } = bench.runner;
  await using served = await serve(bench, agent, { script: "hello", alone: true });
  const { client } = served;
  const use = async (directory: string) => {
    await Deno.mkdir(directory, { recursive: true });
    await prompt(client, (await open(client, directory)).id);
  };
  await use(stage.workspace);
  await wait(SETTLE_MS);
  const one = treeShare(client.pid);
  for (let at = 0; at < FURTHER; at++) await use(`${stage.root}/further_${at}`);
  await wait(SETTLE_MS);
  return { one, further: (treeShare(client.pid) - one) / FURTHER };
}

/** Measures a load of a session of 10,000 messages, until it is answered. */
async function loader(bench: Bench, agent: Agent): Promise<() => Promise<number>> {
  const { stage } = bench.runner;
  const home = `${stage.root}/home_acp_long`;
  const { id, path, text } = await firstSession(bench, home);
  await Deno.writeTextFile(`${home}/${path}`, longLog(text));
  return async () => {
    await using served = await serve(bench, agent, { script: "hello", home });
    const params = { sessionId: id, cwd: stage.workspace, mcpServers: [] };
    const { sent, answer } = await served.client.request("session/load", params);
    return answer.time - sent;
  };
}
