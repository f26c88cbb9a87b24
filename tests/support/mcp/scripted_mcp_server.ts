/**
 * A scripted MCP server over standard input and output, well-behaved or bad in one way or several:
 * `deno run -A scripted_mcp_server.ts '{"era": "old", "noise": true}'`.
 */
import { gone, isRunning } from "../processes.ts";
import type { Behaviour, Message, Noted } from "./behaviour.ts";
import { Session } from "./session.ts";

/** Returns the program and the arguments that start it. */
export function scriptedServer(
  behaviour: Behaviour = {},
): { readonly command: string; readonly args: string[] } {
  const file = new URL(import.meta.url).pathname;
  const args = [
    "run",
    "-A",
    "--quiet",
    "--no-check",
    "--no-config",
    "--no-lock",
    file,
    JSON.stringify(behaviour),
  ];
  return { command: Deno.execPath(), args };
}

/** All records of servers in this file. */
export async function readRecord(path: string): Promise<Noted[]> {
  const text = await Deno.readTextFile(path).catch(() => "");
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Waits until no process of a record runs; returns their number, or fails. */
export async function recordedEnd(path: string): Promise<number> {
  const noted = (await readRecord(path)).filter(({ what }) => what === "start" || what === "child");
  const left = await gone(() => noted.map(({ pid }) => pid).filter(isRunning), 30_000);
  if (left.length > 0) throw new Error(`Processes ${left} still run`);
  return noted.length;
}

const NOISE = [
  "Starting up…",
  "",
  "[1, 2",
  "[]",
  "null",
  '"text"',
  '{"hello": "world"}',
  '{"jsonrpc": "2.0", "id": 99999, "result": {}}',
  "\x1b[31mwarning\x1b[0m: 世界\r",
  "}{",
];

const encoder = new TextEncoder();

function write(to: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
}

function makeNoise(): void {
  write(Deno.stdout, encoder.encode(NOISE.join("\n") + "\n"));
  write(Deno.stdout, new Uint8Array([0xff, 0xfe, 0x00, 0x0a]));
}

async function* linesOfInput(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

async function main(behaviour: Behaviour): Promise<void> {
  const { record } = behaviour;
  const note = (noted: Omit<Noted, "pid">) => {
    if (record === undefined) return;
    Deno.writeTextFileSync(record, `${JSON.stringify({ ...noted, pid: Deno.pid })}\n`, { append: true });
  };
  note({ what: "start" });
  if (behaviour.child) startChild(record);
  if (behaviour.stubborn) {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      Deno.addSignalListener(signal, () => note({ what: "signal" }));
    }
  }
  if (behaviour.stderrBytes) {
    write(Deno.stderr, encoder.encode("complaint\n".repeat(behaviour.stderrBytes / 10)));
  }
  const die = () => Deno.exit(3);
  if (behaviour.diesOn === "start") die();
  await new Promise((resolve) => setTimeout(resolve, (behaviour.startSeconds ?? 0) * 1000));
  if (behaviour.noise) makeNoise();
  const send = (message: Message) => {
    if (behaviour.noise) makeNoise();
    write(Deno.stdout, encoder.encode(`${JSON.stringify(message)}\n`));
  };
  const session = new Session(behaviour, send, die);
  const asleep: Message[] = [];
  let isAsleep = fallsAsleep(behaviour.sleepyAt);
  for await (const line of linesOfInput()) {
    const message = JSON.parse(line) as Message;
    const { method, params } = message;
    note({
      what: "message",
      ...(method === undefined ? {} : { method }),
      ...(params === undefined ? {} : { params }),
    });
    asleep.push(message);
    isAsleep &&= asleep.length < 2;
    if (isAsleep) continue;
    for (const one of asleep.splice(0)) void session.receive(one, send);
  }
  note({ what: "end of input" });
  if (behaviour.stubborn) setInterval(() => {}, 60_000);
  else Deno.exit(0);
}

function fallsAsleep(file: string | undefined): boolean {
  if (file === undefined) return false;
  try {
    Deno.writeTextFileSync(file, "", { createNew: true });
    return true;
  } catch {
    return false;
  }
}

/** It inherits standard output: the one that reads to its end waits for the child too. */
function startChild(record: string | undefined): void {
  const child = new Deno.Command("sleep", { args: ["300"], stdin: "null", stdout: "inherit", stderr: "null" })
    .spawn();
  child.unref();
  if (record === undefined) return;
  Deno.writeTextFileSync(record, `${JSON.stringify({ what: "child", pid: child.pid })}\n`, { append: true });
}

if (import.meta.main) await main(JSON.parse(Deno.args[0] ?? "{}") as Behaviour);
