import { TodoReminder } from "../../../src/context/todo_reminder.ts";
import type { Message } from "../../../src/core/mod.ts";
import type { SessionState, TodoItem } from "../../../src/session/mod.ts";
import { displayWidth } from "../../../src/util/display_width.ts";
import { checklist } from "../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";

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
