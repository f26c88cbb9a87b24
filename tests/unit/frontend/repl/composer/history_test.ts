import { History, HistoryWalk, searchHistory } from "../../../../../src/frontend/repl/composer/history.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

async function withFile(run: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(`${directory}/projects/p/history.jsonl`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const keep = (path: string, redact = (text: string) => text) =>
  new History({ path: () => Promise.resolve(path), redactor: () => Promise.resolve(redact) });
const texts = ({ entries }: History) => entries.map(({ text }) => text);

Deno.test("History is restored in the next process, each entry once at its last position", async () => {
  await withFile(async (path) => {
    const first = keep(path);
    for (const text of ["one", "two\nlines", "one", "三"]) first.add([text]);
    first.add(["see ", { kind: "paste", content: "a\tb\n" }, { kind: "file", path: "/x.png" }]);
    await first.close();
    const second = keep(path);
    assertEquals(second.loaded, false);
    second.add(["new"]);
    await second.load();
    await second.close();
    assertEquals(texts(second), ["two\nlines", "one", "三", "see ", "new"]);
    assertEquals(second.entries[3]?.pieces, [
      "see ",
      { kind: "paste", content: "a\tb\n" },
      { kind: "file", path: "/x.png" },
    ]);
    if (Deno.build.os !== "windows") assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("History writes no secret to disk and keeps typed text in memory", async () => {
  await withFile(async (path) => {
    const history = keep(path, (text) => text.replaceAll("hunter22", "[redacted]"));
    history.add(["use hunter22 ", { kind: "paste", content: "key=hunter22" }]);
    const unknown = new History({
      path: () => Promise.resolve(path),
      redactor: () => Promise.reject(new Error()),
    });
    unknown.add(["token ghp_" + "a1B2".repeat(10)]);
    await Promise.all([history.close(), unknown.close()]);
    const stored = await Deno.readTextFile(path);
    assert(!/hunter22|a1B2/.test(stored), stored);
    assertEquals(texts(history), ["use hunter22 "]);
  });
});

Deno.test("History closes without waiting for a session and redacts text that looks like a secret", async () => {
  await withFile(async (path) => {
    const history = new History({ path: () => Promise.resolve(path), redactor: () => new Promise(() => {}) });
    history.add(["token ghp_" + "a1B2".repeat(10)]);
    await history.close();
    const stored = await Deno.readTextFile(path);
    assert(stored.includes("token") && !stored.includes("a1B2"), stored);
  });
});

Deno.test("History skips invalid lines and continues after a truncated line", async () => {
  await withFile(async (path) => {
    const first = keep(path);
    first.add(["good"]);
    await first.close();
    const odd = [
      "{",
      "[]",
      '{"pieces":"x"}',
      '{"pieces":[{"kind":"paste"}]}',
      '{"pieces":[7]}',
      "",
      '{"pieces":["cu',
    ];
    await Deno.writeTextFile(path, odd.join("\n"), { append: true });
    const second = keep(path);
    second.add(["after"]);
    await second.close();
    const third = keep(path);
    await third.load();
    assertEquals(texts(third), ["good", "after"]);
  });
});

Deno.test("History loses no line when several processes write at the same time", async () => {
  await withFile(async (path) => {
    const source = new URL("../../../../../src/frontend/repl/composer/history.ts", import.meta.url);
    const code = (name: string) =>
      `import { History } from ${JSON.stringify(source.href)};
       const history = new History({ path: () => Promise.resolve(${JSON.stringify(path)}) });
       for (let count = 0; count < 100; count++) history.add(["${name} " + count + " " + "x".repeat(200)]);
       await history.close();`;
    const runs = ["a", "b", "c"].map((name) =>
      new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--no-check",
          "--config",
          "deno.json",
          `data:text/typescript,${encodeURIComponent(code(name))}`,
        ],
        cwd: new URL("../../../../../", import.meta.url),
      }).output()
    );
    for (const { code, stderr } of await Promise.all(runs)) {
      assertEquals(code, 0, new TextDecoder().decode(stderr));
    }
    const history = keep(path);
    await history.load();
    assertEquals(history.entries.length, 300);
  });
});

Deno.test("History keeps its file below 2 MB and omits entries that are too long", async () => {
  await withFile(async (path) => {
    const history = keep(path);
    for (let count = 0; count < 30; count++) history.add([`${count} ${"中".repeat(40_000)}`]);
    history.add(["x".repeat(300_000)]);
    await history.close();
    assert(Deno.statSync(path).size <= 2 * 1024 * 1024, String(Deno.statSync(path).size));
    const next = keep(path);
    await next.load();
    assertEquals(next.entries.at(-1)?.text.slice(0, 3), "29 ");
    assert(next.entries.length >= 8, String(next.entries.length));
    assertEquals(history.entries.at(-1)?.text.length, 300_000);
  });
});

Deno.test("History works without a writable file", async () => {
  const history = keep("/dev/null/history.jsonl");
  history.add(["kept"]);
  await history.close();
  await history.load();
  assertEquals(texts(history), ["kept"]);
});

function entries(...all: string[]) {
  const history = new History();
  for (const text of all) history.add([text]);
  return history.entries;
}

Deno.test("HistoryWalk visits entries that begin like the draft and returns to it", () => {
  const walk = new HistoryWalk(entries("fix a", "test", "fix b"), ["fix"], "fix");
  assertEquals(walk.newer(), undefined);
  assertEquals(walk.older(), ["fix b"]);
  assertEquals(walk.older(), ["fix a"]);
  assertEquals(walk.older(), undefined);
  assertEquals(walk.newer(), ["fix b"]);
  assertEquals(walk.newer(), ["fix"]);
  assertEquals(walk.newer(), undefined);
});

Deno.test("searchHistory searches backward, case-sensitive only for a query with capitals", () => {
  const all = entries("Fix the Parser", "parser test", "other");
  assertEquals(searchHistory(all, "parser")?.text, "parser test");
  assertEquals(searchHistory(all, "parser", 1)?.at, 8);
  assertEquals(searchHistory(all, "Parser")?.entry, 0);
  assertEquals(searchHistory(all, "none"), undefined);
});
