import { methods } from "@agentclientprotocol/sdk";
import { SessionTexts } from "../../../../src/frontend/session/texts.ts";
import { serveHere } from "../../../support/acp.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";
import { Random, SEED } from "../../../support/seed.ts";

const tick = () => new Promise<void>((resolve) => setTimeout(resolve));

Deno.test("two clients and a terminal answer 200 questions of a session: exactly one answer counts", async () => {
  const random = new Random(SEED);
  await using stage = await openChat();
  const { live } = stage;
  await stage.until(() => live.assembly !== undefined);
  const sessions = {
    open: (_request: unknown, attach: (session: typeof live) => void = () => {}) => {
      attach(live);
      return Promise.resolve(live);
    },
  };
  const texts = await SessionTexts.load("en");
  const wins = { one: 0, two: 0, terminal: 0 };
  const pauses = { one: 0, two: 0, terminal: 0 };
  const pause = async (who: keyof typeof wins) => {
    for (let left = pauses[who]; left > 0; left--) await tick();
  };
  const client = (who: "one" | "two", choice: string) =>
    serveHere({ sessions, texts, home: stage.home }, {
      directory: stage.cwd,
      capabilities: { elicitation: { form: {} } },
      on: {
        [methods.client.elicitation.create]: async () => {
          await pause(who);
          return { action: "accept" as const, content: { choice } };
        },
      },
    });
  const clients = [await client("one", "0"), await client("two", "1")];
  for (const each of clients) await each.newSession();
  const by: string[] = [];
  live.questions.subscribe((event) => event.state === "answered" && by.push(event.by ?? ""));
  const entries = [{ label: "one" }, { label: "two" }, { label: "three" }];
  for (let round = 0; round < 200; round++) {
    for (const who of ["one", "two", "terminal"] as const) pauses[who] = random.below(6);
    const asked = live.questions.ask("choose", { title: `Round ${round}`, entries }, { called: true });
    void pause("terminal").then(() => live.questions.open.length > 0 && stage.terminal.press("escape"));
    const answer = await asked;
    assertEquals([by.length, live.questions.open.length], [round + 1, 0]);
    assertEquals(by[round], answer === undefined ? "terminal" : "editor");
    wins[(["one", "two", "terminal"] as const)[answer ?? 2] ?? "one"]++;
  }
  assert(Math.min(...Object.values(wins)) > 10, JSON.stringify(wins));
  for (const each of clients) {
    // A question is closed at a client that has not answered when another one has.
    const lines = (from: "agent" | "client", wanted: string | undefined) =>
      each.tape.lines.filter((line) => line.from === from && line.message.method === wanted);
    const asked = lines("agent", methods.client.elicitation.create).map(({ message }) => message.id);
    const closed = lines("agent", "$/cancel_request").map(({ message }) => message.params.requestId);
    const answered = lines("client", undefined).map(({ message }) => message.id);
    assertEquals(asked.length, 200);
    assertEquals(asked.filter((id) => !closed.includes(id) && !answered.includes(id)), []);
    assert(closed.length > 50);
    assertEquals((await each.end()).code, 0);
  }
});
