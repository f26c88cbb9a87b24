import {
  type CreateElicitationRequest,
  methods,
  type RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import { message } from "../../../../src/core/mod.ts";
import { serveAcp } from "../../../../src/frontend/acp/mod.ts";
import { FRONTENDS, Output } from "../../../../src/frontend/mod.ts";
import type { Answer, QuestionKind, QuestionKinds } from "../../../../src/frontend/session/questions.ts";
import { SessionTexts } from "../../../../src/frontend/session/texts.ts";
import type { Chunk } from "../../../../src/core/mod.ts";
import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { serveHere } from "../../../support/acp.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { heldReply, openChat } from "../../../support/chat_stage.ts";
import { liveStage } from "../../../support/live_stage.ts";
import { Random, SEED } from "../../../support/seed.ts";

const tick = () => new Promise<void>((resolve) => setTimeout(resolve));

Deno.test("two clients, a page and a terminal answer 200 questions of a session: exactly one answer counts", async () => {
  const random = new Random(SEED);
  await using stage = await openChat();
  const { live } = stage;
  await stage.until(() => live.assembly !== undefined);
  const sessions = {
    open: (_request: unknown, attach: (session: typeof live) => void = () => {}) => {
      attach(live);
      return Promise.resolve(live);
    },
  };
  const texts = await SessionTexts.load("en");
  const wins = { one: 0, two: 0, terminal: 0, page: 0 };
  const pauses = { one: 0, two: 0, terminal: 0, page: 0 };
  const names = ["one", "two", "terminal", "page"] as const;
  const pause = async (who: keyof typeof wins) => {
    for (let left = pauses[who]; left > 0; left--) await tick();
  };
  const client = (who: "one" | "two", choice: string) =>
    serveHere({ sessions, texts, home: stage.home }, {
      directory: stage.cwd,
      capabilities: { elicitation: { form: {} } },
      on: {
        [methods.client.elicitation.create]: async () => {
          await pause(who);
          return { action: "accept" as const, content: { choice } };
        },
      },
    });
  const clients = [await client("one", "0"), await client("two", "1")];
  for (const each of clients) await each.newSession();
  const by: string[] = [];
  live.questions.subscribe((event) => event.state === "answered" && by.push(event.by ?? ""));
  const entries = [{ label: "one" }, { label: "two" }, { label: "three" }];
  for (let round = 0; round < 200; round++) {
    for (const who of names) pauses[who] = random.below(6);
    // A question that is closed at once is sent to no client.
    pauses.page++;
    pauses.terminal++;
    const asked = live.questions.ask("choose", { title: `Round ${round}`, entries }, { called: true });
    const { id = "" } = live.questions.open.at(-1) ?? {};
    void pause("terminal").then(() => live.questions.open[0]?.id === id && stage.terminal.press("escape"));
    void pause("page").then(() => live.questions.answer(id, 2, "web")).catch(String);
    const answer = await asked;
    assertEquals([by.length, live.questions.open.length], [round + 1, 0]);
    assertEquals(by[round], answer === undefined ? "terminal" : answer === 2 ? "web" : "editor");
    wins[answer === undefined ? "terminal" : answer === 2 ? "page" : names[answer] ?? "one"]++;
  }
  assert(Math.min(...Object.values(wins)) > 10, JSON.stringify(wins));
  for (const each of clients) {
    // A question is closed at a client that has not answered when another one has.
    const lines = (from: "agent" | "client", wanted: string | undefined) =>
      each.tape.lines.filter((line) => line.from === from && line.message.method === wanted);
    const asked = lines("agent", methods.client.elicitation.create).map(({ message }) => message.id);
    const closed = lines("agent", "$/cancel_request").map(({ message }) => message.params.requestId);
    const answered = lines("client", undefined).map(({ message }) => message.id);
    assertEquals(asked.length, 200);
    assertEquals(asked.filter((id) => !closed.includes(id) && !answered.includes(id)), []);
    assert(closed.length > 50);
    assertEquals((await each.end()).code, 0);
  }
});

type Fields = Record<string, string | string[]>;

interface QuestionCase<K extends QuestionKind = QuestionKind> {
  readonly kind: K;
  readonly question: QuestionKinds[K]["question"];
  /** The values of a form, and the answer with them. */
  readonly form?: readonly [fields: Fields, answer: Answer<K> | undefined];
  /** The names of the buttons that are pressed in turn, and the answer with them. */
  readonly buttons: readonly [names: readonly string[], answer: Answer<K> | undefined];
}

const CASES: readonly QuestionCase[] = [
  {
    kind: "plan",
    question: { plan: "1. Do it" },
    form: [{ choice: "3", note: "smaller" }, { approve: false, note: "smaller" }],
    buttons: [["Yes, and ask me as before"], { approve: true }],
  },
  {
    kind: "plan",
    question: { plan: "1. Do it" },
    form: [{ choice: "3" }, undefined],
    buttons: [["No…"], undefined],
  },
  {
    kind: "ask",
    question: {
      questions: [
        {
          question: "Which?",
          options: [{ label: "A", description: "first" }, { label: "B" }],
          multiple: false,
        },
        { question: "What else?", options: [{ label: "C" }, { label: "D" }], multiple: true },
      ],
    },
    form: [{ choice_0: "B", text_0: " mine ", choice_1: ["C", "D"] }, [["mine"], ["C", "D"]]],
    buttons: [["A – first", "D"], [["A"], ["D"]]],
  },
  {
    kind: "trust",
    question: { lines: ["hook build"], details: "all of it" },
    form: [{ choice: "1" }, "trust"],
    buttons: [["Not now; continue without it"], "ignore"],
  },
  {
    kind: "copy",
    question: { session: "s", pid: 4 },
    form: [{ choice: "1" }, true],
    buttons: [["Yes"], true],
  },
  {
    kind: "choose",
    question: { title: "Which model?", entries: [{ label: "one" }, { label: "two", detail: "new" }] },
    form: [{ choice: "1" }, 1],
    buttons: [["two – new"], 1],
  },
  {
    kind: "confirm",
    question: { title: "Really?", danger: true },
    form: [{ choice: "0" }, false],
    buttons: [["! Yes"], true],
  },
  {
    kind: "prompt",
    question: { title: "Title?", initial: "old" },
    form: [{ text: "new" }, "new"],
    buttons: [[], undefined],
  },
  { kind: "show", question: { title: "Shown", text: "text" }, buttons: [[], null] },
  {
    kind: "changes",
    question: {
      title: "Changed",
      files: [{ path: "a.ts", what: "edited", added: 1, removed: 0, diff: "+x" }],
    },
    buttons: [[], null],
  },
  {
    kind: "approval",
    question: {
      callId: "c1",
      tool: "bash",
      subject: "rm -rf build",
      reason: message`no rule covers it`,
      scopes: ["once", "session", "always"],
      rule: "Bash(rm -rf build)",
      prefixRule: "Bash(rm:*)",
      savedIn: "/home/u/config.toml",
      sessionRule: "Bash(rm -rf build)",
    },
    buttons: [["Yes, always everywhere: Bash(rm -rf build) – saved in /home/u/config.toml"], {
      allow: true,
      scope: "always",
    }],
  },
  {
    kind: "approval",
    question: {
      callId: "c2",
      tool: "bash",
      subject: "rm -rf /",
      reason: "",
      scopes: ["once"],
      destructive: [{ command: "rm -rf /", targets: [], reason: message`everything is deleted` }],
      personOnly: true,
    },
    buttons: [["No"], { allow: false, scope: "once" }],
  },
  {
    kind: "approval",
    question: {
      callId: "n1",
      tool: "bash",
      subject: "curl https://example.org",
      reason: "",
      scopes: ["once"],
      network: { hosts: ["example.org"] },
      savesHosts: true,
    },
    buttons: [["Yes, and let commands reach example.org in this session"], {
      allow: true,
      scope: "once",
      network: "session",
    }],
  },
  {
    kind: "approval",
    question: {
      callId: "n2",
      tool: "write_file",
      subject: "/srv/a.txt",
      reason: "",
      scopes: ["once", "session"],
      directory: "/srv",
      escape: { evidence: "Read-only file system" },
    },
    buttons: [["Yes, and let files and commands write in /srv in this session"], {
      allow: true,
      scope: "session",
    }],
  },
];

Deno.test("an editor shows every kind of question by a form or by buttons, and its answers count", async () => {
  await using stage = await liveStage();
  const { sessions, texts, home, cwd: directory } = stage;
  const forms: CreateElicitationRequest[] = [];
  const permissions: RequestPermissionRequest[] = [];
  let fields: Fields = {};
  let names: string[] = [];
  const on = {
    [methods.client.elicitation.create]: ({ params }: { readonly params: CreateElicitationRequest }) => {
      forms.push(params);
      return { action: "accept" as const, content: fields };
    },
    [methods.client.session.requestPermission]: (
      { params }: { readonly params: RequestPermissionRequest },
    ) => {
      permissions.push(params);
      const name = names.shift();
      const option = params.options.find((each) => each.name === name);
      if (!option) throw new Error(`no ${name}: ${params.options.map((each) => each.name).join(" | ")}`);
      return { outcome: { outcome: "selected" as const, optionId: option.optionId } };
    },
  };
  for (const hasForms of [true, false]) {
    const capabilities = hasForms ? { elicitation: { form: {} } } : {};
    const acp = await serveHere({ sessions, texts, home }, { directory, capabilities, on });
    const live = sessions.get(await acp.newSession());
    assert(live);
    for (const { kind, question, form, buttons } of CASES) {
      const isForm = hasForms && form !== undefined;
      [fields, names] = [form?.[0] ?? {}, [...buttons[0]]];
      assertEquals(
        await live.questions.ask(kind, question),
        isForm ? form[1] : buttons[1],
        `${kind} ${hasForms}`,
      );
      assertEquals([names.length > 0, isForm], [isForm && buttons[0].length > 0, isForm], kind);
    }
    await acp.tape.seen(({ params }) => params?.update?.sessionUpdate === "available_commands_update");
    await acp.agent.request(methods.agent.session.list, {});
    const said = acp.updates().flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
        ? [update.content.text]
        : []
    ).join("");
    for (
      const text of ["Shown\n\ntext", "a.ts: edited +1 −0", ...(hasForms ? [] : ['"Title?" needs a form'])]
    ) {
      assert(said.includes(text), said);
    }
    // Calls that were made for buttons have ended.
    const made = acp.updates().filter((update) => update.sessionUpdate === "tool_call");
    const ended = acp.updates().filter((update) => update.sessionUpdate === "tool_call_update");
    assertEquals([made.length, ended.length], hasForms ? [0, 0] : [8, 8]);
    await acp.end();
  }
  const [first, second] = permissions.filter(({ toolCall }) => /^c/.test(toolCall.toolCallId));
  assertEquals(first?.options.map(({ kind, optionId }) => [kind, optionId]), [
    ["allow_once", "allow once"],
    ["allow_always", "allow session"],
    ["allow_always", "allow session rule:Bash(rm:*)"],
    ["allow_always", "allow always"],
    ["allow_always", "allow always rule:Bash(rm:*)"],
    ["reject_once", "reject once"],
  ]);
  assertEquals(second?.options.map(({ kind }) => kind), ["allow_once", "reject_once"]);
  const [content] = second?.toolCall.content ?? [];
  const text = content?.type === "content" && content.content.type === "text" ? content.content.text : "";
  for (const part of ["everything is deleted", "│ rm -rf /"]) assert(text.includes(part), text);
});

Deno.test("a client that loads a session in the middle of a turn sees all of it and answers its question", async () => {
  const steps: Chunk[] = [
    { type: "text", text: "I write a file" },
    call("c1", "write_file", { path: "a.txt", content: "new\n" }),
    { type: "done", reason: "tool_calls" },
  ];
  const counted = Promise.withResolvers<void>();
  const replies = [say("Hello"), steps, say("Written"), heldReply("Counting", counted.promise)];
  await using stage = await liveStage({ replies });
  const { sessions, texts, home, cwd: directory } = stage;
  const permissions: RequestPermissionRequest[] = [];
  const closed = Promise.withResolvers<void>();
  const first = await serveHere({ sessions, texts, home }, {
    directory,
    on: {
      [methods.client.session.requestPermission]: ({ signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            closed.resolve();
            reject(signal.reason);
          })
        ),
    },
  });
  const id = await first.newSession();
  assertEquals(await first.prompt(id, "Say hello"), "end_turn");
  const running = first.prompt(id, "Write a.txt");
  await first.tape.seen(({ method }) => method === methods.client.session.requestPermission);
  const second = await serveHere({ sessions, texts, home }, {
    directory,
    on: {
      [methods.client.session.requestPermission]: ({ params }) => {
        permissions.push(params);
        return { outcome: { outcome: "selected", optionId: "allow once" } };
      },
    },
  });
  await second.agent.request(methods.agent.session.load, { sessionId: id, cwd: directory, mcpServers: [] });
  assertEquals(await running, "end_turn");
  await closed.promise;
  assertEquals(permissions.map(({ toolCall }) => toolCall.content?.map(({ type }) => type)), [[
    "content",
    "diff",
  ]]);
  const texts_ = (acp: typeof first, kind: string) =>
    acp.updates(id).flatMap((update) =>
      update.sessionUpdate === kind && "content" in update && update.content && "text" in update.content
        ? [update.content.text]
        : []
    ).join("|");
  assertEquals(texts_(second, "user_message_chunk"), "Say hello|Write a.txt");
  assertEquals(texts_(second, "agent_message_chunk"), "Hello|I write a file|Written");
  const statuses = second.updates(id).flatMap((update) =>
    "status" in update && update.status ? [update.status] : []
  );
  assertEquals(statuses.at(-1), "completed");
  // Both have it: a turn of the first continues for the second, for which the session stays open.
  const left = first.prompt(id, "Count");
  await second.tape.seen(({ params }) => params?.update?.content?.text === "Counting");
  const waiting = first.prompt(id, "And then");
  await first.agent.request(methods.agent.session.close, { sessionId: id });
  assertEquals([await left, await waiting], ["cancelled", "cancelled"]);
  assert(sessions.get(id)?.submissions.busy);
  assertEquals(sessions.get(id)?.submissions.waiting, []);
  counted.resolve();
  await second.agent.request(methods.agent.session.close, { sessionId: id });
  assertEquals(sessions.get(id), undefined);
  for (const each of [first, second]) assertEquals((await each.end()).code, 0);
});

Deno.test("a client that does not read neither stops a turn nor fills the memory, and gets all of the text later", async () => {
  const piece = "0123456789abcdef".repeat(256);
  const count = 2000;
  const flood: Reply = async function* () {
    for (let at = 0; at < count; at++) {
      if (at % 50 === 0) await tick();
      yield { type: "text", text: piece };
    }
    yield { type: "done", reason: "stop" };
  };
  await using stage = await liveStage({ replies: [flood] });
  const { sessions, texts, home, cwd: directory } = stage;
  const acp = await serveHere({ sessions, texts, home }, { directory, check: false });
  const id = await acp.newSession();
  const live = sessions.get(id);
  assert(live);
  acp.stall(true);
  const ended = Promise.withResolvers<number>();
  live.attach({
    name: "other",
    event: (event) => event.type === "turn.end" && ended.resolve(acp.waiting()),
  });
  const running = acp.prompt(id, "Flood me");
  const waiting = await ended.promise;
  assert(waiting < 2 * 1024 * 1024 + piece.length * count, `${waiting}`);
  acp.stall(false);
  assertEquals(await running, "end_turn");
  const text = acp.updates(id).flatMap((update) =>
    update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
      ? [update.content.text]
      : []
  ).join("");
  assertEquals(text.length, piece.length * count);
  assert(text === piece.repeat(count));
  await acp.end();
});

Deno.test("a session that is being opened is given up when the client cancels the request", async () => {
  const opening = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  await using stage = await liveStage({
    beforeOpen() {
      opening.resolve();
      return held.promise;
    },
  });
  const { sessions, texts, home, cwd: directory } = stage;
  const acp = await serveHere({ sessions, texts, home }, { directory });
  const stop = new AbortController();
  const asked = acp.agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] }, {
    cancellationSignal: stop.signal,
  }).then(() => 0, ({ code }) => code);
  await opening.promise;
  stop.abort();
  assertEquals(await asked, -32800);
  held.resolve();
  while (sessions.all.length > 0) await tick();
  assertEquals((await acp.end()).code, 0);
});

Deno.test("a client that never reads ends its connection when 64 MB wait for it", async () => {
  const lines = new TransformStream<string, string>();
  const out = new Output({ write: () => new Promise<never>(() => {}) });
  const ended = serveAcp({
    input: lines.readable.pipeThrough(new TextEncoderStream()),
    out,
    sessions: { open: () => Promise.reject(new TypeError("No session is opened")) },
    texts: await SessionTexts.load("en"),
    home: "/none",
    lines: FRONTENDS.lines,
    inLanguage: (error) => Promise.resolve(error),
    signal: new AbortController().signal,
  });
  const writer = lines.writable.getWriter();
  const send = (id: number, method: string, params = {}) =>
    writer.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  await send(0, methods.agent.initialize, { protocolVersion: 1 });
  // The answer to an unknown method names it.
  const name = "x".repeat(4 * 1024 * 1024);
  let isOver = false;
  void ended.then(() => isOver = true);
  for (let id = 1; id <= 40 && !isOver; id++) {
    const sent = send(id, name).catch(() => {});
    await Promise.race([sent, ended]);
    await tick();
  }
  assertEquals(await ended, false);
  assert(out.waiting > 64 * 1024 * 1024 && out.waiting < 96 * 1024 * 1024, `${out.waiting} characters wait`);
});
