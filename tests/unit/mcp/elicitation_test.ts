import { loadTexts } from "../../../src/i18n/mod.ts";
import { checkedAnswer, elicitation, formFields } from "../../../src/mcp/elicitation.ts";
import type { Question } from "../../../src/tool/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";

const texts = await loadTexts("mcp_questions", "en");

const signal = new AbortController().signal;

/** A person who gives these answers, in order; undefined leaves. */
function person(...answers: (readonly string[] | undefined)[]) {
  const asked: Question[] = [];
  const told: string[] = [];
  const opened: string[] = [];
  const elicit = elicitation({
    asker: {
      ask: ([question]) => {
        if (question) asked.push(question);
        const answer = answers.shift();
        return Promise.resolve(answer && [answer]);
      },
    },
    texts: () => Promise.resolve(texts),
    notify: (text) => told.push(text),
    open: (address) => opened.push(address.href) > 0,
  });
  return { asked, told, opened, elicit };
}

const form = (properties: Record<string, unknown>, required: string[] = []) => ({
  message: "Who are you?",
  requestedSchema: { type: "object" as const, properties: properties as never, required },
});

Deno.test("a form is asked value by value, until each fits, and sent after a look at all of it", async () => {
  const { elicit, asked } = person(["Ada"], ["old"], ["-1"], ["36"], ["Green"], ["Red", "Blue"], ["Yes"], [
    "Send",
  ]);
  const result = await elicit(
    "docs",
    form({
      name: { type: "string", title: "Name", minLength: 2 },
      age: { type: "integer", minimum: 0 },
      colour: { type: "string", oneOf: [{ const: "g", title: "Green" }, { const: "r", title: "Red" }] },
      more: {
        type: "array",
        items: { anyOf: [{ const: "r", title: "Red" }, { const: "b", title: "Blue" }] },
      },
      sure: { type: "boolean" },
    }, ["name", "age", "colour", "more", "sure"]),
    signal,
  );
  assertEquals(result, {
    action: "accept",
    content: { name: "Ada", age: 36, colour: "g", more: ["r", "b"], sure: true },
  });
  assert(asked.every(({ question }) => question.startsWith("MCP server docs asks\n")));
  assertStringIncludes(asked[2]?.question ?? "", "! This is not a number");
  assertStringIncludes(asked[3]?.question ?? "", "! This is too little: at least 0");
  assertStringIncludes(asked.at(-1)?.question ?? "", "Name: Ada\nage: 36\ncolour: g\nmore: r,b\nsure: true");
});

Deno.test("a form can be declined, left, and left empty; proposals are taken as they are", async () => {
  const fields = form({
    name: { type: "string", default: "Ada" },
    colour: { type: "string", enum: ["red"] },
  });
  assertEquals(await person(["Decline"]).elicit("s", fields, signal), { action: "decline" });
  assertEquals(await person(["As proposed: Ada"], undefined).elicit("s", fields, signal), {
    action: "cancel",
  });
  const taken = person(["As proposed: Ada"], ["Leave it empty"], ["Send"]);
  assertEquals(await taken.elicit("s", fields, signal), { action: "accept", content: { name: "Ada" } });
  const one = person(["Leave it empty"]);
  assertEquals(await one.elicit("s", form({ name: { type: "string" } }), signal), {
    action: "accept",
    content: {},
  });
});

Deno.test("a form that asks for a secret is shown with a warning, and an unreadable one is cancelled", async () => {
  const secret = person(["Decline"]);
  await secret.elicit("s", form({ apiKey: { type: "string" } }, ["apiKey"]), signal);
  assertStringIncludes(secret.asked[0]?.question ?? "", "This looks like a secret");
  const strange = person();
  const result = await strange.elicit("s", form({ tree: { type: "object" } }, ["tree"]), signal);
  assertEquals([result, strange.asked.length], [{ action: "cancel" }, 0]);
  assertStringIncludes(strange.told[0] ?? "", "(tree)");
});

Deno.test("an address is shown with its host, and opened only after a yes", async () => {
  const params = { mode: "url" as const, message: "Sign in", elicitationId: "1", url: "" };
  const ask = (url: string, who: ReturnType<typeof person>) => who.elicit("docs", { ...params, url }, signal);
  const yes = person(["Open it in the browser"]);
  assertEquals(await ask("https://login.example.org/a?b=c", yes), { action: "accept" });
  assertEquals(yes.opened, ["https://login.example.org/a?b=c"]);
  assertStringIncludes(yes.asked[0]?.question ?? "", "\n    login.example.org\n");
  for (const answer of [["Decline"], undefined, ["anything"]]) {
    const no = person(answer);
    assertEquals(await ask("https://a.example/", no), { action: answer ? "decline" : "cancel" });
    assertEquals(no.opened, []);
  }
  for (const url of ["file:///etc/passwd", "javascript:alert(1)", "not an address", "ssh://host"]) {
    const never = person(["Open it in the browser"]);
    assertEquals(await ask(url, never), { action: "decline" });
    assertEquals([never.asked.length, never.opened.length, never.told.length], [0, 0, 1]);
  }
  const lookalike = person(["Decline"]);
  await ask("http://exаmple.org/", lookalike);
  assertStringIncludes(lookalike.asked[0]?.question ?? "", "xn--");
  assertStringIncludes(lookalike.asked[0]?.question ?? "", "not encrypted");
});

Deno.test("a run without a user asks nothing and reports that", async () => {
  const told: string[] = [];
  const elicit = elicitation({
    asker: undefined,
    texts: () => Promise.resolve(texts),
    notify: (text) => told.push(text),
    open: () => false,
  });
  assertEquals(await elicit("docs", form({ name: { type: "string" } }), signal), { action: "cancel" });
  assertEquals(told, [
    'MCP server docs asked "Who are you?", and this run has no prompt: the server was notified',
  ]);
});

Deno.test("what servers say does not steer the terminal, and is bounded", async () => {
  const bad = person(["Decline"]);
  await bad.elicit("s\x1b[31m", {
    ...form({ ["a\x1b]0;t\x07"]: { type: "string", title: "\x1b[2J" } }, ["a"]),
    message: "\x1b[H".repeat(10_000),
  }, signal);
  const { question = "" } = bad.asked[0] ?? {};
  assert(!question.includes("\x1b") && question.length < 5_000, String(question.length));
});

Deno.test("answers are checked by kind and format", () => {
  const check = (property: Record<string, unknown>, ...answer: string[]) => {
    const [field] = formFields({ properties: { a: property } }).fields;
    assert(field);
    const checked = checkedAnswer(field, answer);
    return "value" in checked ? checked.value : checked.problem;
  };
  assertEquals(check({ type: "string", format: "email" }, "a@b"), "format");
  assertEquals(check({ type: "string", format: "email" }, "a@b.example"), "a@b.example");
  assertEquals(check({ type: "string", format: "date" }, "2026-02-31"), "format");
  assertEquals(check({ type: "string", format: "date" }, "2026-02-28"), "2026-02-28");
  assertEquals(
    check({ type: "string", format: "date-time" }, "2026-02-28T10:00:00Z"),
    "2026-02-28T10:00:00Z",
  );
  assertEquals(check({ type: "string", format: "uri" }, "nothing"), "format");
  assertEquals(check({ type: "string", maxLength: 2 }, "世界人"), "max");
  assertEquals(check({ type: "integer" }, "1.5"), "integer");
  assertEquals(check({ type: "number", maximum: 2 }, "2.5"), "max");
  assertEquals(check({ type: "number" }, ""), "number");
  assertEquals(check({ type: "boolean" }, "perhaps"), "boolean");
  assertEquals(check({ enum: ["a", "b"], enumNames: ["First"] }, "First"), "a");
  assertEquals(check({ enum: ["a"] }, "c"), "choice");
  assertEquals(check({ type: "array", minItems: 2, items: { enum: ["a", "b"] } }, "a"), "min");
});
