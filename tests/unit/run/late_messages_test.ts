/** Messages to the model at the end: its mode, and its todo list. */
import { type AgentOptions, createAgent } from "../../../src/features/mod.ts";
import type { Event, Message } from "../../../src/core/mod.ts";
import { call, type Reply, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (
  ...made: ReturnType<typeof call>[]
): Reply => [...made, { type: "done", reason: "tool_calls" }];
const LOOK = calls(call("l", "ls", { path: "." }));
const todos = (...names: string[]): Reply =>
  calls(
    call("t", "todo_write", { todos: names.map((content) => ({ content, status: "pending" })) }),
  );

interface Part {
  readonly replies: readonly Reply[];
  readonly turns: readonly string[];
  readonly options?: AgentOptions;
}

/** Runs one session in one process after the other; returns all requests and events. */
async function inProcesses(...parts: readonly Part[]) {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  const events: Event[] = [];
  const requests: (readonly Message[])[] = [];
  for (const { replies, turns, options = {} } of parts) {
    const first = events.find((event) => event.type === "session.start");
    const provider = scriptedProvider(replies);
    await using agent = await createAgent({
      cwd,
      home,
      provider,
      session: first?.type === "session.start" ? { resume: first.session } : "file",
      config: { sandbox: { bash: "off" } },
      onEvent: (event) => void events.push(event),
      ...options,
    });
    for (const turn of turns) await agent.run(turn);
    requests.push(...provider.requests);
  }
  for (const [at, messages] of requests.slice(1).entries()) {
    assertEquals(messages.slice(0, requests[at]?.length), requests[at], "each request extends the last one");
  }
  return { events, requests };
}

const tagged = (messages: readonly Message[] | undefined, tag: string) =>
  (messages ?? []).flatMap(({ role, content }) =>
    role === "user" && content.startsWith(`<${tag}>`) ? [content] : []
  );
const modesTold = (messages: readonly Message[] | undefined) =>
  tagged(messages, "mode").map((content) => content.slice("<mode>\n".length, content.indexOf(" mode is on")));

Deno.test("a session resumed in another mode notifies the model once per change", async () => {
  const inMode = (permissionMode: AgentOptions["permissionMode"], ...turns: string[]): Part => ({
    replies: turns.map(say),
    turns,
    options: permissionMode === undefined ? {} : { permissionMode },
  });
  const { requests, events } = await inProcesses(
    inMode(undefined, "1"),
    inMode("read-only", "2", "3"),
    inMode("read-only", "4"),
    inMode(undefined, "5"),
    inMode("danger-full-access", "6"),
    inMode(undefined, "7"),
  );
  assertEquals(requests.map((messages) => modesTold(messages).join(" ")), [
    "",
    "Read-only",
    "Read-only",
    "Read-only",
    "Read-only Workspace-write",
    "Read-only Workspace-write Full-access",
    "Read-only Workspace-write Full-access Workspace-write",
  ]);
  const recorded = events.flatMap((event) => event.type === "mode.change" ? [event.mode] : []);
  assertEquals(recorded, ["read-only", "workspace-write", "danger-full-access", "workspace-write"]);
  const sources = events.flatMap((event) =>
    event.type === "message.user" && event.content.startsWith("<mode>") ? [event.origin] : []
  );
  assertEquals(new Set(sources), new Set(["context"]));
});

Deno.test("a session that starts with full access has no notice until that changes", async () => {
  const full: AgentOptions = { permissionMode: "danger-full-access" };
  const { requests } = await inProcesses(
    { replies: [say("1")], turns: ["1"], options: full },
    { replies: [say("2")], turns: ["2"], options: full },
    { replies: [say("3")], turns: ["3"] },
  );
  assertEquals(requests.map((messages) => modesTold(messages)), [[], [], ["Workspace-write"]]);
});

Deno.test("open todo entries are repeated as reminders, also in another process", async () => {
  const { requests, events } = await inProcesses(
    { replies: [todos("解析器を直す 🛠️", "Test"), say("later")], turns: ["go"] },
    {
      replies: [LOOK, todos("Test"), ...Array.from({ length: 12 }, () => LOOK), say("done"), say("fine")],
      turns: ["go on", "thanks"],
    },
  );
  assertEquals(requests.map((messages) => tagged(messages, "todos").length), [
    ...[0, 0],
    // The list of the first process, ten replies after the second list, and nothing new for the last turn.
    ...[1, 1],
    ...Array.from({ length: 10 }, () => 1),
    ...[2, 2, 2, 2],
  ]);
  const reminders = events.flatMap((event) =>
    event.type === "message.user" && event.origin === "reminder" ? [event.content] : []
  );
  assert(reminders[0]?.includes("2 of 2") && reminders[0].includes("[ ] 解析器を直す 🛠️\n[ ] Test"));
  assert(reminders[1]?.includes("1 of 1"));
});

Deno.test("a model without the todo tool gets no reminder", async () => {
  const { requests } = await inProcesses(
    { replies: [todos("Test"), say("later")], turns: ["go"] },
    {
      replies: [say("so")],
      turns: ["go on"],
      options: { config: { tools: { disabled: ["todo_write"] }, sandbox: { bash: "off" } } },
    },
  );
  assertEquals(tagged(requests.at(-1), "todos"), []);
});
