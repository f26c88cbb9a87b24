import fc from "fast-check";
import { assertEquals } from "../../../support/assert.ts";
import { DELTA_SHAPE } from "../../../../src/provider/kinds/openai/delta_shape.ts";
import { DeltaTemplate } from "../../../../src/provider/wire/delta_template.ts";
import { SEED } from "../../../support/seed.ts";

type Event = { choices?: { delta?: Record<string, unknown> }[] };

/** What the shape makes of a stream, and what a parser makes of it. */
function both(lines: readonly string[]): [string[], string[]] {
  const shape = new DeltaTemplate(DELTA_SHAPE);
  const fast: string[] = [];
  const slow: string[] = [];
  for (const line of lines) {
    const event: Event = JSON.parse(line);
    const delta = event.choices?.[0]?.delta ?? {};
    const parsed = `${delta.content ?? ""}|${delta.reasoning_content ?? ""}`;
    slow.push(parsed);
    const text = shape.read(line);
    if (text === undefined) shape.learn(line, event);
    fast.push(text === undefined ? parsed : shape.channel === "text" ? `${text}|` : `|${text}`);
  }
  return [fast, slow];
}

const TRICKY = ['"content":"', '","x":"', "\\", '"', "\n", "\\n", "é", "\u2028", "🦊", "}", "]}", "ab", ""];

Deno.test("TextShape reads what a parser reads when texts hold quotes, escapes and the look of other fields", () => {
  const text = fc.array(fc.constantFrom(...TRICKY), { maxLength: 4 }).map((parts) => parts.join(""));
  const event = fc.record({
    text,
    reasoning: fc.boolean(),
    finish: fc.boolean(),
    time: fc.constantFrom(1, 2),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), (events) => {
      const lines = events.map(({ text, reasoning, finish, time }) =>
        JSON.stringify({
          time,
          choices: [{
            delta: { [reasoning ? "reasoning_content" : "content"]: text },
            finish_reason: finish ? "stop" : null,
          }],
        })
      );
      const [fast, slow] = both(lines);
      assertEquals(fast, slow);
    }),
    { seed: SEED },
  );
});

Deno.test("TextShape reads texts without parsing when only they change", () => {
  const shape = new DeltaTemplate(DELTA_SHAPE);
  const line = (text: string) => JSON.stringify({ id: 1, choices: [{ index: 0, delta: { content: text } }] });
  shape.learn(line("a"), JSON.parse(line("a")));
  assertEquals(["b", "line\n", "tab\t\\n", ""].map((text) => shape.read(line(text))), [
    "b",
    "line\n",
    "tab\t\\n",
    "",
  ]);
});

Deno.test("TextShape learns nothing when an event says more than one text", () => {
  const events = [
    { choices: [{ delta: { content: "a" }, finish_reason: "stop" }] },
    { choices: [{ delta: { content: "a", reasoning: "b" } }] },
    { choices: [{ delta: { content: "a", tool_calls: [] } }] },
    { choices: [{ delta: { content: "a" } }], usage: {} },
    { choices: [{ delta: { content: "a" } }, { delta: {} }] },
    { delta: "a" },
    "a",
    null,
  ];
  for (const event of events) {
    const shape = new DeltaTemplate(DELTA_SHAPE);
    const line = JSON.stringify(event);
    shape.learn(line, event);
    assertEquals(shape.read(line), undefined);
  }
});
