import { assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import {
  findSession,
  lastSession,
  listSessions,
  loadEvents,
  loadManage,
  projectDir,
  SessionBusyError,
  SessionLog,
} from "../../../src/session/mod.ts";
import { createLog, turn, user, withHome } from "./support.ts";

function make(home: string, prompt: string, options: { title?: string; cwd?: string } = {}): SessionLog {
  const log = createLog(home, { cwd: options.cwd ?? "/code/demo" });
  log.append(user(prompt));
  if (options.title) log.append({ type: "session.rename", title: options.title });
  log.close();
  return log;
}

const touch = (log: SessionLog, seconds: number) => Deno.utimeSync(log.paths.path, seconds, seconds);

Deno.test("listSessions returns titles and prompts, latest change first, from both ends of the files", () =>
  withHome((home) => {
    const one = make(home, "fix the bug\nin main", {});
    const two = make(home, "other", { title: "Named" });
    const big = make(home, "large", { title: "Early title" });
    const again = SessionLog.open(big.paths.path);
    again.append(user("x".repeat(300_000)));
    again.close();
    touch(one, 3000);
    touch(two, 2000);
    touch(big, 1000);
    const project = projectDir(home, "/code/demo");
    assertEquals(listSessions(project).map((s) => [s.id, s.title, s.cwd]), [
      [one.id, "fix the bug", "/code/demo"],
      [two.id, "Named", "/code/demo"],
      [big.id, "Early title", "/code/demo"],
    ]);
    assertEquals(listSessions(project, { limit: 1 }).map((s) => s.id), [one.id]);
    assertEquals(listSessions(`${home}/none`), []);
  }));

Deno.test("lastSession returns the session started or resumed last, without reading the others", () =>
  withHome((home) => {
    const project = projectDir(home, "/code/demo");
    assertEquals(lastSession(project), undefined);
    const one = make(home, "one");
    const two = make(home, "two");
    assertEquals(lastSession(project)?.id, two.id);
    SessionLog.open(one.paths.path).close();
    assertEquals(lastSession(project)?.id, one.id);
    Deno.removeSync(one.paths.path);
    assertEquals(lastSession(project)?.id, two.id);
  }));

Deno.test("findSession accepts a path, an id, an id prefix, or part of the title", () =>
  withHome((home) => {
    const one = make(home, "first prompt", { title: "Parser rewrite" });
    const two = make(home, "second prompt", { cwd: "/elsewhere" });
    const find = (ref: string) => findSession(home, ref, { cwd: "/code/demo" }).path;
    assertEquals(find(one.paths.path), one.paths.path);
    assertEquals(find(two.id), two.paths.path);
    assertEquals(find("parser"), one.paths.path);
    assertEquals(find("second"), two.paths.path);
    assertEquals(find(one.id.slice(0, -1)), one.paths.path);
    assertThrows(() => find("nothing like it"), ReasonixError, 'Cannot find a session "nothing like it"');
    assertThrows(() => find("./none.jsonl"), ReasonixError, "Cannot find the session file");
  }));

Deno.test("findSession prefers the current project and lists all candidates of an ambiguous name", () =>
  withHome((home) => {
    const one = make(home, "same words");
    make(home, "same words", { cwd: "/elsewhere" });
    assertEquals(findSession(home, "same", { cwd: "/code/demo" }).id, one.id);
    const error = assertThrows(() => findSession(home, "same"), ReasonixError, "matches 2 sessions");
    assertStringIncludes(error.message, one.id);
  }));

Deno.test("copySession keeps numbers and messages and records its parent", () =>
  withHome(async (home) => {
    const { copySession } = await loadManage();
    using log = createLog(home);
    for (const event of [...turn(1), ...turn(2)]) log.append(event);
    const copy = copySession(log.paths.path, { version: "9" });
    const { state } = loadEvents(copy.path);
    assertEquals(JSON.stringify(state.messages), JSON.stringify(log.state.messages));
    assertEquals([state.session, state.parent], [copy.id, { session: log.id, seq: 15 }]);
    assertEquals(state.lastSeq, 15);
    using writer = SessionLog.open(copy.path);
    assertEquals(writer.append(user("on")).seq, 16);
  }));

Deno.test("forkSession ends with the selected turn, also one that was rewound later", () =>
  withHome(async (home) => {
    const { forkSession } = await loadManage();
    const log = createLog(home);
    for (const event of [...turn(1), ...turn(2), ...turn(3)]) log.append(event);
    log.close();
    const fork = forkSession(log.paths.path, 2, { version: "9" });
    assertEquals(loadEvents(fork.path).state.turns.map((t) => t.turn), [1, 2]);
    assertThrows(() => forkSession(log.paths.path, 7, { version: "9" }), ReasonixError, "at turn 7");
  }));

Deno.test("deleteSession removes file and directory, but no session in use", () =>
  withHome(async (home) => {
    const { deleteSession } = await loadManage();
    const log = createLog(home);
    log.append(user("hi"));
    assertThrows(() => deleteSession(log.paths), SessionBusyError);
    log.close();
    Deno.mkdirSync(`${log.paths.dir}/output`, { recursive: true });
    deleteSession(log.paths);
    assertEquals([...Deno.readDirSync(`${projectDir(home, "/code/demo")}/sessions`)].map((e) => e.name), [
      "last",
    ]);
  }));

Deno.test("renameSession sets a title that is listed and found", () =>
  withHome(async (home) => {
    const { renameSession } = await loadManage();
    const log = make(home, "prompt");
    renameSession(log.paths.path, "A better name");
    assertEquals(findSession(home, "better name").id, log.id);
  }));

Deno.test("pruneCandidates returns old sessions above the number to keep", () =>
  withHome(async (home) => {
    const { pruneCandidates } = await loadManage();
    const now = new Date("2026-01-31T00:00:00Z");
    const day = (n: number) => now.getTime() / 1000 - n * 86_400;
    [1, 10, 20].forEach((age, i) => touch(make(home, `p${i}`), day(age)));
    const sessions = listSessions(projectDir(home, "/code/demo"));
    const prompts = (rule: { olderThanDays?: number; keep?: number }) =>
      pruneCandidates(sessions, { now, ...rule }).map((s) => s.prompt);
    assertEquals(prompts({}), []);
    assertEquals(prompts({ olderThanDays: 5 }), ["p1", "p2"]);
    assertEquals(prompts({ keep: 2 }), ["p2"]);
    assertEquals(prompts({ keep: 2, olderThanDays: 30 }), []);
  }));

Deno.test("projectDir distinguishes similar paths and is readable", () => {
  const slug = (cwd: string) => projectDir("/h", cwd).slice("/h/projects/".length);
  assertEquals(slug("/code/main").startsWith("code-main-"), true);
  assertEquals(slug("/a/b") === slug("/a-b"), false);
  assertEquals(slug("/code/main/"), slug("/code/main"));
  assertEquals(slug("/").startsWith("root-"), true);
  assertEquals(slug(`/${"漢".repeat(300)}`).length < 60, true);
});
