import { assert, assertEquals } from "../../../../support/assert.ts";
import {
  type ConversationStage,
  conversationStage,
  CountedStore,
  RandomSession,
  rowsOf,
} from "../../../../support/conversation_stage.ts";
import type { ConversationPanel } from "../../../../../src/frontend/repl/full/conversation.ts";
import { Random, SEED, soakSize } from "../../../../support/seed.ts";

/** Loads what renders texts, so that pieces are printed as they come. */
async function warm(stage: ConversationStage): Promise<void> {
  const content = "ready *now*\n\n```ts\nlet x;\n```";
  stage.feed({ type: "message.end", step: 1, model: "m", content, durationMs: 1 });
  const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n";
  stage.feed({
    type: "tool.end",
    callId: "w",
    name: "bash",
    outcome: "ok",
    content: "",
    summary: "",
    durationMs: 1,
    changes: [{ path: "a", change: "updated", added: 1, removed: 1, diff }],
  });
  await stage.settle();
  await loaded(stage, stage.panel);
}

/** A panel over the conversation which has laid out nothing yet, but has loaded what renders it. */
async function loaded(stage: ConversationStage, panel = stage.another()): Promise<ConversationPanel> {
  const end = performance.now() + 20_000;
  const isLoaded = () => rowsOf(stage, 60, panel).join("\n") === stage.main.join("\n");
  while (!isLoaded() && performance.now() < end) await stage.settle();
  return panel;
}

Deno.test("the panel shows the same rows as the main screen", async () => {
  for (let at = 0; at < soakSize(300, 12); at++) {
    const seed = SEED + at;
    const random = new Random(seed);
    const session = new RandomSession(seed);
    const stage = await conversationStage({ colors: random.chance(0.5) });
    await warm(stage);
    for (let turn = 0; turn < 5; turn++) {
      for (const event of session.turn()) {
        stage.clock.now += random.below(900);
        stage.feed(event);
        if (random.chance(0.02)) stage.transcript.say(session.text());
        if (random.chance(0.1)) stage.panel.frame(60, 20);
        if (random.chance(0.01)) assertEquals(rowsOf(stage, 60), stage.main, `seed ${seed}, within a turn`);
      }
    }
    assertEquals(rowsOf(stage, 60), stage.main, `seed ${seed}`);
    assertEquals(rowsOf(stage, 60, await loaded(stage)), stage.main, `seed ${seed}, another panel`);
  }
});
