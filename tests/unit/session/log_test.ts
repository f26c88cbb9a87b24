import { EVENT_KINDS } from "../../../src/core/event_schema.ts";
import { type Event, type NewEvent, ReasonixError } from "../../../src/core/mod.ts";
import {
  loadArchive,
  loadEvents,
  SessionBusyError,
  SessionLog,
  type SessionState,
} from "../../../src/session/mod.ts";
import { createRedactor } from "../../../src/util/redact.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { eventsPage } from "../../../scripts/gen_events.ts";
import { begin, createLog, end, reply, result, sequence, start, turn, user, withHome } from "./support.ts";

/** Writes a session and closes it; returns its paths. */
function closedLog(home: string, ...events: NewEvent[]) {
  const log = createLog(home);
  for (const event of events) log.append(event);
  log.close();
  return log.paths;
}

const lines = (path: string) => Deno.readTextFileSync(path).split("\n").slice(0, -1);

Deno.test("SessionLog.append writes a line immediately, numbered from 1, after session.start", () =>
  withHome((home) => {
    using log = createLog(home);
    assertThrows(() => Deno.statSync(log.paths.path));
    const event = log.append(user("hello"));
    assertEquals(event.seq, 2);
    const written = lines(log.paths.path).map((line) => JSON.parse(line));
    assertEquals(written.map((e) => [e.seq, e.type]), [[1, "session.start"], [2, "message.user"]]);
    assertEquals(written[1], event);
    assertEquals(written[0].session, log.id);
  }));

Deno.test("SessionLog.append omits live-only events from the file and the numbering", () =>
  withHome((home) => {
    using log = createLog(home);
    log.append(user("hello"));
    const delta = log.append({ type: "message.delta", channel: "text", text: "x" });
    assertEquals(delta.seq, 0);
    assertEquals(log.append(reply("hi")).seq, 3);
    assertEquals(lines(log.paths.path).length, 3);
  }));

Deno.test(
  "SessionLog creates private files",
  { ignore: Deno.build.os === "windows" },
  () =>
    withHome((home) => {
      using log = createLog(home);
      log.append(user("hello"));
      assertEquals((Deno.statSync(log.paths.path).mode ?? 0) & 0o777, 0o600);
      assertEquals((Deno.statSync(log.paths.lock).mode ?? 0) & 0o777, 0o600);
      const project = log.paths.path.split("/").slice(0, -2).join("/");
      assertEquals((Deno.statSync(project).mode ?? 0) & 0o777, 0o700);
    }),
);

Deno.test("SessionLog.open continues with the same messages, numbers and state", () =>
  withHome((home) => {
    const log = createLog(home);
    for (const event of turn(1)) log.append(event);
    const before = JSON.stringify(log.state.messages);
    log.close();
    using again = SessionLog.open(log.paths.path);
    assertEquals(JSON.stringify(again.state.messages), before);
    assertEquals(again.state.turns.map((t) => [t.turn, t.prompt, t.answer]), [[1, "question 1", "answer 1"]]);
    assertEquals(again.takeNotices(), []);
    assertEquals(again.append(user("more")).seq, 9);
  }));

Deno.test("SessionLog.open names the process that holds the session and offers a copy", () =>
  withHome((home) => {
    using log = createLog(home);
    log.append(user("hello"));
    const error = assertThrows(
      () => SessionLog.open(log.paths.path),
      SessionBusyError,
      `process ${Deno.pid}`,
    );
    assertStringIncludes(error.remedy ?? "", "--copy");
  }));

Deno.test("SessionLog.close releases the session and removes its lock", () =>
  withHome((home) => {
    const paths = closedLog(home, user("hello"));
    assertThrows(() => Deno.statSync(paths.lock), Deno.errors.NotFound);
    SessionLog.open(paths.path).close();
  }));

Deno.test("SessionLog.open truncates an incomplete last line and reports it", () =>
  withHome((home) => {
    const paths = closedLog(home, user("hello"));
    const whole = Deno.readTextFileSync(paths.path);
    Deno.writeTextFileSync(paths.path, '{"v":1,"seq":3,"type":"message.us', { append: true });
    using again = SessionLog.open(paths.path);
    assertEquals(Deno.readTextFileSync(paths.path), whole);
    assertEquals(again.takeNotices().map((n) => n.code), ["session.torn"]);
    assertEquals(again.append(user("next")).seq, 3);
  }));

Deno.test("SessionLog.open begins a session that a kill left without an event", () =>
  withHome((home) => {
    const { path } = closedLog(home, user("hello"));
    for (const left of ["", '{"v":1,"seq":1,"ti']) {
      Deno.writeTextFileSync(path, left);
      {
        using again = SessionLog.open(path, { start: { cwd: "/project", version: "1" } });
        again.append(user("next"));
      }
      const { state } = loadEvents(path);
      assertEquals([state.cwd, state.lastSeq, state.messages.length], ["/project", 2, 1]);
    }
  }));

Deno.test("SessionLog.open keeps a last line that only lacks its line feed", () =>
  withHome((home) => {
    const paths = closedLog(home, user("hello"));
    const whole = Deno.readTextFileSync(paths.path);
    Deno.writeTextFileSync(paths.path, whole.trimEnd());
    using again = SessionLog.open(paths.path);
    assertEquals(again.state.messages, [{ role: "user", content: "hello" }]);
    again.append(user("next"));
    assertEquals(lines(paths.path).length, 3);
  }));

Deno.test("SessionLog.open skips damaged lines and loads the rest", () =>
  withHome((home) => {
    const { path } = closedLog(home, ...["one", "two", "three"].map((text) => user(text)));
    const damaged = lines(path);
    damaged[2] = "\0".repeat(40);
    damaged.push(
      '{"v":1,"seq":5,"time":"","type":"message.user"}',
      '{"v":1,"seq":6,"time":"","type":"from.the.future"}',
    );
    Deno.writeTextFileSync(path, damaged.join("\n") + "\n");
    using again = SessionLog.open(path);
    assertEquals(again.state.messages.map((m) => m.content), ["one", "three"]);
    const [notice] = again.takeNotices();
    assertEquals(notice?.code, "session.damaged");
    assertStringIncludes(notice?.text ?? "", "2 damaged line(s)");
    assertEquals(again.append(user("four")).seq, 7);
  }));

Deno.test("SessionLog.open rejects a file that is not a session", () =>
  withHome((home) => {
    const path = `${home}/notes.jsonl`;
    Deno.writeTextFileSync(path, "hello\nworld\n");
    assertThrows(() => SessionLog.open(path), Error, "Cannot read session");
    assertThrows(() => SessionLog.open(`${home}/none.jsonl`), Error, "Cannot open session");
    assertThrows(() => Deno.statSync(`${home}/notes.lock`), Deno.errors.NotFound);
  }));

Deno.test("SessionLog continues in memory while the home is not writable, and catches up later", () =>
  withHome(async (home) => {
    Deno.writeTextFileSync(`${home}/projects`, "in the way");
    const log = createLog(home);
    assertEquals(log.append(user("hello")).seq, 2);
    log.append(reply("hi"));
    assertEquals(log.eventsAfter(1).map(({ type }) => type), ["message.user", "message.end"]);
    const notices = log.takeNotices();
    assertEquals(notices.map((n) => n.code), ["session.unsaved"]);
    assert(log.problem !== undefined);
    await log.sync();
    assert(log.problem !== undefined);
    Deno.removeSync(`${home}/projects`);
    await log.sync();
    assertEquals(log.problem, undefined);
    assertEquals(log.takeNotices().map((n) => n.code), ["session.saved"]);
    log.append(user("bye"));
    log.close();
    assertEquals(loadEvents(log.paths.path).state.messages.map((m) => m.content), ["hello", "hi", "bye"]);
  }));

Deno.test(
  "SessionLog survives a full disk without an incomplete line",
  { ignore: Deno.build.os !== "linux" },
  () =>
    withHome(async (home) => {
      // A file size limit makes the kernel refuse the way a full disk does, after part of the line went
      // through.
      const script = `
      import { SessionLog } from ${
        JSON.stringify(new URL("../../../src/session/mod.ts", import.meta.url).href)
      };
      const log = SessionLog.create({ home: ${JSON.stringify(home)}, cwd: "/d", version: "1" });
      for (let i = 0; i < 20; i++) log.append({ type: "message.user", origin: "user", content: "x".repeat(700) + i });
      await log.sync();
      await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ path: log.paths.path,
        messages: log.state.messages.length, codes: log.takeNotices().map((n) => n.code) })));
      log.close();`;
      Deno.writeTextFileSync(`${home}/main.ts`, script);
      const { stdout, stderr } = await new Deno.Command("bash", {
        args: ["-c", `trap '' XFSZ; ulimit -f 8; exec "${Deno.execPath()}" run -A --no-lock ${home}/main.ts`],
      }).output();
      assertEquals(
        new TextDecoder().decode(stderr).includes("rror"),
        false,
        new TextDecoder().decode(stderr),
      );
      const report = JSON.parse(new TextDecoder().decode(stdout));
      assertEquals([report.messages, report.codes], [20, ["session.unsaved"]]);
      const loaded = loadEvents(report.path);
      assertEquals(loaded.tail, "none");
      assertEquals(loaded.notices, []);
      assert(loaded.state.messages.length >= 8 && loaded.state.messages.length < 20);
    }),
);

Deno.test("SessionLog.append redacts text that is stored, displayed and kept", () =>
  withHome((home) => {
    using log = createLog(home, { redact: (text) => text.replaceAll("sk-secret", "[hidden]") });
    const shown = log.append(user('key "sk-secret"'));
    assertEquals(shown.type === "message.user" && shown.content, 'key "[hidden]"');
    assertEquals(log.state.messages.at(-1)?.content, 'key "[hidden]"');
    assert(!Deno.readTextFileSync(log.paths.path).includes("sk-secret"));
  }));

Deno.test("SessionLog.append redacts each text separately, so that the next ones stay", () =>
  withHome((home) => {
    using log = createLog(home, { redact: (text) => text.replace(/secret.*/s, "[hidden]") });
    log.append({ type: "notice", level: "info", code: "x", text: "the secret is 1234" });
    const last = JSON.parse(lines(log.paths.path).at(-1) ?? "");
    assertEquals([last.code, last.text], ["x", "the [hidden]"]);
  }));

Deno.test("SessionLog.append redacts a token at the beginning of a line and a header inside arguments", () =>
  withHome((home) => {
    using log = createLog(home, { redact: createRedactor([]) });
    const token = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6";
    const args = JSON.stringify({ authorization: "Bearer 0123456789" });
    log.append(user(`my token:\n${token}\n${args}`));
    assertEquals(
      log.state.messages.at(-1)?.content,
      'my token:\n[redacted]\n{"authorization":"Bearer [redacted]"}',
    );
    const written = Deno.readTextFileSync(log.paths.path);
    assert(!written.includes(token) && !written.includes("0123456789"), written);
  }));

Deno.test("SessionLog.append writes long texts unchanged", () =>
  withHome((home) => {
    const long = '\u{1F98A} quoted "text", line\n'.repeat(100_000);
    using log = createLog(home);
    const event = log.append({ type: "message.end", step: 1, model: "m", content: long, durationMs: 1 });
    log.append(user("next"));
    assertEquals(lines(log.paths.path).at(-2), JSON.stringify(event));
    assert(loadEvents(log.paths.path).state.messages[0]?.content === long, "the text differs");
  }));

Deno.test("SessionLog.eventsAfter returns the events after any number, as they were shown", () =>
  withHome((home) => {
    using log = createLog(home);
    assertEquals(log.eventsAfter(0), []);
    const shown: Event[] = [];
    for (let turn = 1; turn <= 52; turn++) {
      // Lines that are shorter and longer than what is read at once.
      const content = `{"v":1,"seq":9,\n`.repeat(turn % 7 === 0 ? 20_000 : turn % 5 === 0 ? 3000 : 5);
      for (const event of [begin(turn), user(content), reply("🙂"), end(turn)]) shown.push(log.append(event));
    }
    const all = log.eventsAfter(0);
    assertEquals(all.slice(1), shown);
    for (let seq = 0; seq <= all.length + 1; seq += 17) {
      assertEquals(log.eventsAfter(seq).map((event) => event.seq), all.slice(seq).map((event) => event.seq));
    }
    assertEquals(log.eventsAfter(200), all.slice(200));
    for (const [first, last] of [[0, 1], [0, 0], [3, 9], [97, 140], [150, 150], [199, 900]] as const) {
      assertEquals(log.eventsAfter(first, last), all.slice(first, last), `${first}–${last}`);
    }
    Deno.renameSync(log.paths.path, `${log.paths.path}.away`);
    assertThrows(() => log.eventsAfter(0), ReasonixError, "again");
  }));

Deno.test("SessionLog.close repeats a title that is far from the end", () =>
  withHome((home) => {
    const rename = { type: "session.rename", title: "My title" } as const;
    const { path } = closedLog(home, rename, user("x".repeat(20_000)));
    assertEquals(JSON.parse(lines(path).at(-1) ?? "").title, "My title");
    SessionLog.open(path).close();
    assertEquals(lines(path).length, 4);
  }));

Deno.test("SessionLog keeps texts that UTF-8 cannot represent", () =>
  withHome((home) => {
    const odd = 'lone \ud800 nul \0 line \u2028 "quote" \\ 漢字 👩‍👩‍👧';
    assertEquals(loadEvents(closedLog(home, user(odd)).path).state.messages[0]?.content, odd);
  }));

Deno.test("SessionLog.sync resolves without pending writes", () =>
  withHome(async (home) => {
    using log = createLog(home);
    await log.sync();
    await assertRejects(() => Deno.stat(log.paths.path));
  }));

Deno.test("SessionLog.open continues if no lock can be created", () =>
  withHome((home) => {
    const paths = closedLog(home, user("hello"));
    Deno.mkdirSync(paths.lock);
    using again = SessionLog.open(paths.path);
    again.append(user("more"));
    assertEquals(loadEvents(paths.path).state.messages.length, 2);
  }));

Deno.test("writeArchive writes one message per line in the session's directory", () =>
  withHome(async (home) => {
    const { writeArchive } = await loadArchive();
    using log = createLog(home);
    for (const event of turn(1)) log.append(event);
    const path = writeArchive(log.paths, log.state.messages, new Date("2026-01-02T03:04:05.678Z"));
    assertEquals(path, `${log.paths.dir}/archive/20260102T030405-678.jsonl`);
    assertEquals(lines(path).map((line) => JSON.parse(line)), log.state.messages);
  }));

const eventsOfTurn = (number: number): NewEvent[] => [
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
  for (let number = 1; number <= turns; number++) eventsOfTurn(number).forEach((event) => log.append(event));
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
  ["a prune", [prune, ...eventsOfTurn(7)]],
  ["a compaction", [removal, ...eventsOfTurn(7)]],
  ["a prune and a compaction", [prune, removal, ...eventsOfTurn(7)]],
  ["a rewind", [rewind(seqOf(2)), ...eventsOfTurn(3)]],
  ["a rewind and its redo", [rewind(seqOf(2)), rewind(seqOf(6))]],
  ["a compaction, a rewind before it and many turns", [
    removal,
    rewind(seqOf(5)),
    ...eventsOfTurn(6),
    rewind(seqOf(1)),
  ]],
  ["a rewind of files", [rewind(seqOf(2), "code"), ...eventsOfTurn(7)]],
  ["an open turn", eventsOfTurn(7).slice(0, 4)],
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
    const more = eventsOfTurn(7).map((event): Event => log.append(event));
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

Deno.test("docs/events.md equals the output of gen_events", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/events.md", import.meta.url));
  assertEquals(page, await eventsPage(), "run `deno run -A scripts/gen_events.ts`");
});

Deno.test("the schema of events accepts a session and finds errors", () => {
  for (const event of sequence(turn(1))) EVENT_KINDS[event.type].parse(event);
  assertThrows(() => EVENT_KINDS["message.user"].parse({ v: 1, seq: 1, time: "t", type: "message.user" }));
});
