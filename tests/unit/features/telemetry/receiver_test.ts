import { fillDefaults } from "../../../../src/config/load/defaults.ts";
import { EVENT_VERSION, type NewEvent } from "../../../../src/core/mod.ts";
import { openExporter } from "../../../../src/features/telemetry/exporter.ts";
import type { ObservedSession, SpanIds } from "../../../../src/features/telemetry/observed.ts";
import { assertEquals } from "../../../support/assert.ts";
import { OtlpReceiver } from "../../../support/otlp_receiver.ts";

const session: ObservedSession = { id: "s1", depth: 0, provider: "mock", model: "mock-1" };
const turn: SpanIds = { trace: "a".repeat(32), id: "1".repeat(16), sampled: true };
const chat: SpanIds = { ...turn, id: "2".repeat(16), parent: turn };
const AT = Date.UTC(2026, 0, 1);

Deno.test("an exporter sends spans with the identifiers that were drawn", async () => {
  await using receiver = new OtlpReceiver();
  const config = fillDefaults({ telemetry: { otlp: receiver.url } });
  const exporter = openExporter({
    settings: config.telemetry,
    env: () => undefined,
    redact: (text) => text,
    onExport: (problem) => {
      if (problem !== undefined) throw new Error(problem);
    },
  });
  const take = (event: NewEvent, at: number, span: SpanIds) =>
    exporter.take({ event: { v: EVENT_VERSION, seq: 0, time: "", ...event }, at, session, span });
  take({ type: "turn.start", turn: 1 }, AT, turn);
  take({ type: "message.start", step: 1, model: "mock-1" }, AT + 1, chat);
  take({ type: "message.end", step: 1, model: "mock-1", content: "hi", durationMs: 5 }, AT + 6, chat);
  await exporter.close();
  const [last, first] = [...receiver.spans].sort((a, b) => a.start - b.start).reverse();
  assertEquals([first?.trace, first?.id, first?.parent], [turn.trace, turn.id, undefined]);
  assertEquals([last?.name, last?.parent, last?.start, last?.end], ["chat mock-1", turn.id, AT + 1, AT + 6]);
});
