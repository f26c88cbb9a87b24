/** Operations that end in another order than usual. */
import { type Event, EVENT_VERSION, type NewEvent, NO_USAGE } from "../../../../src/core/mod.ts";
import { type Operation, Operations } from "../../../../src/features/telemetry/operations.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

/** The operations of a session of the user with these events, one a millisecond, and then its end. */
function operationsOf(events: readonly NewEvent[]): Operation[] {
  const taken: Operation[] = [];
  const operations = new Operations({
    sink: (operation) => void taken.push(operation),
    isSampled: () => true,
  });
  operations.open({ id: "s1", depth: 0, provider: "mock", model: "m" });
  events.forEach((event, seq) =>
    operations.take("s1", { v: EVENT_VERSION, seq, time: "", ...event } as Event, 1000 + seq)
  );
  operations.end(2000);
  return taken;
}

const reply = (step: number) =>
  ({ type: "message.end", step, model: "m", content: "a", usage: NO_USAGE, durationMs: 1 }) as const;

Deno.test("a request of a server does not end the one that is open", () => {
  const [sampled, own, ...more] = operationsOf([
    { type: "turn.start", turn: 1 },
    { type: "message.start", step: 1, model: "m" },
    reply(0),
    reply(1),
  ]).filter(({ kind }) => kind === "request");
  assert(sampled?.kind === "request" && own?.kind === "request" && more.length === 0);
  assertEquals([sampled.purpose, own.purpose, own.error], ["sampling", "main", undefined]);
  assertEquals(sampled.span.parent, own.span.parent);
  assert(sampled.span.id !== own.span.id);
});

Deno.test("a compaction that fails ends before the next request, and what is left open is unfinished", () => {
  const call = { id: "c1", name: "bash", arguments: "{}" };
  const ended = operationsOf([
    { type: "turn.start", turn: 1 },
    { type: "message.start", step: 0, model: "m" },
    { type: "error", code: "provider", text: "status 503" },
    { type: "message.start", step: 1, model: "m" },
    { type: "tool.start", call, readOnly: true, summary: "" },
  ]).filter(({ kind }) => kind !== "session");
  assertEquals(ended.map(({ kind, at, error }) => [kind, at, error]), [
    ["request", 1002, "503"],
    ["compaction", 1003, "_OTHER"],
    ["request", 2000, "unfinished"],
    ["call", 2000, "unfinished"],
    ["turn", 2000, "unfinished"],
  ]);
});
