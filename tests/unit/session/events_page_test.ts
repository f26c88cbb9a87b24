import { assertEquals, assertThrows } from "../../support/assert.ts";
import { eventsPage } from "../../../scripts/gen_events.ts";
import { EVENT_KINDS } from "../../../src/core/event_schema.ts";
import { sequence, turn } from "./support.ts";

Deno.test("docs/events.md equals the output of gen_events", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/events.md", import.meta.url));
  assertEquals(page, await eventsPage(), "run `deno run -A scripts/gen_events.ts`");
});

Deno.test("the schema of events accepts a session and finds errors", () => {
  for (const event of sequence(turn(1))) EVENT_KINDS[event.type].parse(event);
  assertThrows(() => EVENT_KINDS["message.user"].parse({ v: 1, seq: 1, time: "t", type: "message.user" }));
});
