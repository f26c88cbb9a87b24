import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { loadEvents } from "../../src/session/mod.ts";
import type { Event } from "../../src/core/mod.ts";
import { assert, assertEquals } from "../support/assert.ts";

const POINTS = 64;

let random = 20260407;
function below(n: number): number {
  random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
  return Math.floor(random / 2 ** 32 * n);
}

let ids = 0;
/**
 * What the model does next: mostly one or two calls of tools that read, write and run commands, now and then
 * an answer.
 */
function reply(): Turn {
  const id = () => `call-${++ids}`;
  const name = `f${below(3)}.txt`;
  const calls = [
    { id: id(), name: "bash", args: { command: `echo ${below(100)} >> ${name}` } },
    { id: id(), name: "read_file", args: { path: "seed.txt" } },
    { id: id(), name: "write_file", args: { path: `new/${ids}.txt`, content: `text ${ids}\n` } },
    { id: id(), name: "todo_write", args: { todos: [{ content: `todo ${ids}`, status: "pending" }] } },
    { id: id(), name: "bash", args: { command: "ls -l; sleep 0.01" } },
  ];
  const text = `step ${ids}: ${"déjà vu ".repeat(below(60))}`.match(/.{1,40}/gs) ?? [];
  if (below(8) === 0) return { text };
  return {
    text,
    calls: [calls[below(calls.length)], calls[below(calls.length)]].filter((c, i, all) => c !== all[i - 1]) as
      & Turn["calls"]
      & object,
  };
}

/** Events that were shown whole: what follows the last line feed was being written when the process died. */
function shown(stdout: string): Event[] {
  return stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line)).filter((event) => event.seq > 0);
}

/**
 * Runs until it is killed: after so many lines of output and so many milliseconds more, or when it ends by
 * itself.
 */
async function runAndKill(
  world: World,
  args: readonly string[],
  lines: number,
  wait: number,
): Promise<string> {
  const child = await world.spawn(["run", "--output-format", "jsonl", ...args]);
  const errors = new Response(child.stderr).text();
  const decoder = new TextDecoder();
  let text = "";
  let seen = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch { /* ended by itself */ }
  };
  for await (const part of child.stdout) {
    text += decoder.decode(part, { stream: true });
    for (const byte of part) if (byte === 10) seen += 1;
    if (seen >= lines) timer ??= setTimeout(kill, wait);
  }
  clearTimeout(timer);
  await child.status;
  await errors;
  return text;
}

Deno.test("a run killed at 64 random points loses nothing it has shown and goes on with a valid request", async () => {
  await using server = startModelServer([], { fallback: () => reply() });
  await using world = await makeWorld(mockConfig(server.url) + '[sandbox]\nbash = "off"\n');
  await world.write("seed.txt", "seed\n");
  let path = "";
  let killed = 0;
  let total = 0;
  let checked = 0;
  for (let round = 0; killed < POINTS; round++) {
    const before = server.requests.length;
    const args = [...(path === "" ? [] : ["-c"]), `task ${round}`];
    const output = await runAndKill(world, args, below(30), below(25));
    if (!output.includes('"type":"result"')) killed += 1;
    const events = shown(output);
    total += events.length;
    if (path === "") {
      const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
      if (!session) continue;
      path = session.path;
    }
    checkFile(path, events);
    // What the killed run had sent may reach the server only now; it is not a request of this run.
    const first = server.requests.slice(before).find((request) => carries(request, `task ${round}`));
    if (round > 0 && first) checkRequest(first, path, round);
    if (first) checked += 1;
  }
  assert(killed >= POINTS && total > POINTS, `${killed} kills, ${total} events`);
  assert(checked > POINTS / 2, `only ${checked} requests were seen`);

  // Rewinding works on what all the kills left, and so does the next turn.
  const turns = loadEvents(path).state.turns.length;
  const back = await world.run(["session", "rewind", "--to", String(turns >> 1)]);
  assertEquals([back.code, back.stderr], [0, ""]);
  server.expectReset();
  server.push({ text: "at last" });
  assertEquals((await world.run(["run", "-c", "--quiet", "the end"])).stdout, "at last\n");
});

/**
 * Every event that was shown is in the file as it was shown, and the file has no damaged line but a torn last
 * one.
 */
function checkFile(path: string, events: readonly Event[]): void {
  const stored = new Map<number, Event>();
  const loaded = loadEvents(path, (event) => stored.set(event.seq, event));
  assertEquals(loaded.notices, []);
  for (const event of events) assertEquals(stored.get(event.seq), event);
}

function carries(request: RecordedRequest, prompt: string): boolean {
  return JSON.stringify(request.json.messages).includes(`"${prompt}"`);
}

/** The first request of a run carries the whole conversation that the run before it left. */
function checkRequest(request: RecordedRequest, path: string, round: number): void {
  const sent = JSON.stringify(request.json.messages);
  const { state } = loadEvents(path);
  const ended = state.turns.filter(({ prompt }) => prompt !== `task ${round}`);
  for (const { prompt } of ended) assert(sent.includes(JSON.stringify(prompt).slice(1, -1)), prompt);
}

Deno.test("a session killed while it is rewound is whole, and the rewind can be repeated", async () => {
  await using server = startModelServer([
    { calls: [{ id: "a", name: "bash", args: { command: "for i in $(seq 40); do echo new > f$i; done" } }] },
    { text: "done" },
  ]);
  await using world = await makeWorld(mockConfig(server.url) + '[sandbox]\nbash = "off"\n');
  for (let i = 1; i <= 40; i++) await world.write(`f${i}`, "old\n");
  assertEquals((await world.run(["run", "go"])).code, 0);
  for (let i = 0; i < 6; i++) {
    const child = await world.spawn(["session", "rewind", "--to", "0", "--code"]);
    setTimeout(() => {
      try {
        child.kill("SIGKILL");
      } catch { /* ended by itself */ }
    }, 40 + below(60));
    await finished(child);
  }
  assertEquals((await world.run(["session", "rewind", "--to", "0", "--code"])).code, 0);
  for (let i = 1; i <= 40; i++) assertEquals(await world.read(`f${i}`), "old\n");
});
