import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import type { NewEvent } from "../../../src/core/mod.ts";
import { loadHistory, loadIndex, loadManage, projectDir, SessionLog } from "../../../src/session/mod.ts";
import { indexable, matchExpression, snippet } from "../../../src/util/search_words.ts";
import { createLog, reply, result, turn, user, withHome } from "./support.ts";

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
