import type { Event, NewEvent } from "../../../src/core/mod.ts";
import { loadEvents, SessionLog, type SessionState } from "../../../src/session/mod.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { begin, createLog, end, reply, result, start, user, withHome } from "./support.ts";

const turn = (number: number): NewEvent[] => [
  begin(number),
  user(`问题 ${number} 🙂`),
  reply("looking", `c${number}`),
  start(`c${number}`),
  result(`c${number}`, `${number} `.repeat(400)),
  reply(`answer ${number}`),
  end(number, `answer ${number}`),
];

/** Writes a session of some turns followed by other events, and returns its file. */
function written(home: string, turns: number, rest: readonly NewEvent[] = []): string {
  const log = createLog(home);
  for (let number = 1; number <= turns; number++) turn(number).forEach((event) => log.append(event));
  rest.forEach((event) => log.append(event));
  log.close();
  return log.paths.path;
}

const seqOf = (number: number) => 1 + 7 * number;
const prune: NewEvent = {
  type: "compaction",
  action: "prune",
  reason: "threshold",
  from: 1,
  to: seqOf(3),
  digest: "[…]",
  keepBelow: 100,
  keepHead: 10,
  keepTail: 10,
} as NewEvent;
const removal: NewEvent = {
  type: "compaction",
  action: "fold",
  reason: "threshold",
  from: seqOf(1),
  to: seqOf(4),
  digest: "What happened before.",
  keepBelow: 5,
} as NewEvent;
const rewind = (to: number, scope = "conversation"): NewEvent =>
  ({ type: "rewind", to, scope }) as unknown as NewEvent;

/** The conversation of a state. */
function facts({ messages, sources, turns, todos, pending, lastSeq, head, usage }: SessionState) {
  return { messages, sources, turns, todos, pending: [...pending], lastSeq, head, usage };
}

const CASES: readonly (readonly [string, readonly NewEvent[]])[] = [
  ["nothing else", []],
  ["a prune", [prune, ...turn(7)]],
  ["a compaction", [removal, ...turn(7)]],
  ["a prune and a compaction", [prune, removal, ...turn(7)]],
  ["a rewind", [rewind(seqOf(2)), ...turn(3)]],
  ["a rewind and its redo", [rewind(seqOf(2)), rewind(seqOf(6))]],
  ["a compaction, a rewind before it and many turns", [
    removal,
    rewind(seqOf(5)),
    ...turn(6),
    rewind(seqOf(1)),
  ]],
  ["a rewind of files", [rewind(seqOf(2), "code"), ...turn(7)]],
  ["an open turn", turn(7).slice(0, 4)],
];

for (const [name, rest] of CASES) {
  Deno.test(`SessionLog.open returns an equal session with messages left in the file: ${name}`, () =>
    withHome((home) => {
      const path = written(home, 6, rest);
      const whole = facts(loadEvents(path).state);
      for (const messagesLater of [false, true]) {
        using log = SessionLog.open(path, { messagesLater });
        assertEquals(log.state.messageList.length, whole.messages.length);
        assertEquals(facts(log.state), whole);
        assert(log.state.messages === log.state.messages, "another array");
      }
    }));
}

Deno.test("messages of an opened session are read on demand, and a rewind restores all", () =>
  withHome((home) => {
    const path = written(home, 6, [removal]);
    using log = SessionLog.open(path, { messagesLater: true });
    const whole = loadEvents(path).state;
    const recent = (state: SessionState, turns: number, events: number) =>
      state.events.recent(state.head, { turns, events });
    assertEquals(recent(log.state, 2, 60), recent(whole, 2, 60));
    assertEquals(recent(log.state, 2, 60)[0]?.type, "turn.start");
    assertEquals(recent(log.state, 9, 4).length, 4);
    const more = turn(7).map((event): Event => log.append(event));
    assertEquals(log.state.messageList.at(0), whole.messages[0]);
    assert(log.state.messageList.readAhead(2), "all were read");
    const { messages } = log.state;
    assertEquals(messages.length, whole.messages.length + 4);
    assertEquals(messages.at(-1)?.content, "answer 7");
    log.append(rewind(seqOf(6)));
    log.append(rewind(more.at(-1)?.seq ?? 0));
    assertEquals(log.state.messages, messages);
    log.append(rewind(seqOf(2)));
    assertEquals(log.state.messages.at(-1)?.content, "answer 2");
    assertEquals(facts(loadEvents(path).state), facts(log.state));
  }));

Deno.test("messages that are missing in the file are an error that names it", () =>
  withHome((home) => {
    const path = written(home, 2);
    using log = SessionLog.open(path, { messagesLater: true });
    const text = Deno.readTextFileSync(path);
    for (const other of [`\n${text}`, text.slice(0, 2000), ""]) {
      Deno.writeTextFileSync(path, other);
      assertThrows(() => log.state.messages, Error, `Cannot read session ${path} again`);
    }
    Deno.writeTextFileSync(path, text.replaceAll('"type":"message.user"', '"type":"message_user"'));
    assertThrows(() => log.state.messages, Error, "Cannot read the messages of the session");
    Deno.writeTextFileSync(path, text);
    assertEquals(log.state.messages.length, 8);
  }));
