import { assert, assertEquals } from "../../support/assert.ts";
import type { Event, Message } from "../../../src/core/mod.ts";
import { loadEvents, SessionLog } from "../../../src/session/mod.ts";
import { reduce } from "../../support/reduce.ts";
import { removeTree } from "../../support/remove_tree.ts";

const KILLS = 12;

const file = (name: string) => new URL(name, import.meta.url).pathname;
const deno = (name: string, args: string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", file(name), ...args],
    stdout: "piped",
    stderr: "inherit",
  });

/** Every call has exactly one result, directly after its message and before anything else. */
function assertValid(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      assert(open.delete(message.callId), `A result without its call: ${message.callId}`);
      continue;
    }
    assertEquals(open.size, 0, "A message stands between a call and its result");
    if (message.role === "assistant") open = new Set(message.calls?.map((call) => call.id));
  }
  assertEquals(open.size, 0, "A call has no result");
}

/**
 * Runs the driver, kills it after that number of printed events, and returns the last one of each session.
 */
async function runAndKill(seed: number, targets: string[], shown: number): Promise<Map<string, number>> {
  const child = deno("./kill.ts", [String(seed), ...targets]).spawn();
  const last = new Map<string, number>();
  let seen = 0;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const lines = (rest + decoder.decode(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [path = "", seq] = line.split(" ");
      last.set(path, Number(seq));
      if (++seen === shown) child.kill("SIGKILL");
    }
  }
  await child.status;
  return last;
}

function checkAfterKill(path: string, shown: number): void {
  const events: Event[] = [];
  const loaded = loadEvents(path, (event) => events.push(event));
  assertEquals(loaded.notices, []);
  assertEquals(events.map((event) => event.seq), events.map((_, i) => i + 1));
  assert(
    loaded.state.lastSeq >= shown,
    `Event ${shown} was shown but the file ends with ${loaded.state.lastSeq}`,
  );
  assertEquals(JSON.stringify(reduce(events).messages), JSON.stringify(loaded.state.messages));
  const log = SessionLog.open(path);
  log.repair();
  assertValid(log.state.messages);
  const repaired = JSON.stringify(log.state.messages);
  log.close();
  const again = SessionLog.open(path);
  assertEquals(again.repair(), []);
  assertEquals(JSON.stringify(again.state.messages), repaired);
  again.close();
}

/**
 * The program itself is killed in tests/e2e/kill, where it mostly waits; here nearly every kill interrupts a
 * write, with several open sessions.
 */
Deno.test(`a process killed ${KILLS} times while it appends loses no event that it reported`, async () => {
  const home = await Deno.makeTempDir({ prefix: "reasonix-kill-" });
  try {
    let targets = Array<string>(4).fill(`new:${home}`);
    for (let round = 0; round < KILLS; round++) {
      const seed = 1 + round;
      const last = await runAndKill(seed, targets, 20 + (seed * 7919) % 400);
      for (const [path, seq] of last) checkAfterKill(path, seq);
      const known = [...last.keys()];
      targets = targets.map((target, i) =>
        known[i] && (round % 4 !== 3) ? known[i] : target.startsWith("new:") ? target : `new:${home}`
      );
    }
  } finally {
    await removeTree(home);
  }
});

Deno.test("a session truncated at any byte loads all events before the cut and continues", async () => {
  const home = await Deno.makeTempDir({ prefix: "reasonix-cut-" });
  try {
    const [path = ""] = [...(await runAndKill(77, [`new:${home}`], 150)).keys()];
    const bytes = Deno.readFileSync(path);
    const cut = `${home}/cut.jsonl`;
    let random = 12345;
    for (let i = 0; i < 500; i++) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const end = 1 + random % bytes.length;
      Deno.writeFileSync(cut, bytes.subarray(0, end));
      const whole = bytes.subarray(0, end).reduce((n, byte) => n + (byte === 10 ? 1 : 0), 0);
      if (whole === 0) continue;
      checkAfterKill(cut, whole);
    }
  } finally {
    await removeTree(home);
  }
});

Deno.test("two processes on one session alternate and never interleave", async () => {
  const home = await Deno.makeTempDir({ prefix: "reasonix-two-" });
  try {
    const log = SessionLog.create({ home, cwd: "/two", version: "1" });
    log.append({ type: "message.user", origin: "user", content: "first" });
    log.close();
    const { path } = log.paths;
    const runs = ["a", "b"].map((name) => deno("./hold.ts", [path, name, "25", "20"]).output());
    for (const { code } of await Promise.all(runs)) assertEquals(code, 0);
    const seqs: number[] = [];
    const blocks: string[] = [];
    const { notices } = loadEvents(path, (event) => {
      seqs.push(event.seq);
      if (event.type !== "message.user" || event.content === "first") return;
      const [name, block, i] = event.content.split(" ");
      if (i === "0") blocks.push(`${name}${block}`);
      assertEquals(blocks.at(-1), `${name}${block}`);
    });
    assertEquals([notices, blocks.length], [[], 50]);
    assertEquals(seqs, seqs.map((_, i) => i + 1));
  } finally {
    await removeTree(home);
  }
});
