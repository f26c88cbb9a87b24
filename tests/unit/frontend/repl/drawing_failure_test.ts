/** After a drawing failure the session continues and nothing is lost. */
import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";

const NOTICE = "Something could not be shown; please report it: no such text";

/** Throws for every text of a broken area. */
function breaking(area: "status" | "composer") {
  const state = { broken: false };
  const texts = (all: object): void => {
    const whole = Reflect.get(all, area);
    Object.defineProperty(all, area, {
      get() {
        if (state.broken) throw new Error("no such text\nsecond line");
        return whole;
      },
    });
  };
  return { state, texts };
}

Deno.test("a drawing failure is reported once, and the session continues with less on the screen", async () => {
  const { state, texts } = breaking("status");
  await using chat = await openChat({ replies: [say("First answer."), say("Second answer.")], texts });
  chat.say("one");
  await chat.shows("First answer.");
  assert(chat.terminal.screen().some((line) => line.startsWith("scripted-1")));
  state.broken = true;
  chat.say("two");
  await chat.shows("Second answer.");
  chat.terminal.type("continues");
  await chat.shows("> continues");
  const text = chat.terminal.text();
  assertEquals(text.filter((line) => line.includes(NOTICE)).length, 1, text.join("\n"));
  assert(!text.some((line) => line.includes("second line")));
  state.broken = false;
  chat.terminal.type("!");
  await chat.shows("> continues!");
  assert(chat.terminal.screen().some((line) => line.startsWith("scripted-1")), "the whole is not back");
  assertEquals(chat.gaveUp, []);
});

Deno.test("a second drawing failure ends the chat and names the session to resume in lines", async () => {
  const { state, texts } = breaking("composer");
  await using chat = await openChat({ replies: [say("First answer.")], texts });
  chat.say("one");
  await chat.shows("First answer.");
  await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
  state.broken = true;
  chat.terminal.press("x");
  assertEquals(await chat.left, 1);
  assertEquals(new Set(chat.gaveUp), new Set([chat.assembly().session.id]));
  assertEquals(chat.terminal.state, "idle");
});
