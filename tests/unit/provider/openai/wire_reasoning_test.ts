import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { deltaEvent, finishEvent, type Part, textEvent } from "../../../support/model_server.ts";

const told = async (parts: readonly Part[], compat: Record<string, unknown> = {}) => {
  const { reasoning, text } = await outcomeOf([...parts, finishEvent()], { compat });
  return { reasoning, text };
};

for (const field of ["reasoning_content", "reasoning"]) {
  Deno.test(`openai provider gives reasoning when it comes as ${field}`, async () => {
    const parts = [
      deltaEvent({ content: null, [field]: "I " }),
      deltaEvent({ content: "", [field]: "think" }),
      textEvent("so"),
    ];
    assertEquals(await told(parts), { reasoning: "I think", text: "so" });
  });
}

Deno.test("openai provider gives reasoning once when two fields repeat it", async () => {
  const parts = [deltaEvent({ reasoning: "hm", reasoning_content: "hm" }), textEvent("so")];
  assertEquals(await told(parts), { reasoning: "hm", text: "so" });
});

Deno.test("openai provider gives reasoning when it stands in think tags cut anywhere", async () => {
  const whole = "\n<think>a < b</thin and</think>\n\nAnswer <think>kept</think>";
  for (let cut = 1; cut < whole.length; cut += 3) {
    assertEquals(await told([textEvent(whole.slice(0, cut)), textEvent(whole.slice(cut))]), {
      reasoning: "a < b</thin and",
      text: "Answer <think>kept</think>",
    });
  }
});

Deno.test("openai provider keeps text when it only looks like a think tag", async () => {
  for (const text of ["<thinks> so", "<", "<thin", " <b>bold</b>", "so <think>"]) {
    assertEquals(await told([...text].map(textEvent)), { reasoning: "", text });
  }
});

Deno.test("openai provider leaves think tags alone when the entry says so", async () => {
  assertEquals(await told([textEvent("<think>a</think>b")], { think_tags: false }), {
    reasoning: "",
    text: "<think>a</think>b",
  });
});

Deno.test("openai provider takes the rest for reasoning when a think tag is never closed", async () => {
  assertEquals(await told([textEvent("<think>a</th")]), { reasoning: "a</th", text: "" });
});

Deno.test("openai provider reads text and thinking when content is a list of parts", async () => {
  const parts = [
    deltaEvent({
      content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }, { type: "text", text: "so" }],
    }),
  ];
  assertEquals(await told(parts), { reasoning: "hm", text: "so" });
});
