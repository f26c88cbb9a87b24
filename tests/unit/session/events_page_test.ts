import { assertEquals } from "../../support/assert.ts";
import { eventsPage } from "../../../scripts/gen_events.ts";
import { eventProblem } from "../../../src/core/event_schema.ts";
import { sequence, turn } from "./support.ts";

Deno.test("docs/events.md is what gen_events writes", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/events.md", import.meta.url));
  assertEquals(page, await eventsPage(), "run `deno run -A scripts/gen_events.ts`");
});

Deno.test("eventProblem accepts what a session holds and names what is wrong", () => {
  for (const event of sequence(turn(1))) assertEquals(eventProblem(event), undefined);
  assertEquals(eventProblem({ v: 1, seq: 1, time: "t", type: "from.the.future" }), undefined);
  assertEquals(typeof eventProblem({ v: 1, seq: 1, time: "t", type: "message.user" }), "string");
});
