import { type NewEvent, ReasonixError } from "../../../src/core/mod.ts";
import {
  findSession,
  lastSession,
  listSessions,
  loadEvents,
  loadExport,
  loadHistory,
  loadIndex,
  loadManage,
  projectDir,
  SessionBusyError,
  SessionLog,
  sessionPage,
} from "../../../src/session/mod.ts";
import { indexable, matchExpression, snippet } from "../../../src/util/search_words.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { begin, createLog, end, reply, result, turn, user, withHome } from "./support.ts";

const CWD = "/code/demo";

function make(home: string, events: readonly NewEvent[], cwd = CWD): SessionLog {
  const log = createLog(home, { cwd });
  for (const event of events) log.append(event);
  log.close();
  return log;
}

async function openIndex(home: string) {
  return await (await loadIndex()).SessionIndex.open(home);
}

Deno.test("SessionIndex.list returns title, turns and model, and follows file changes", () =>
  withHome(async (home) => {
    const one = make(home, [...turn(1), ...turn(2)]);
    using index = await openIndex(home);
    const list = () => index.list({ project: projectDir(home, CWD) }).map((s) => [s.id, s.title, s.turns]);
    assertEquals(list(), [[one.id, "question 1", 2]]);
    const again = SessionLog.open(one.paths.path);
    again.append({ type: "session.rename", title: "New name" });
    for (const event of turn(3)) again.append(event);
    again.close();
    assertEquals(list(), [[one.id, "New name", 3]]);
    Deno.removeSync(one.paths.path);
    assertEquals(list(), []);
  }));

Deno.test("SessionIndex.search finds the passage with rare words and its location", () =>
  withHome(async (home) => {
    const log = make(home, [
      user("please fix the parser of the configuration"),
      reply("the parser fails on the zorblatt token", "c1"),
      result("c1", "error E4711 in the lexer"),
    ]);
    make(home, [user("something about the weather and the sea"), reply("the the the")]);
    using index = await openIndex(home);
    const { hits, trimmed } = index.search({ query: "where was the zorblatt token" });
    assertEquals(hits.map((h) => [h.session, h.seq, h.role]), [[log.id, 3, "assistant"]]);
    assertStringIncludes(hits[0]?.snippet ?? "", "zorblatt");
    assert(trimmed >= 0);
    assertEquals(index.search({ query: "E4711" }).hits.map((h) => h.role), ["tool"]);
    assertEquals(index.search({ query: "nothing-like-this" }).hits, []);
    assertEquals(index.search({ query: '" OR * (' }).hits, []);
  }));

Deno.test("SessionIndex.search ignores earlier searches", () =>
  withHome(async (home) => {
    const call = { id: "c1", name: "history", arguments: '{"operation":"search","query":"zorblatt"}' };
    make(home, [
      user("look it up"),
      { type: "message.end", step: 1, model: "m", content: "Looking", calls: [call], durationMs: 1 },
      { ...result("c1", "session x: zorblatt"), name: "history" } as NewEvent,
    ]);
    using index = await openIndex(home);
    assertEquals(index.search({ query: "zorblatt" }).hits, []);
    assertEquals(index.search({ query: "looking" }).hits.map((hit) => hit.role), ["assistant"]);
  }));

Deno.test("SessionIndex.search is limited to the project, without the current session and copies", () =>
  withHome(async (home) => {
    const here = make(home, [user("rare marmalade here")]);
    const there = make(home, [user("rare marmalade there")], "/elsewhere");
    const { copySession } = await loadManage();
    copySession(here.paths.path, { version: "1" });
    using index = await openIndex(home);
    const ids = (options: { project?: string; exclude?: string }) =>
      new Set(index.search({ query: "marmalade", ...options }).hits.map((h) => h.session));
    assertEquals(ids({ project: projectDir(home, "/elsewhere") }), new Set([there.id]));
    assertEquals(index.search({ query: "marmalade" }).hits.length, 2);
    assertEquals(ids({ exclude: there.id }).has(there.id), false);
  }));

Deno.test("SessionIndex.search supports scripts without spaces, and accents", () =>
  withHome(async (home) => {
    make(home, [user("请修复配置解析器的错误"), reply("la configuración está lista"), user("別の話題です")]);
    using index = await openIndex(home);
    assertEquals(index.search({ query: "解析器" }).hits.map((h) => h.snippet), ["请修复配置解析器的错误"]);
    assertEquals(index.search({ query: "configuracion" }).hits.length, 1);
  }));

Deno.test("SessionIndex reads only lines added to a file", () =>
  withHome(async (home) => {
    const log = make(home, [user("first pineapple")]);
    using index = await openIndex(home);
    index.refresh();
    for (let i = 0; i < 3; i++) {
      const again = SessionLog.open(log.paths.path);
      again.append(user(`more pineapple ${i}`));
      again.close();
      assertEquals(index.search({ query: "pineapple" }).hits.length, i + 2);
    }
  }));

Deno.test("SessionIndex is rebuilt when it is damaged, newer, or cannot be written", () =>
  withHome(async (home) => {
    make(home, [user("a papaya")]);
    const found = async () => {
      using index = await openIndex(home);
      return index.search({ query: "papaya" }).hits.length;
    };
    assertEquals(await found(), 1);
    Deno.writeTextFileSync(`${home}/index.sqlite`, "this is no database at all, sorry".repeat(50));
    assertEquals(await found(), 1);
    for (const suffix of ["", "-wal", "-shm"]) {
      try {
        Deno.removeSync(`${home}/index.sqlite${suffix}`);
      } catch { /* not there */ }
    }
    Deno.mkdirSync(`${home}/index.sqlite`);
    Deno.writeTextFileSync(`${home}/index.sqlite/in-the-way`, "");
    assertEquals(await found(), 1);
  }));

Deno.test("SessionIndex.stats sums tokens and cost by day, model and project, copies once", () =>
  withHome(async (home) => {
    const priced = (amount: number, currency: string): NewEvent =>
      ({ ...reply("a"), model: `m-${currency}`, cost: { amount, currency } }) as NewEvent;
    const log = make(home, [user("q"), priced(1, "USD"), priced(2, "USD"), priced(5, "CNY"), reply("free")]);
    const { copySession } = await loadManage();
    copySession(log.paths.path, { version: "1" });
    make(home, [user("q"), priced(10, "USD")], "/elsewhere");
    using index = await openIndex(home);
    const project = index.stats({ by: "project" });
    assertEquals(
      project.map((r) => [r.key, r.sessions, r.requests, r.costs, r.unpriced, r.usage.inputTokens]),
      [
        [CWD, 1, 4, { USD: 3, CNY: 5 }, 1, 400],
        ["/elsewhere", 1, 1, { USD: 10 }, 0, 100],
      ],
    );
    assertEquals(index.stats({ by: "model" }).map((r) => [r.key, r.requests]), [["m", 1], ["m-CNY", 1], [
      "m-USD",
      3,
    ]]);
    const both = index.stats({ by: "project_model" }).map((r) => [JSON.parse(r.key), r.requests]);
    assertEquals(both, [[[CWD, "m"], 1], [[CWD, "m-CNY"], 1], [[CWD, "m-USD"], 2], [
      ["/elsewhere", "m-USD"],
      1,
    ]]);
    const today = new Date().toISOString().slice(0, 10);
    assertEquals(index.stats({ by: "day", project: projectDir(home, CWD) }).map((r) => r.requests), [4]);
    assertEquals(index.stats({ by: "session", since: today > "2999" ? today : "2999-01-01" }), []);
  }));

Deno.test("SessionIndex.cacheResets returns every declared reset with its reason", () =>
  withHome(async (home) => {
    make(home, [
      { type: "context.prefix", reason: "start", system: "s", tools: [], model: "m" },
      user("q"),
      { type: "compaction", reason: "window", from: 1, to: 2, digest: "d", tokensBefore: 2, tokensAfter: 1 },
      { type: "context.prefix", reason: "tools", system: "s", tools: [], model: "m" },
    ]);
    using index = await openIndex(home);
    assertEquals(index.cacheResets().map((r) => [r.kind, r.reason]), [
      ["prefix", "start"],
      ["fold", "window"],
      ["prefix", "tools"],
    ]);
  }));

Deno.test("searchHistory returns hits or advice, and readAround returns messages around a hit", () =>
  withHome(async (home) => {
    const { readAround, searchHistory } = await loadHistory();
    const log = make(home, [
      ...turn(1),
      user("the kumquat question"),
      reply("the kumquat answer"),
      ...turn(2),
    ]);
    const ask = (query: string, scope: "project" | "global", cwd = CWD) =>
      searchHistory({ home, cwd, query, scope });
    const { hits } = await ask("kumquat", "project");
    assertEquals(hits.length, 2);
    assertStringIncludes((await ask("kumquat", "project", "/elsewhere")).guidance ?? "", 'scope "global"');
    assertStringIncludes((await ask("qqq", "global")).guidance ?? "", "rarer words");
    assertEquals((await ask("kumquat", "global", "/elsewhere")).hits.length, 2);
    const pieces = await readAround({ home, session: log.id, seq: 9, before: 1, after: 1 });
    assertEquals(pieces.map((p) => p.text), ["answer 1", "the kumquat question", "the kumquat answer"]);
    await assertRejects(() => readAround({ home, session: "none", seq: 1 }), Error, "no such session");
  }));

Deno.test("words: a query has no operators, and snippets show the densest part", () => {
  assertEquals(matchExpression('foo AND (bar OR "baz*")'), '"foo" OR "and" OR "bar" OR "or" OR "baz"');
  assertEquals(matchExpression("错误码"), '"错 误" OR "误 码"');
  assertEquals(matchExpression("!?"), "");
  assertEquals(indexable("ab错误").replace(/ +/g, " ").trim(), "ab 错 误");
  const text = `alpha ${"x ".repeat(300)} alpha beta ${"y ".repeat(300)}`;
  assertStringIncludes(snippet(text, ["alpha", "beta"]), "alpha beta");
});

function makeSession(
  home: string,
  prompt: string,
  options: { title?: string; cwd?: string } = {},
): SessionLog {
  const log = createLog(home, { cwd: options.cwd ?? "/code/demo" });
  log.append(user(prompt));
  if (options.title) log.append({ type: "session.rename", title: options.title });
  log.close();
  return log;
}

const touch = (log: SessionLog, seconds: number) => Deno.utimeSync(log.paths.path, seconds, seconds);

Deno.test("listSessions returns titles and prompts, latest change first, from both ends of the files", () =>
  withHome((home) => {
    const one = makeSession(home, "fix the bug\nin main", {});
    const two = makeSession(home, "other", { title: "Named" });
    const big = makeSession(home, "large", { title: "Early title" });
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
    const after = { time: 3_000_000, id: one.id };
    assertEquals(listSessions([project, `${project}-none`], { after }).map((s) => s.id), [two.id, big.id]);
    assertEquals(listSessions(`${home}/none`), []);
    const pages: (readonly string[])[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined && pages.length < 9;) {
      const page = sessionPage(project, { limit: 2, cursor });
      pages.push(page.sessions.map(({ id }) => id));
      cursor = page.next;
    }
    assertEquals(pages, [[one.id, two.id], [big.id]]);
    assertEquals(sessionPage(project, { limit: 3 }).next, undefined);
    const refused = assertThrows(() => sessionPage(project, { limit: 2, cursor: "x" }), ReasonixError);
    assertEquals([refused.message, refused.exit], [
      "Cannot use cursor: it is not from a list of sessions",
      "usage",
    ]);
  }));

Deno.test("lastSession returns the session started or resumed last, without reading the others", () =>
  withHome((home) => {
    const project = projectDir(home, "/code/demo");
    assertEquals(lastSession(project), undefined);
    const one = makeSession(home, "one");
    const two = makeSession(home, "two");
    assertEquals(lastSession(project)?.id, two.id);
    SessionLog.open(one.paths.path).close();
    assertEquals(lastSession(project)?.id, one.id);
    Deno.removeSync(one.paths.path);
    assertEquals(lastSession(project)?.id, two.id);
  }));

Deno.test("findSession accepts a path, an id, an id prefix, or part of the title", () =>
  withHome((home) => {
    const one = makeSession(home, "first prompt", { title: "Parser rewrite" });
    const two = makeSession(home, "second prompt", { cwd: "/elsewhere" });
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
    const one = makeSession(home, "same words");
    makeSession(home, "same words", { cwd: "/elsewhere" });
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
    const log = makeSession(home, "prompt");
    renameSession(log.paths.path, "A better name");
    assertEquals(findSession(home, "better name").id, log.id);
  }));

Deno.test("pruneCandidates returns old sessions above the number to keep", () =>
  withHome(async (home) => {
    const { pruneCandidates } = await loadManage();
    const now = new Date("2026-01-31T00:00:00Z");
    const day = (n: number) => now.getTime() / 1000 - n * 86_400;
    [1, 10, 20].forEach((age, i) => touch(makeSession(home, `p${i}`), day(age)));
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

const edit: NewEvent = {
  ...result("c1", "output with ``` a fence and <b>tags</b>"),
  changes: [{ path: "a", change: "updated", added: 1, removed: 1, diff: "--- a\n+++ a\n-old\n+new <i>" }],
} as NewEvent;

function session(home: string): string {
  const log = createLog(home);
  const events: NewEvent[] = [
    begin(1),
    user("Please <script>alert(1)</script> & fix"),
    { ...reply("I will", "c1"), reasoning: "let me see" } as NewEvent,
    edit,
    reply("Done."),
    end(1),
    ...turn(2),
    { type: "rewind", to: 7, scope: "both" },
    begin(2),
    user("another way"),
    { ...reply("half"), interrupted: true } as NewEvent,
    { ...end(2), reason: "interrupted", detail: "Stopped by the user" } as NewEvent,
    { type: "session.rename", title: "A <title>" },
  ];
  for (const event of events) log.append(event);
  log.close();
  return log.paths.path;
}

Deno.test("exportSession writes Markdown with fences that contain any tool output", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const text = exportSession(session(home), "markdown");
    assertStringIncludes(text, "# A <title>");
    assertStringIncludes(text, "### You\n\n> Please <script>");
    assertStringIncludes(text, "````\noutput with ``` a fence and <b>tags</b>\n````");
    assertStringIncludes(text, "```diff\n--- a");
    assertStringIncludes(text, "_interrupted_");
    assertStringIncludes(text, "> The turn ended: Stopped by the user");
    const turn = text.slice(text.indexOf("## Turn 1"), text.indexOf("## Turn 2"));
    assertEquals(turn.split("### Reasonix").length, 2, "one heading for all steps of a turn");
    assert(!text.includes("question 2"), "a branch that was left is not exported");
  }));

Deno.test("exportSession closes open code blocks and pasted text", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const log = createLog(home);
    for (const event of [user("# pasted\n```\nopen"), reply("Here:\n~~~js\nlet a = 1;"), user("next")]) {
      log.append(event);
    }
    log.close();
    const text = exportSession(log.paths.path, "markdown");
    assertStringIncludes(text, "> # pasted\n> ```\n> open\n\n### Reasonix");
    assertStringIncludes(text, "~~~js\nlet a = 1;\n~~~\n\n### You\n\n> next");
  }));

Deno.test("exportSession escapes the session in HTML", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const page = exportSession(session(home), "html");
    assertStringIncludes(page, "<title>A &lt;title&gt;</title>");
    assertStringIncludes(page, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; fix");
    assertStringIncludes(page, '<span class="add">+new &lt;i&gt;</span>');
    assert(!/<script|<b>|<i>/.test(page));
  }));

Deno.test("exportSession renders Markdown without HTML, images and unusual links", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const log = createLog(home);
    const answer = "# Done\n\n| a | b |\n|---|---|\n| 1 | `<i>` |\n\n" +
      '<img src=x onerror="alert(1)"> ![pic](https://example.org/p.png) [ok](https://example.org/?a=1&b="2") ' +
      "[bad](javascript:alert(1)) [worse](data:text/html,x)\n\n```js\nif (a < b) {}\n```";
    for (const event of [user("go"), reply(answer)]) log.append(event);
    log.close();
    const page = exportSession(log.paths.path, "html");
    assertStringIncludes(page, "<h1>Done</h1>");
    assertStringIncludes(page, "<td><code>&lt;i&gt;</code></td>");
    assertStringIncludes(page, "if (a &lt; b) {}");
    assertStringIncludes(page, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; [pic] <a href=");
    assert(!/<img|javascript:|data:text/.test(page), page);
  }));

Deno.test("exportSession writes JSON with turns, blocks and spending", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const value = JSON.parse(exportSession(session(home), "json"));
    assertEquals([value.format, value.title, value.turns.length], ["reasonix-session", "A <title>", 2]);
    assertEquals(value.blocks.map((b: { kind: string }) => b.kind), [
      "turn",
      "user",
      "assistant",
      "tool",
      "assistant",
      "turn",
      "user",
      "assistant",
      "note",
    ]);
    assertEquals(value.usage.inputTokens, 500);
  }));
