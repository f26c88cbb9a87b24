/** The full-screen view in every size, with characters of every width, also while text streams in. */
import { assert } from "../../../../support/assert.ts";
import { assertStraight, openWorkedChat, watchFrames, WIDE } from "../../../../support/full_stage.ts";
import { Random, SEED, soakSize, someOf } from "../../../../support/seed.ts";

const WIDTHS = [20, 33, 60, 89, 90, 139, 140, 300];
const HEIGHTS = [5, 7, 8, 15, 16, 50, 100];

Deno.test("borders are straight in every panel, overlay and size", async () => {
  using frames = watchFrames();
  await using chat = await openWorkedChat({ columns: 100, rows: 30 });
  const { terminal } = chat;
  const sizes = WIDTHS.flatMap((columns) => HEIGHTS.map((rows) => ({ columns, rows })));
  for (const { columns, rows } of someOf(sizes, soakSize(sizes.length, 6))) {
    const where = (what: string) => `${what}, ${columns}x${rows}, seed ${SEED}`;
    terminal.resize(columns, rows);
    assertStraight(terminal, where("message"));
    for (const panel of ["chat", "files", "log"]) {
      terminal.press("tab");
      for (const key of ["home", "pageDown", "end", "up", "enter", "escape"]) {
        // Esc closes an entry; from a panel without an open one it leads to the message.
        if (key === "escape" && terminal.screen().join().includes("Tab panels")) break;
        terminal.press(key);
        assertStraight(terminal, where(`${panel}, ${key}`));
      }
    }
    terminal.press("escape", "escape");
    for (
      const keys of [["ctrl+b", "ctrl+b"], ["?", "escape"], ["ctrl+p", "escape"], [
        "ctrl+f",
        "escape",
        "escape",
      ]]
    ) {
      for (const key of keys) {
        terminal.press(key);
        assertStraight(terminal, where(keys.join(" ")));
      }
    }
  }
  assert(frames.count > 100);
});

Deno.test("borders are straight in 50 resizes while text streams in", async () => {
  using frames = watchFrames();
  const random = new Random(SEED);
  let allowed = 0;
  await using chat = await openWorkedChat({
    columns: 120,
    rows: 40,
    graphemes: false,
    replies: [async function* (signal) {
      for (let part = 0; part < 50; part++) {
        while (part >= allowed && !signal.aborted) await turn();
        yield { type: "text", text: `${part} ${WIDE}${part % 7 === 0 ? "\n\n- " : " "}` };
      }
      yield { type: "done", reason: "stop" };
    }],
  });
  const { terminal } = chat;
  chat.say("go");
  await chat.until(() => chat.events.filter(({ type }) => type === "turn.start").length === 2);
  for (let at = 0; at < 50; at++) {
    const [columns, rows] = [20 + random.below(281), 5 + random.below(96)];
    allowed++;
    await turn();
    terminal.resize(columns, rows);
    terminal.press(random.pick(["tab", "up", "pageUp", "end", "ctrl+b", "home"]));
    await turn();
    assertStraight(terminal, `part ${at}, ${columns}x${rows}, seed ${SEED}`);
  }
  await chat.until(() => chat.events.filter(({ type }) => type === "turn.end").length === 2);
  assert(frames.count >= 100);
});

/** Lets the event loop turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("typing, deleting and moving in CJK text keeps every row of the view", async () => {
  using _frames = watchFrames();
  await using chat = await openWorkedChat({ columns: 150, rows: 30 });
  const { terminal } = chat;
  const random = new Random(SEED);
  for (const columns of [150, 100, 41]) {
    terminal.resize(columns, 24);
    for (let at = 0; at < 60; at++) {
      if (random.chance(0.6)) terminal.type(random.pick([..."漢字かな，。한é①a ", "👨‍👩‍👧", "🇩🇪"]));
      else {terminal.press(
          random.pick(["left", "right", "backspace", "delete", "home", "end", "shift+enter", "ctrl+left"]),
        );}
      assertStraight(terminal, `${columns} columns, seed ${SEED}`);
    }
    terminal.press("ctrl+c");
  }
});
