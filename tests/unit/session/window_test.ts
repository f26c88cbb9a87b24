import type { Event } from "../../../src/core/mod.ts";
import { eventWindow } from "../../../src/session/log/window.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { longLog } from "../../support/long_session.ts";
import { randomFrom } from "../../support/seed.ts";

const START = { v: 1, seq: 1, time: "", type: "session.start", session: "a", version: "0", cwd: "/" };
const BEGINS: readonly string[] = ["session.start", "turn.start", "message.end"];

async function withLog(text: string, run: (path: string) => void): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, text);
    run(path);
  } finally {
    await Deno.remove(path);
  }
}

/** All windows of a file, from its end to its beginning. */
function windows(path: string, limit: number): (readonly Event[])[] {
  const found: (readonly Event[])[] = [];
  let before: number | undefined;
  for (let first = false; !first;) {
    const window = eventWindow(path, { before, limit });
    found.unshift(window.events);
    before = window.events[0]?.seq;
    first = window.first;
  }
  return found;
}

Deno.test("eventWindow gives every event once, in parts that begin with a message", async () => {
  const random = randomFrom(71);
  for (let round = 0; round < 8; round++) {
    const events: object[] = [START];
    const add = (event: object) => events.push({ v: 1, seq: events.length + 1, time: "", ...event });
    for (let turn = 1; turn < 40; turn++) {
      add({ type: "turn.start", turn });
      add({ type: "message.user", content: "é🙂\n".repeat(Math.floor(random() * 20)), origin: "user" });
      for (let step = 0; step < random() * 4; step++) {
        add({ type: "message.end", step, model: "m", content: "", durationMs: 0 });
        for (let call = 0; call < random() * 8; call++) {
          const size = random() < 0.03 ? 200_000 : Math.floor(random() * 3000);
          add({ type: "tool.end", callId: `${call}`, name: "x", outcome: "ok", content: "ü".repeat(size) });
        }
      }
      add({ type: "turn.end", turn, reason: "done" });
    }
    const lines = events.map((event) => `${JSON.stringify(event)}\n`);
    // Damaged lines, and one that is being written.
    lines.splice(30, 0, "damaged\n", "\n");
    lines.push('{"v":1,"seq":100000,"ti');
    const limit = 1 + Math.floor(random() * 60);
    await withLog(lines.join(""), (path) => {
      const found = windows(path, limit);
      assertEquals(found.flat() as object[], events);
      for (const part of found) {
        assert(BEGINS.includes(part[0]?.type ?? ""), part[0]?.type);
        const last = part.findLastIndex(({ type }) => BEGINS.includes(type));
        assert(part.length <= limit || last === 0, `${part.length} of ${limit}`);
      }
    });
  }
});

Deno.test("eventWindow finds a window anywhere in a long session by reading little of it", async () => {
  await withLog(longLog(`${JSON.stringify(START)}\n`), (path) => {
    const { length } = windows(path, 2000);
    assert(length < 12, `${length}`);
    const [{ seq: newest = 0 } = {}] = eventWindow(path, { limit: 100 }).events.slice(-1);
    for (const before of [2, 9000, newest - 500, newest, newest + 1, newest + 50_000]) {
      const { events, first } = eventWindow(path, { before, limit: 100 });
      assertEquals([events.at(-1)?.seq, first], [Math.min(before - 1, newest), before === 2]);
    }
  });
});
