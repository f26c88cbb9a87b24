import { countTokens } from "gpt-tokenizer/encoding/cl100k_base";
import llama from "llama-tokenizer-js";
import { LateInstructions, loadInstructionGlobs, loadInstructions } from "../../../src/context/mod.ts";
import { roughTokens } from "../../../src/context/rough_tokens.ts";
import { TodoReminder } from "../../../src/context/todo_reminder.ts";
import { TokenCounter } from "../../../src/context/tokens.ts";
import type { Message, Prefix } from "../../../src/core/mod.ts";
import type { SessionState, TodoItem } from "../../../src/session/mod.ts";
import { BUILTINS, checklist, ToolRegistry } from "../../../src/tool/mod.ts";
import { displayWidth } from "../../../src/util/display_width.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, writeFiles } from "../../support/tool_context.ts";

const HOME = "/nonexistent-home";
const { describe } = new ToolRegistry(BUILTINS);

const touching = (...paths: string[]): Message => ({
  role: "assistant",
  content: "",
  calls: paths.map((path, i) => ({ id: `c${i}`, name: "read_file", arguments: JSON.stringify({ path }) })),
});

function late(cwd: string, messages: () => readonly Message[], maxBytes = 10_000) {
  return new LateInstructions({ cwd, home: HOME, maxBytes, messages, describe });
}

Deno.test("LateInstructions reports the files of a subtree once, when a call first touches it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    ".git/HEAD": "",
    "AGENTS.md": "root",
    "a/AGENTS.md": "about a",
    "a/b/CLAUDE.md": "about b",
    "a/b/x.ts": "",
    "c/x.ts": "",
  });
  const messages: Message[] = [{ role: "user", content: "go" }];
  const instructions = late(dir.path, () => messages);
  assertEquals(instructions.take(), []);
  messages.push(touching("top.ts", "./a/../a/b/x.ts", "/etc/hosts", "../outside.ts"));
  const texts = instructions.take();
  assertEquals(texts.map((text) => text.split("\n")[0]), [
    '<instructions folder="a">',
    '<instructions folder="a/b">',
  ]);
  assertStringIncludes(texts[1] ?? "", "## a/b/CLAUDE.md (project)\nabout b\n</instructions>");
  messages.push(touching("a/b/y.ts", "c/x.ts", `${dir.path}/a`));
  assertEquals(instructions.take(), []);
});

Deno.test("LateInstructions recognizes earlier instructions in a resumed or rewound conversation", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a/AGENTS.md": "about a", "b/AGENTS.md": "about b" });
  let messages: readonly Message[] = [touching("b/x"), {
    role: "user",
    content: '<instructions folder="a">\n…',
  }];
  const instructions = late(dir.path, () => messages);
  assertEquals(instructions.take(), []);
  messages = [...messages, touching("a/x", "b/x")];
  assertEquals(instructions.take().map((text) => text.split("\n")[0]), ['<instructions folder="b">']);
  messages = [{ role: "user", content: "rewound" }, touching("a/x")];
  assertEquals(instructions.take().map((text) => text.split("\n")[0]), ['<instructions folder="a">']);
});

Deno.test("LateInstructions stays within its byte limit and reports truncation", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a/AGENTS.md": "x".repeat(50), "b/AGENTS.md": "y" });
  const notices: string[] = [];
  const instructions = new LateInstructions({
    cwd: dir.path,
    home: HOME,
    maxBytes: 20,
    messages: () => [],
    describe,
    onNotice: (notice) => notices.push(notice.problem),
  });
  assertStringIncludes(instructions.touch("a/x")[0] ?? "", "x".repeat(20));
  assertEquals(instructions.touch("b/x"), []);
  assertEquals(notices.length, 1);
});

Deno.test("loadInstructions rejects a link that leaves the repository, not one inside it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "secret.md": "secret",
    "p/.git/HEAD": "",
    "p/docs/agents.md": "inside",
    "p/sub/x": "",
    "home/x": "",
  });
  await Deno.symlink("docs/agents.md", `${dir.path}/p/AGENTS.md`);
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/p/sub/AGENTS.md`);
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/home/AGENTS.md`);
  const found = loadInstructions({ cwd: `${dir.path}/p/sub`, home: `${dir.path}/home`, maxBytes: 1_000 });
  assertEquals(found.files.map((file) => file.text), ["secret", "inside"]);
  assertEquals(found.notices, [{
    path: `${dir.path}/p/sub/AGENTS.md`,
    problem: "left out: it is a link that leads out of the repository",
  }]);
});

Deno.test("expandInstructionGlobs returns sorted matches and keeps plain paths unchanged", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "docs/b.md": "",
    "docs/a.md": "",
    "docs/deep/c.md": "",
    "docs/d.txt": "",
    "docs/node_modules/e.md": "",
  });
  const { expandInstructionGlobs } = await loadInstructionGlobs();
  const at = (name: string) => `${dir.path}/${name}`;
  assertEquals(await expandInstructionGlobs([at("x.md"), at("docs/*.md")]), [
    at("x.md"),
    at("docs/a.md"),
    at("docs/b.md"),
  ]);
  assertEquals(await expandInstructionGlobs([at("docs/**/*.md")]), [
    at("docs/a.md"),
    at("docs/b.md"),
    at("docs/deep/c.md"),
  ]);
  assertEquals(await expandInstructionGlobs([at("none/*.md")]), []);
});

Deno.test("loadInstructions rejects a configured file that links out of the repository", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "secret.md": "secret", "p/.git/HEAD": "", "home/x": "" });
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/p/more.md`);
  const extra = [`${dir.path}/p/more.md`, `${dir.path}/secret.md`];
  const found = loadInstructions({ cwd: `${dir.path}/p`, home: `${dir.path}/home`, extra, maxBytes: 1_000 });
  assertEquals(found.files.map((file) => file.path), [`${dir.path}/secret.md`]);
  assertEquals(found.notices.map((notice) => notice.path), [`${dir.path}/p/more.md`]);
});

Deno.test("CLAUDE.local.md of a project follows AGENTS.md or CLAUDE.md, and REASONIX.md follows it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "home/CLAUDE.local.md": "of no user",
    "repo/.git/HEAD": "",
    "repo/CLAUDE.local.md": "\uFEFFroot notes, see @notes/x.md\r\n",
    "repo/notes/x.md": "taken in",
    "repo/sub/REASONIX.md": "ours",
    "repo/sub/CLAUDE.local.md": "notes",
    "repo/sub/CLAUDE.md": "theirs",
    "repo/sub/deep/CLAUDE.local.md": "deep notes",
    "secret": "secret",
  });
  await Deno.mkdir(`${dir.path}/repo/sub/x`);
  await Deno.symlink("../../../secret", `${dir.path}/repo/sub/x/CLAUDE.local.md`);
  const options = { cwd: `${dir.path}/repo/sub`, home: `${dir.path}/home`, maxBytes: 10_000 };
  const { files } = loadInstructions(options);
  assertEquals(files.map(({ text }) => text.trim()), [
    "root notes, see @notes/x.md\n\n\n## notes/x.md\ntaken in",
    "theirs",
    "notes",
    "ours",
  ]);
  const messages: Message[] = [{ role: "user", content: "go" }];
  const instructions = late(options.cwd, () => messages);
  instructions.take();
  messages.push(touching("deep/a.ts", "x/a.ts"));
  const sent = instructions.take();
  assertEquals(sent.length, 1);
  assertStringIncludes(sent[0] ?? "", "## deep/CLAUDE.local.md (project)\ndeep notes");
});

const user = (content: string): Message => ({ role: "user", content });
const reply: Message = { role: "assistant", content: "", calls: [{ id: "c", name: "ls", arguments: "{}" }] };
const result = (content: string): Message => ({ role: "tool", callId: "c", name: "ls", content });
const todo = (content: string, status: TodoItem["status"] = "pending"): TodoItem => ({ content, status });

/** A conversation that grows in place; due reminders are appended, as in a run. */
class Talk {
  messages: Message[] = [];
  todos: TodoItem[] = [];
  turn = 0;
  reminder = new TodoReminder();

  begin(text: string): string | undefined {
    this.turn++;
    this.messages.push(user(text));
    return this.next();
  }

  step(content = "ok"): string | undefined {
    this.messages.push(reply, result(content));
    return this.next();
  }

  /** The model writes the list. */
  write(...items: TodoItem[]): string | undefined {
    this.todos = items;
    return this.step(checklist(items));
  }

  next(): string | undefined {
    const turns = [{ turn: this.turn }] as SessionState["turns"];
    const text = this.reminder.take({ messages: this.messages, todos: this.todos, turns });
    if (text !== undefined) this.messages.push(user(text));
    return text;
  }
}

Deno.test("a list unchanged for ten replies causes one reminder, and another only after a change", () => {
  const talk = new Talk();
  assertEquals(talk.begin("go"), undefined);
  assertEquals(talk.write(todo("Parse"), todo("Test"), todo("Read", "completed")), undefined);
  const sent = Array.from({ length: 60 }, () => talk.step());
  assertEquals(sent.flatMap((text, at) => text === undefined ? [] : [at]), [9]);
  assertEquals(
    sent[9],
    "<todos>\nOpen on the todo list, 2 of 3. Unless the user wants something else now, go on with it, and " +
      "keep it true: complete what is done, remove what is no longer needed.\n[ ] Parse\n[ ] Test\n</todos>",
  );
  assertEquals(talk.write(todo("Parse", "completed"), todo("Test", "in_progress")), undefined);
  const later = Array.from({ length: 12 }, () => talk.step());
  assertEquals(later.flatMap((text, at) => text?.includes("1 of 2") ? [at] : []), [9]);
});

Deno.test("a turn begins with the open entries of the previous one, the next turn without them", () => {
  const talk = new Talk();
  talk.begin("go");
  talk.write(todo("Parse", "in_progress"));
  talk.messages.push({ role: "assistant", content: "More tomorrow" });
  assert(talk.begin("And now?")?.includes("[~] Parse"));
  assertEquals([talk.step(), talk.begin("What else?"), talk.step()], [undefined, undefined, undefined]);
  talk.write(todo("Parse", "completed"));
  assertEquals([talk.begin("Nothing is open"), talk.step()], [undefined, undefined]);
});

Deno.test("a list changed by another agent is reported at once, unless a message has named its entries", () => {
  const talk = new Talk();
  talk.begin("go");
  talk.todos = [todo("Build it"), todo("Try it")];
  assert(talk.step()?.includes("[ ] Build it\n[ ] Try it\n"));
  talk.todos = [todo("Plan it"), todo("Do it")];
  assertEquals(talk.step("The plan is approved:\n1. Plan it\n2. Do it"), undefined);
  // Words that an entry happens to consist of are not the entry.
  talk.todos = [todo("it")];
  assert(talk.step("Do it again")?.includes("[ ] it\n"));
});

Deno.test("a compaction that drops the list causes a reminder, one that keeps it does not", () => {
  const talk = new Talk();
  talk.begin("go");
  talk.write(todo("Parse"), todo("Test"));
  talk.messages = [user("go"), user(`<compaction-summary>\nTodo list:\n${checklist(talk.todos)}\n\nEnd`)];
  assertEquals(talk.next(), undefined);
  talk.messages = [user("go"), reply, result("ok")];
  assert(talk.next()?.includes("2 of 2"));
  // The reminder itself is dropped as well.
  talk.messages = [user("go"), reply, result("ok")];
  assert(talk.next() !== undefined);
  assertEquals(talk.next(), undefined);
});

Deno.test("another process sends the reminder at the same step", () => {
  const steps = (talk: Talk, restart: boolean): Message[] => {
    talk.begin("go");
    talk.write(todo("Parse"), todo("Test"));
    for (let at = 0; at < 25; at++) {
      // A turn ends with its process, the next one continues with the same messages.
      if (at === 6) {
        talk.messages.push({ role: "assistant", content: "So far" });
        if (restart) [talk.reminder, talk.messages] = [new TodoReminder(), [...talk.messages]];
        talk.begin("continue");
      }
      if (at === 12) talk.write(todo("Test", "in_progress"));
      talk.step();
    }
    return talk.messages;
  };
  const whole = steps(new Talk(), false);
  assertEquals(steps(new Talk(), true), whole);
  assertEquals(whole.filter(({ content }) => content.startsWith("<todos>")).length, 2);
});

Deno.test("a reminder is bounded in lines and columns and splits no character", () => {
  const talk = new Talk();
  talk.begin("go");
  const family = "👨‍👩‍👧";
  talk.todos = Array.from(
    { length: 100 },
    (_, at) => todo(`${at} ${(at % 2 ? "解析器" : family).repeat(160)}`.slice(0, 500).toWellFormed()),
  );
  const text = talk.step() ?? "";
  const lines = text.split("\n");
  assertEquals([lines.length, lines.at(-2)], [24, "… and 80 more"]);
  assert(lines.slice(2, -2).every((line) => displayWidth(line) <= 120));
  assert(
    lines.slice(2, -2).every((line, at) =>
      at % 2 === 1 || (line.match(/\p{Extended_Pictographic}/gu)?.length ?? 0) % 3 === 0
    ),
  );
  assert(new TextEncoder().encode(text).length < 16_000);
  assertEquals(talk.step(), undefined);
});

const ROOT = new URL("../../../", import.meta.url);
const readText = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));

/** Typical texts of a session: code, prose in two scripts, JSON, listings. */
const TEXTS = [
  readText("src/context/tokens.ts"),
  readText("docs/session-format.md").slice(0, 6_000),
  readText("deno.json"),
  "请修改解析器，使它能够处理多行字符串；不要改变公开的接口，并且运行全部测试。".repeat(20),
  Array.from({ length: 80 }, (_, i) => `src/module_${i}/handler.test.ts:${i * 3}: expect(total).toBe(${i})`)
    .join("\n"),
  readText("src/core/event_schema.ts").slice(0, 5_000),
  "ok",
  readText("README.zh-CN.md").slice(0, 3_000),
  readText("deno.lock").slice(0, 4_000),
];

const PREFIX: Prefix = {
  system: readText("src/context/system.md"),
  tools: new ToolRegistry(BUILTINS).schemas(),
};

type Count = (text: string) => number;

const cl100k: Count = (text) => countTokens(text, { disallowedSpecial: new Set<string>() });

/** Servers with different vocabularies and formats of roles, tools and calls. */
const SERVERS: Readonly<Record<string, Count>> = {
  "cl100k": cl100k,
  "llama": (text) => llama.encode(text, false, false).length,
};

function remembered(count: Count): Count {
  const known = new Map<string, number>();
  return (text) => {
    const tokens = known.get(text) ?? count(text);
    known.set(text, tokens);
    return tokens;
  };
}

/** Tokens of a request with these messages, as such a server reports them. */
function served(messages: readonly Message[], count: Count): number {
  const tools = PREFIX.tools.map((tool) => JSON.stringify({ type: "function", function: tool }));
  const head = count(`<|system|>\n${PREFIX.system}\n\n# Tools\n${tools.join("\n")}`) + 12;
  return messages.reduce((sum, message) => {
    if (message.role === "tool") {
      return sum + 6 + count(`<tool_response>\n${message.content}\n</tool_response>`);
    }
    if (message.role === "user") return sum + 5 + count(message.content);
    const calls = (message.calls ?? []).map(({ name, arguments: args }) =>
      2 + count(`<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`)
    );
    return calls.reduce((all, each) => all + each, sum + 5 + count(message.content));
  }, head);
}

/** A reply with a call that reads or writes a text, and its result. */
function step(number: number, text: string): Message[] {
  const path = `src/file_${number}.ts`;
  const writes = number % 4 === 3;
  const call = {
    id: `c${number}`,
    name: writes ? "write_file" : "read_file",
    arguments: JSON.stringify(writes ? { path, content: text.slice(0, 2_000) } : { path }),
  };
  const content = writes ? "Wrote it" : text;
  return [{ role: "assistant", content: "Looking at it.", calls: [call] }, {
    role: "tool",
    callId: call.id,
    name: call.name,
    content,
  }];
}

/** Steps of the first turn, each with a request. */
const FIRST_TURN = 6;

/** Errors of the estimates of a session before the server counts, that of the first request first. */
function errorsOf(count: Count, begin: number): number[] {
  const counter = new TokenCounter();
  const messages: Message[] = [{ role: "user", content: "What does this project do? Mend its parser." }];
  const errors: number[] = [];
  for (let number = 0; number < 30; number++) {
    const truth = served(messages, count);
    errors.push(Math.abs(counter.estimate(PREFIX, messages) - truth) / truth);
    counter.observe(PREFIX, messages, messages.length, truth);
    if (number >= FIRST_TURN && number % 3 === 0) {
      messages.push({ role: "assistant", content: "Done." }, {
        role: "user",
        content: "现在呢？ And the next one?",
      });
    }
    messages.push(...step(number, TEXTS[(number + begin) % TEXTS.length] ?? ""));
  }
  return errors;
}

for (const [server, open] of Object.entries(SERVERS)) {
  Deno.test(`each estimate is within the documented error of a ${server} server's count`, () => {
    const count = remembered(open);
    // For each kind of text that begins the session.
    for (let begin = 0; begin < TEXTS.length; begin++) {
      const errors = errorsOf(count, begin);
      const shown = `from text ${begin}: ${errors.map((error) => error.toFixed(3)).join(" ")}`;
      assert((errors[0] ?? 1) < 0.25, shown);
      assert(errors.slice(1, 1 + FIRST_TURN).every((error) => error < 0.25), shown);
      assert(errors.slice(1 + FIRST_TURN).every((error) => error < 0.1), shown);
    }
  });
}

Deno.test("estimate is within 10 % after the conversation is replaced by a shorter one", () => {
  const messages: Message[] = [];
  const count = cl100k;
  const counter = new TokenCounter();
  for (const content of TEXTS) {
    messages.push({ role: "user", content });
    counter.observe(PREFIX, messages, messages.length, served(messages, count));
  }
  const kept = messages.splice(0, 3);
  messages.splice(0, Infinity, ...kept);
  const truth = served(messages, count);
  const estimate = counter.estimate(PREFIX, [...messages]);
  assert(Math.abs(estimate - truth) / truth < 0.1, `${estimate} for ${truth}`);
});

Deno.test("estimate counts each message once for repeated calls", () => {
  let reads = 0;
  const message = (text: string): Message => ({
    role: "user",
    get content() {
      reads++;
      return text;
    },
  });
  const counter = new TokenCounter();
  const messages = Array.from({ length: 100 }, (_, i) => message(`message ${i}`));
  counter.estimate(PREFIX, messages);
  const once = reads;
  for (let i = 0; i < 50; i++) {
    messages.push(message("more"));
    counter.estimate(PREFIX, messages);
  }
  assertEquals(reads - once, 50 * (once / 100));
});

Deno.test("roughTokens is within a third of a tokenizer's count for code and prose", () => {
  for (const text of TEXTS) {
    const truth = cl100k(text);
    assert(
      Math.abs(roughTokens(text) - truth) / truth < 0.34,
      `${roughTokens(text)} for ${truth}: ${text.slice(0, 40)}`,
    );
  }
  assertEquals(roughTokens(""), 0);
});
