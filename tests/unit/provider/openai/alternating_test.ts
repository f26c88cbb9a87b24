/** Conversations for chat templates in which user and assistant must alternate. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { AlternatingMessages } from "../../../../src/provider/kinds/openai/chat_request.ts";
import { RequestBuffer } from "../../../../src/provider/wire/request_buffer.ts";
import { collect, InstantClock, openClient, providerEntry } from "../../../support/model_client.ts";
import { pairingProblems, rawMessages } from "../../../support/model_checks.ts";
import { startModelServer } from "../../../support/model_server.ts";

const PREFIX = { system: "Be brief", tools: [] };
const IMAGE = { mime: "image/png", data: "AAAA" };

interface Sent {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: unknown;
}

const user = (content: string): Message => ({ role: "user", content });
const says = (content: string): Message => ({ role: "assistant", content });
const calls = (...ids: string[]): Message => ({
  role: "assistant",
  content: "",
  calls: ids.map((id) => ({ id, name: "ls", arguments: "{}" })),
});
const result = (callId: string, images = false): Message => ({
  role: "tool",
  callId,
  name: "ls",
  content: "ok",
  ...(images ? { images: [IMAGE] } : {}),
});

/** The rule of the template: replies with calls and results do not count. */
function breaksRule(messages: readonly Sent[]): boolean {
  const counted = messages.filter(({ role, tool_calls }) =>
    role === "user" || (role === "assistant" && tool_calls === undefined)
  );
  return counted.some(({ role }, at) => role !== (at % 2 === 0 ? "user" : "assistant"));
}

function bufferOf(fields: Record<string, unknown> = {}): RequestBuffer {
  const entry = providerEntry(fields);
  const model = { provider: entry.name, id: "m", vision: true };
  return new RequestBuffer(({ prefix }) => new AlternatingMessages({ entry, model }, prefix));
}

function bodyOf(buffer: RequestBuffer, messages: readonly Message[]): string {
  return new TextDecoder().decode(buffer.body({ prefix: PREFIX, messages }));
}

function sent(messages: readonly Message[], fields?: Record<string, unknown>): readonly Sent[] {
  const found = JSON.parse(bodyOf(bufferOf(fields), messages)).messages;
  assert(!breaksRule(found), JSON.stringify(found));
  assertEquals(pairingProblems(found), []);
  return found;
}

const shape = (messages: readonly Sent[]) => messages.map(({ role, content }) => [role, content]);

Deno.test("alternating messages merge consecutive user messages", () => {
  assertEquals(
    shape(sent([user("<environment>"), user("看 👩‍👩‍👧"), says("Hi"), user("a"), user(""), user("b")])),
    [
      ["system", "Be brief"],
      ["user", "<environment>\n\n看 👩‍👩‍👧"],
      ["assistant", "Hi"],
      ["user", "a\n\nb"],
    ],
  );
});

Deno.test("alternating messages put the system prompt into the first message without a system role", () => {
  const fields = { compat: { system_role: "user" } };
  assertEquals(shape(sent([user("Go")], fields)), [["user", "Be brief\n\nGo"]]);
});

Deno.test("alternating messages put results before the next user message", () => {
  const talk = [
    user("Go"),
    calls("a", "b"),
    result("a"),
    result("b"),
    user("Wait"),
    user("Stop"),
    says("Yes"),
  ];
  assertEquals(sent(talk).map(({ role, content }) => [role, content]), [
    ["system", "Be brief"],
    ["user", "Go"],
    ["assistant", null],
    ["tool", "ok"],
    ["tool", "ok"],
    ["assistant", "(read)"],
    ["user", "Wait\n\nStop"],
    ["assistant", "Yes"],
  ]);
});

Deno.test("alternating messages merge images of results with the next user message", () => {
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const found = sent([user("Go"), calls("a"), result("a", true), user("What is it?")]);
  assertEquals(found.at(-1), {
    role: "user",
    content: [{ type: "text", text: "Images from the tool results above:" }, picture, {
      type: "text",
      text: "What is it?",
    }],
  } as unknown as Sent);
});

Deno.test("alternating messages begin with a user message and put one between two replies", () => {
  assertEquals(shape(sent([says("Hello"), says("Again"), user("Hm")])), [
    ["system", "Be brief"],
    ["user", "Continue."],
    ["assistant", "Hello"],
    ["user", "Continue."],
    ["assistant", "Again"],
    ["user", "Hm"],
  ]);
});

Deno.test("alternating messages are append-only, also after a resume, except without an answer", () => {
  const talk: Message[] = [];
  const buffer = bufferOf();
  let before = "";
  const next = (...more: readonly Message[]) => {
    talk.push(...more);
    const body = bodyOf(buffer, talk);
    assertEquals(body, bodyOf(bufferOf(), [...talk]));
    const list = rawMessages(body);
    const grows = list.startsWith(before);
    before = list;
    return grows;
  };
  assert(next(user("<environment>"), user("Go")));
  for (let step = 0; step < 20; step++) {
    const late = step % 3 === 0 ? [user(`late ${step}`)] : [];
    assert(next(calls(`c${step}`), result(`c${step}`, step % 4 === 0), ...late), `${step}`);
  }
  assert(next(says("Done."), user("More")));
  const last = before;
  // The request was aborted: nothing came, and the user continues.
  assertEquals(next(user("No, this")), false);
  assertEquals(before.slice(0, last.length - '"}'.length), last.slice(0, -'"}'.length));
  assert(next(says("Fine."), user("Thanks")));
});

Deno.test("an error about alternating roles names the setting and is not retried", async () => {
  const output = [
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the optional system message, conversation roles must alternate user and assistant roles",
    "Jinja Exception: Conversation roles must alternate user/assistant at row 12",
  ];
  for (const message of output) {
    for (const status of [400, 500]) {
      await using server = startModelServer([{ status, body: { error: { code: status, message } } }]);
      const { error, retries } = await collect(await openClient(server, { clock: new InstantClock() }));
      assertEquals([error?.kind, retries], ["bad_request", []]);
      assertStringIncludes(error?.message ?? "", "set compat = { alternate_roles = true } for this provider");
    }
  }
  await using server = startModelServer([{ text: "ok" }]);
  const provider = await openClient(server, { entry: { compat: { alternate_roles: true } } });
  assertEquals((await collect(provider, [user("a"), user("b")])).text, "ok");
  assertEquals(server.requests[0]?.json.messages.at(-1).content, "a\n\nb");
});
