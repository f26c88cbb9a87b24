import type { NewEvent } from "../../../src/core/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { checkedAnswer, elicitation, formFields, sampling } from "../../../src/mcp/questions.ts";
import type { Question } from "../../../src/tool/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";

const texts = await loadTexts("mcp_questions", "en");

const signal = new AbortController().signal;

type Answers = readonly (readonly string[] | undefined)[];

/** A user with these answers in order; an undefined answer dismisses, undefined answers mean no user. */
function context(answers: Answers | undefined) {
  const asked: Question[] = [];
  const notices: string[] = [];
  const left = [...answers ?? []];
  const asker = answers && {
    ask: ([question]: readonly Question[]) => {
      if (question) asked.push(question);
      const answer = left.shift();
      return Promise.resolve(answer && [answer]);
    },
  };
  const notify = (text: string) => void notices.push(text);
  return { asked, notices, asker, notify, texts: () => Promise.resolve(texts) };
}

function user(...answers: Answers) {
  const opened: string[] = [];
  const shared = context(answers);
  return { ...shared, opened, elicit: elicitation({ ...shared, open: ({ href }) => opened.push(href) > 0 }) };
}

const form = (properties: Record<string, unknown>, required: string[] = []) => ({
  message: "Who are you?",
  requestedSchema: { type: "object" as const, properties: properties as never, required },
});

Deno.test("a form prompts for each value until it is valid, and is sent after a review", async () => {
  const { elicit, asked } = user(["Ada"], ["old"], ["-1"], ["36"], ["Green"], ["Red", "Blue"], ["Yes"], [
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

Deno.test("a form can be declined, dismissed or left empty, and defaults are offered", async () => {
  const fields = form({
    name: { type: "string", default: "Ada" },
    colour: { type: "string", enum: ["red"] },
  });
  assertEquals(await user(["Decline"]).elicit("s", fields, signal), { action: "decline" });
  assertEquals(await user(["As proposed: Ada"], undefined).elicit("s", fields, signal), {
    action: "cancel",
  });
  const taken = user(["As proposed: Ada"], ["Leave it empty"], ["Send"]);
  assertEquals(await taken.elicit("s", fields, signal), { action: "accept", content: { name: "Ada" } });
  const one = user(["Leave it empty"]);
  assertEquals(await one.elicit("s", form({ name: { type: "string" } }), signal), {
    action: "accept",
    content: {},
  });
});

Deno.test("a form that requests a secret shows a warning, and an unreadable form is canceled", async () => {
  const secret = user(["Decline"]);
  await secret.elicit("s", form({ apiKey: { type: "string" } }, ["apiKey"]), signal);
  assertStringIncludes(secret.asked[0]?.question ?? "", "This looks like a secret");
  const strange = user();
  const result = await strange.elicit("s", form({ tree: { type: "object" } }, ["tree"]), signal);
  assertEquals([result, strange.asked.length], [{ action: "cancel" }, 0]);
  assertStringIncludes(strange.notices[0] ?? "", "(tree)");
});

Deno.test("an address is shown with its host and opened only after confirmation", async () => {
  const params = { mode: "url" as const, message: "Sign in", elicitationId: "1", url: "" };
  const ask = (url: string, who: ReturnType<typeof user>) => who.elicit("docs", { ...params, url }, signal);
  const yes = user(["Open it in the browser"]);
  assertEquals(await ask("https://login.example.org/a?b=c", yes), { action: "accept" });
  assertEquals(yes.opened, ["https://login.example.org/a?b=c"]);
  assertStringIncludes(yes.asked[0]?.question ?? "", "\n    login.example.org\n");
  for (const answer of [["Decline"], undefined, ["anything"]]) {
    const no = user(answer);
    assertEquals(await ask("https://a.example/", no), { action: answer ? "decline" : "cancel" });
    assertEquals(no.opened, []);
  }
  for (const url of ["file:///etc/passwd", "javascript:alert(1)", "not an address", "ssh://host"]) {
    const never = user(["Open it in the browser"]);
    assertEquals(await ask(url, never), { action: "decline" });
    assertEquals([never.asked.length, never.opened.length, never.notices.length], [0, 0, 1]);
  }
  const lookalike = user(["Decline"]);
  await ask("http://exаmple.org/", lookalike);
  assertStringIncludes(lookalike.asked[0]?.question ?? "", "xn--");
  assertStringIncludes(lookalike.asked[0]?.question ?? "", "not encrypted");
});

Deno.test("a headless run shows no prompt and reports that", async () => {
  const none = context(undefined);
  const elicit = elicitation({ ...none, open: () => false });
  assertEquals(await elicit("docs", form({ name: { type: "string" } }), signal), { action: "cancel" });
  assertEquals(none.notices, [
    'MCP server docs asked "Who are you?", and this run has no prompt: the server was notified',
  ]);
});

Deno.test("text of servers is bounded and cannot send terminal sequences", async () => {
  const bad = user(["Decline"]);
  await bad.elicit("s\x1b[31m", {
    ...form({ ["a\x1b]0;t\x07"]: { type: "string", title: "\x1b[2J" } }, ["a"]),
    message: "\x1b[H".repeat(10_000),
  }, signal);
  const { question = "" } = bad.asked[0] ?? {};
  assert(!question.includes("\x1b") && question.length < 5_000, String(question.length));
});

Deno.test("answers are checked by kind and format", () => {
  const check = (property: Record<string, unknown>, answer: string) => {
    const [field] = formFields({ properties: { a: property } }).fields;
    assert(field);
    const checked = checkedAnswer(field, [answer]);
    return "value" in checked ? checked.value : checked.problem;
  };
  const rows: readonly [property: Record<string, unknown>, answer: string, expected: string][] = [
    [{ type: "string", format: "email" }, "a@b", "format"],
    [{ type: "string", format: "email" }, "a@b.example", "a@b.example"],
    [{ type: "string", format: "date" }, "2026-02-31", "format"],
    [{ type: "string", format: "date" }, "2026-02-28", "2026-02-28"],
    [{ type: "string", format: "date-time" }, "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z"],
    [{ type: "string", format: "uri" }, "nothing", "format"],
    [{ type: "string", maxLength: 2 }, "世界人", "max"],
    [{ type: "integer" }, "1.5", "integer"],
    [{ type: "number", maximum: 2 }, "2.5", "max"],
    [{ type: "number" }, "", "number"],
    [{ type: "boolean" }, "perhaps", "boolean"],
    [{ enum: ["a", "b"], enumNames: ["First"] }, "First", "a"],
    [{ enum: ["a"] }, "c", "choice"],
    [{ type: "array", minItems: 2, items: { enum: ["a", "b"] } }, "a", "min"],
  ];
  for (const [property, answer, expected] of rows) {
    assertEquals(check(property, answer), expected, `${JSON.stringify(property)} ${answer}`);
  }
});

const params = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "Say hello" } }],
  systemPrompt: "Be brief",
  maxTokens: 100,
};

function model(answers: readonly (string | undefined)[] | undefined, budget = 20_000) {
  const shared = context(answers?.map((answer) => answer === undefined ? undefined : [answer]));
  const events: NewEvent[] = [];
  const sample = sampling({
    ...shared,
    provider: scriptedProvider([say("Hello"), say("Again"), say("More")], { provider: "mock", id: "one" }),
    budget,
    record: (event) => void events.push(event),
  });
  return { ...shared, events, sample };
}

Deno.test("sampling for a server requires approval, counts usage and does not change the conversation", async () => {
  const { sample, asked, events, notices } = model(["Allow once", "Allow once"]);
  const result = await sample("docs", params, signal);
  assertEquals([result.content, result.model, result.stopReason], [
    { type: "text", text: "Hello" },
    "one",
    "endTurn",
  ]);
  assertStringIncludes(asked[0]?.question ?? "", "MCP server docs wants the model to write a message");
  assertStringIncludes(asked[0]?.question ?? "", "System prompt: Be brief\nLast message: Say hello");
  assertEquals(
    events.map((event) => [event.type, "origin" in event ? event.origin : "step" in event && event.step]),
    [
      ["message.user", "summary"],
      ["message.end", 0],
    ],
  );
  assertEquals(notices.length, "usage" in (events[1] ?? {}) ? 1 : 0);
  await sample("docs", params, signal);
  assertEquals(asked.length, 2);
});

Deno.test("a session approval applies to that server only", async () => {
  const { sample, asked } = model(["Allow this server for the session", "Decline"]);
  await sample("docs", params, signal);
  await sample("docs", params, signal);
  assertEquals(asked.length, 1);
  await assertRejects(() => sample("other", params, signal), Error, "The user declined");
  assertEquals(asked.length, 2);
});

Deno.test("a dismissed prompt and a headless run refuse the request", async () => {
  await assertRejects(() => model([undefined]).sample("docs", params, signal), Error, "The user declined");
  const headless = model(undefined);
  await assertRejects(() => headless.sample("docs", params, signal), Error, "No user is available");
  assertStringIncludes(headless.notices[0] ?? "", "this run has no prompt");
  assertEquals(headless.events, []);
});

Deno.test("a server that has used up its budget is refused without a prompt, and others are not", async () => {
  const small = model(["Allow once", "Allow once"], 30);
  await small.sample("docs", { ...params, maxTokens: 10 }, signal);
  const long = {
    ...params,
    messages: [{ role: "user" as const, content: { type: "text" as const, text: "x".repeat(200) } }],
  };
  await assertRejects(() => small.sample("docs", long, signal), Error, "budget");
  assertEquals(small.asked.length, 1);
  assertStringIncludes(small.notices.at(-1) ?? "", "of 30 tokens");
  await small.sample("other", params, signal);
});

Deno.test("several messages at once prompt one after the other, within the budget, and may fail apart", async () => {
  const session = model(["Allow this server for the session"]);
  const all = await Promise.all([1, 2, 3].map(() => session.sample("docs", params, signal)));
  assertEquals(all.map(({ content }) => "text" in content && content.text), ["Hello", "Again", "More"]);
  assertEquals(session.asked.length, 1);

  // Each may need 5 + 100 tokens: the second one is refused before the first one has been written.
  const small = model(["Allow this server for the session"], 105);
  const parted = { ...params, metadata: { "reasonix/failure": "result" } };
  const [first, second] = await Promise.all([1, 2].map(() => small.sample("docs", parted, signal)));
  assertEquals([first?.stopReason, second?.stopReason], ["endTurn", "error"]);
  assertEquals(second?.content, { type: "text", text: "The budget for messages of the model is used up" });

  const headless = model(undefined);
  const refused = await Promise.all([1, 2].map(() => headless.sample("docs", parted, signal)));
  assertEquals(refused.map(({ stopReason }) => stopReason), ["error", "error"]);
  assertEquals(headless.notices.length, 1);
});
