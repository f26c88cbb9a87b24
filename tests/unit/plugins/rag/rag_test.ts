import { DatabaseSync } from "node:sqlite";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer, type Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { PluginError } from "../../../../plugins/common/plugin.ts";
import { chunksOf, textQueries } from "../../../../plugins/rag/chunks.ts";
import { Searcher } from "../../../../plugins/rag/search.ts";
import { plugin } from "../../../../plugins/rag/server.ts";
import { lockIndex } from "../../../../plugins/rag/store.ts";
import { describeUpdate, updateIndex } from "../../../../plugins/rag/update.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { pdf, xlsx } from "../documents/sample_documents.ts";
import { endConversions } from "../../../../plugins/common/bounded.ts";
import { whileProgramsStart } from "../../../support/processes.ts";
import { openRag, startEmbeddingServer, writeFiles } from "../../../support/rag.ts";
import { removeTree } from "../../../support/remove_tree.ts";

const long = (word: string) => `${word} `.repeat(80).trim();

Deno.test("chunksOf cuts by heading, underline, symbol and window, and names what is above", () => {
  const shape = (path: string, text: string) =>
    chunksOf(path, text).map(({ from, to, title }) => [from, to, title]);
  const body = `${long("words")}\n`;
  assertEquals(
    shape("a.md", `# One\n\n${body}\n## Two\n${body}\n\`\`\`\n# no heading\n\`\`\`\nThree\n---\n${body}`),
    [
      [1, 3, "One"],
      [5, 10, "One › Two"],
      [11, 13, "One › Three"],
    ],
  );
  assertEquals(shape("a.rst", `One\n===\n${body}\nTwo\n---\n${body}`), [[1, 3, "One"], [5, 7, "One › Two"]]);
  assertEquals(
    shape(
      "a.ts",
      `// first\nexport function one() {\n${body}}\n\n/** Two. */\nexport class Two {\n${body}}\n`,
    ),
    [[1, 4, "one"], [6, 9, "Two"]],
  );
  assertEquals(shape("a.md", "# A\n\n# B\n\n# C\n"), [[1, 5, "A; B; C"]]);
  assertEquals(shape("a.txt", "\n\n"), []);
  const paragraphs = chunksOf("a.txt", `${body}\n`.repeat(12));
  assert(paragraphs.length > 3 && paragraphs.every(({ text }) => text.length <= 2000), "windows");
  const piece = chunksOf("a.txt", "😀".repeat(2500));
  assertEquals(piece.map(({ from, to }) => [from, to]), [[1, 1], [1, 1], [1, 1]]);
  assertEquals(piece.map(({ text }) => text).join(""), "😀".repeat(2500));
});

Deno.test("textQueries splits names and CJK runs, and omits words without meaning", () => {
  assertEquals(textQueries("How do I set max_file_mb in readFile?"), {
    words: '"set" OR "max_file_mb" OR "max" OR "file" OR "mb" OR "readFile" OR "read" OR "File"',
    grams: "",
  });
  assertEquals(textQueries("配置权限"), {
    words: '"配置" OR "置权" OR "权限"',
    grams: '"配置权" OR "置权限"',
  });
  assertEquals(textQueries("税").words, '"税"*');
  assertEquals(textQueries('what is "it"').words, '"what" OR "is" OR "it"');
  assertEquals(textQueries("?!"), { words: "", grams: "" });
});

Deno.test("an update adds, changes and removes files, and reads only those that differ", async () => {
  await using rag = await openRag({
    "a.md": "# Alpha\n\nThe quick otter.\n",
    "sub/b.md": "# Beta\n\nA slow badger.\n",
    "c.png": "no",
    "bad.txt": new Uint8Array([0x61, 0xff, 0x62]),
    "zero.txt": new Uint8Array([0x61, 0, 0x62]),
    "big.txt": "x".repeat(2_000_000),
  }, { max_file_mb: 1 });
  await assertRejects(() => rag.search("otter"), PluginError, "The index docs has not been built yet");
  const first = await rag.update();
  assertEquals([first.files, first.chunks, first.added, first.embedded], [5, 2, 5, 0]);
  assertEquals(first.skipped, [
    { path: "bad.txt", problem: "it is not in UTF-8" },
    { path: "big.txt", problem: "it is larger than max_file_mb = 1" },
    { path: "zero.txt", problem: "it is no text" },
  ]);
  await writeFiles(rag.docs, { "a.md": "# Alpha\n\nThe quick heron.\n", "d.md": "A new newt.\n" });
  await removeTree(`${rag.docs}/sub`);
  const stale = await rag.search("otter");
  assertEquals(stale.results.map(({ path, stale }) => [path, stale]), [["docs/a.md", true]]);
  assertStringIncludes(stale.text, "docs/a.md:1-3 · Alpha · changed since the update of the index");
  const second = await rag.update();
  assertEquals([second.added, second.changed, second.removed], [1, 1, 1]);
  for (
    const [query, paths] of [["otter", []], ["badger", []], ["heron", ["docs/a.md"]], ["newts", [
      "docs/d.md",
    ]]]
  ) {
    assertEquals((await rag.search(String(query))).results.map(({ path }) => path), paths, String(query));
  }
  const third = await rag.update();
  assertEquals([third.added, third.changed, third.removed], [0, 0, 0]);
  const raised = await rag.update({ max_file_mb: 5 });
  assertEquals([raised.changed, raised.skipped.length], [1, 2]);
});

Deno.test("an index has all pages of a PDF, and names a document without text, and a sheet that it has in part", async () => {
  const pages = Array.from({ length: 502 }, (_, at) => at === 501 ? "the last zebra" : "");
  await using rag = await openRag({
    "long.pdf": pdf(pages),
    "scan.pdf": pdf(["", ""]),
    "rows.xlsx": xlsx({ Sales: [["newt", 1]] }, "A50010"),
  });
  const rows = 'the first 50000 of 50010 rows of the sheet "Sales"';
  try {
    const { skipped, partial } = await rag.update();
    assertEquals(partial, [{ path: "rows.xlsx", problem: rows }]);
    const again = await rag.update();
    assertEquals([again.changed, again.partial, again.skipped], [0, partial, skipped]);
    for (const text of [describeUpdate(rag.context, again), new Searcher(rag.context).status()]) {
      assertStringIncludes(
        text,
        `\nOnly in part: docs/rows.xlsx: ${rows}\nLeft out: docs/scan.pdf: its pages`,
      );
    }
    assertEquals((await rag.search("newt")).results.map(({ path }) => path), ["docs/rows.xlsx"]);
    assertEquals(skipped, [{ path: "scan.pdf", problem: "its pages are images without text" }]);
    const { results, text } = await rag.search("zebra");
    assertEquals(results.map(({ path }) => path), ["docs/long.pdf"]);
    assertStringIncludes(text, "--- Page 502 of 502 ---");
  } finally {
    endConversions();
  }
});

Deno.test("rules of the session hide files from updates, searches and resources", async () => {
  const files = {
    "open.md": "A visible zebra.\n",
    "secret/key.md": "A hidden zebra.\n",
    "draft.md": "A zebra.\n",
  };
  await using rag = await openRag(files, { exclude: ["draft.md"] });
  await rag.update();
  const names = ["docs/open.md", "docs/secret/key.md"];
  assertEquals((await rag.search("zebra")).results.map(({ path }) => path).sort(), names);
  const context = { ...rag.context, hidden: ["/docs/secret/**"] };
  const call = { signal: new AbortController().signal, progress() {} };
  const searcher = new Searcher(context);
  const { data } = await searcher.search({ query: "zebra" }, call);
  assertEquals((data?.results as { path: string }[]).map(({ path }) => path), ["docs/open.md"]);
  let error: unknown;
  try {
    searcher.read("docs", "secret/key.md");
  } catch (thrown) {
    error = thrown;
  }
  assertMatch(String(error), /has no file "secret\/key.md"/);
  assertEquals((await updateIndex(context, "docs", call)).removed, 1);
});

const NOTES = Array.from({ length: 40 }, (_, n) => `## Part ${n}\n\nplum ${n}\n${long("filler")}\n`).join(
  "\n",
);

Deno.test("each setting of a search has its effect", async () => {
  await using rag = await openRag({ "a.md": NOTES, "b.md": "# B\n\none plum\ntwo\nthree\nfour\nfive\n" });
  await rag.update();
  const one = { merge_adjacent: false };
  const count = async (settings: Record<string, unknown>, args = {}) =>
    (await rag.search("plum", settings, args)).results.length;
  assertEquals(await count({ ...one, top_k: 3 }), 3);
  assertEquals(await count({ ...one, top_k: 3 }, { top_k: 5 }), 5);
  assertEquals(await count({ ...one, per_index_cap: 2 }), 2);

  const apart = await rag.search("plum", { ...one, top_k: 20 });
  const merged = await rag.search("plum", { top_k: 20, merge_gap: 1 });
  assert(merged.results.length < apart.results.length, "merge_adjacent");
  const gaps = await rag.search("plum", { top_k: 20, merge_gap: 1000 });
  assertEquals(gaps.results.length, 2, "merge_gap");
  const titles = gaps.results.map(({ title }) => title.split("; "));
  assertEquals(titles.map((each) => new Set(each).size), titles.map((each) => each.length));
  assertEquals((await rag.search("plum", { top_k: 20, merge_gap: 0 })).results.length, apart.results.length);

  const b =
    (await rag.search("plum three", { ...one, attach_mode: "summary", preview_lines: 2, top_k: 1 })).text;
  assertStringIncludes(b, "docs/b.md:1-7 · B\n3\tone plum\n4\ttwo");
  assert(!b.includes("5\tthree"), b);
  assertStringIncludes((await rag.search("plum three", { ...one, top_k: 1 })).text, "7\tfive");

  const order = async (group_by_file: boolean) =>
    (await rag.search("plum 7 one two", { ...one, group_by_file, top_k: 4 })).results.map(({ path }) => path);
  const grouped = await order(true);
  assertEquals(
    grouped.lastIndexOf(grouped[0] ?? "") - grouped.indexOf(grouped[0] ?? "") + 1,
    grouped.filter((path) => path === grouped[0]).length,
  );
  assertEquals(
    (await rag.search("plum", { ...one, top_k: 20 })).results.map(({ from }) => from).toSpliced(0, 1)
      .every((from, at, all) => at === 0 || from > (all[at - 1] ?? 0)),
    true,
  );

  const { text } = await rag.search("plum", { ...one, total_chars_budget: 150, top_k: 4 });
  assertMatch(text, /\[left out by total_chars_budget: docs\/a\.md:\d+-\d+/);
  assert(text.length < 800, String(text.length));
  const few = { ...one, total_chars_budget: 100, top_k: 4 };
  assertStringIncludes((await rag.search("plum 33", few)).text, "## Part 33", "the best passage");
});

Deno.test("a search joins words and vectors; a threshold keeps vectors out that are not similar", async () => {
  await using server = startEmbeddingServer();
  await using rag = await openRag(
    { "a.md": "Vegetables and gardening.\n", "b.md": "Mountain railways.\n" },
    { embedding: "local/grams", similarity_threshold: 0.1 },
    { providers: [server.entry] },
  );
  const report = await rag.update();
  assertEquals([report.embedded, server.texts.length], [2, 2]);
  const similar = await rag.search("vegetarian");
  assertEquals(similar.results.map(({ path }) => path), ["docs/a.md"]);
  assertEquals((await rag.search("vegetarian", {})).results, []);
  const strict = { embedding: "local/grams", similarity_threshold: 0.95 };
  assertEquals((await rag.search("vegetarian", strict)).results, []);
});

Deno.test("only the named provider is asked, and only for texts that have no vector yet", async () => {
  await using server = startEmbeddingServer(64);
  await using other = startEmbeddingServer(64);
  const providers = [{ ...other.entry, name: "other" }, server.entry];
  const files = {
    "a.md": `# A\n\n${long("apple")}\n\n# B\n\n${long("banana")}\n`,
    "c.md": "# C\n\ncherry\n",
  };
  const settings = { embedding: "local/one" };
  await using rag = await openRag(files, settings, { providers });
  assertEquals((await rag.update()).embedded, 3);
  await writeFiles(rag.docs, { "a.md": `# A\n\n${long("apple")}\n\n# B\n\n${long("blueberry")}\n` });
  await Deno.rename(`${rag.docs}/c.md`, `${rag.docs}/d.md`);
  const changed = await rag.update();
  assertEquals([changed.embedded, changed.changed, changed.added, changed.removed], [1, 1, 1, 1]);
  assertEquals((await rag.update()).embedded, 0);

  const model = await rag.update({ embedding: "local/two" });
  assertEquals([model.embedded, model.notes], [
    3,
    ["The embedding is local/two instead of local/one: all chunks are embedded again"],
  ]);
  const before = await rag.search("cherry", settings);
  assertMatch(
    before.notes.join(),
    /searched by words alone: it has vectors of local\/two with 64 dimensions/,
  );
  server.dimensions = 32;
  await writeFiles(rag.docs, { "e.md": "elderberry\n" });
  const dimensions = await rag.update({ embedding: "local/two" });
  assertEquals([dimensions.embedded, dimensions.notes], [
    4,
    ["local/two sends vectors of 32 dimensions instead of 64: all chunks are embedded again"],
  ]);
  assertEquals((await rag.search("elderberry", { embedding: "local/two" })).notes, []);

  server.fails = true;
  await writeFiles(rag.docs, { "f.md": "fig\n" });
  await assertRejects(
    () => rag.update({ embedding: "local/two" }),
    PluginError,
    "The words of the index docs are up to date, but 1 chunk has no vector:",
  );
  const words = await rag.search("fig", { embedding: "local/two" });
  assertEquals(words.results.map(({ path }) => path), ["docs/f.md"]);
  assertMatch(words.notes.join(), /^Searched by words alone: .*status 404/);
  server.fails = false;
  assertEquals((await rag.update({ embedding: "local/two" })).embedded, 1);
  await assertRejects(
    () => rag.update({ embedding: "far/one" }),
    PluginError,
    "far is not granted to this plugin",
  );
  assertEquals(other.requests, 0);
});

Deno.test("one process updates; the other says which, and searches meanwhile", async () => {
  await using rag = await openRag({ "a.md": "# A\n\nwalrus\n" });
  await rag.update();
  const [lockFile] = [...Deno.readDirSync(`${rag.path}/state`)].filter(({ name }) => name.endsWith(".lock"));
  const lock = lockIndex(`${rag.path}/state/${lockFile?.name}`, "docs");
  const owner = new RegExp(`The index docs is being updated by process ${Deno.pid} since \\d{4}-`);
  await rag.update().then(() => assert(false), (error) => assertMatch(error.text, owner));
  const found = await rag.search("walrus");
  assertEquals(found.results.length, 1);
  assertMatch(found.notes.join(), owner);
  lock[Symbol.dispose]();
  assertEquals((await rag.search("walrus")).notes, []);
  await rag.update();
});

Deno.test("an index is free once its lock is released, also while programs are started", async () => {
  await using rag = await openRag({});
  await whileProgramsStart(() => {
    for (let count = 0; count < 3000; count++) lockIndex(`${rag.path}/x.lock`, "docs")[Symbol.dispose]();
  });
});

Deno.test("a cancelled update stops with the reason, and the next one completes the index", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [`${n}.md`, `# N${n}\n\nnumber ${n}\n`]),
  );
  await using rag = await openRag(files);
  const stop = new AbortController();
  const progress = () => stop.abort(new Error("enough"));
  await assertRejects(
    () => updateIndex(rag.context, "docs", { signal: stop.signal, progress }),
    Error,
    "enough",
  );
  const unfinished = ["The last update of the index docs did not finish; run rag_update"];
  assertEquals((await rag.search("number")).notes, unfinished);
  const report = await rag.update();
  assertEquals([report.files, report.chunks], [300, 300]);
  assertEquals((await rag.search("number")).notes, []);
});

Deno.test("an index whose file is damaged or of another layout is built again", async () => {
  await using rag = await openRag({ "a.md": "# A\n\nwombat\n" });
  await rag.update();
  const [file] = [...Deno.readDirSync(`${rag.path}/state`)].filter(({ name }) => name.endsWith(".sqlite"));
  const path = `${rag.path}/state/${file?.name}`;
  for (
    const damage of [
      () => Deno.writeTextFileSync(path, "no database at all"),
      () => {
        const database = new DatabaseSync(path);
        database.exec("PRAGMA user_version = 99");
        database.close();
      },
    ]
  ) {
    damage();
    await assertRejects(() => rag.search("wombat"), PluginError, "has not been built yet");
    const report = await rag.update();
    assertEquals([report.added, report.notes], [1, ["The index had another layout and was built again"]]);
    assertEquals((await rag.search("wombat")).results.length, 1);
  }
  const damaged = Deno.openSync(path, { write: true });
  damaged.seekSync(4096, Deno.SeekMode.Start);
  damaged.writeSync(new Uint8Array(Deno.statSync(path).size - 4096).fill(0xff));
  damaged.close();
  for (const work of [() => rag.search("wombat"), () => rag.update()]) {
    const error = await work().then(() => undefined, (error) => error);
    assertMatch(
      error?.text ?? "",
      /^Cannot use .*\.sqlite: .*; free the disk, or delete the file and update$/,
    );
  }
});

/** The plugin with a client of the SDK, in one process. */
async function connected(context: Parameters<typeof plugin.register>[1]) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const connection = serveStdio(() => {
    const server = new McpServer({ name: "rag", version: "1" });
    plugin.register(server, context);
    return server;
  }, { transport: theirs as Transport });
  const client = new Client({ name: "bare", version: "1" });
  await client.connect(ours);
  const close = async () => {
    await client.close();
    await connection.close();
  };
  return Object.assign(client, { [Symbol.asyncDispose]: close });
}

Deno.test("a client has two tools, resources with lines, and a prompt", async () => {
  await using rag = await openRag({ "sub/a b.md": "# Lemurs\n\nLemurs sleep.\nThey eat fruit.\n" });
  await using client = await connected(rag.context);
  const { tools } = await client.listTools();
  const hints = { readOnlyHint: true, openWorldHint: false };
  assertEquals(tools.map(({ name, annotations }) => [name, annotations]), [["ragsearch", hints], [
    "rag_update",
    hints,
  ]]);
  assertStringIncludes(tools[0]?.description ?? "", "Indexes (default: all): docs.");
  assert(JSON.stringify(tools).length < 920, "about 230 tokens");

  const early = await client.callTool({ name: "ragsearch", arguments: { query: "fruit" } });
  assertEquals([early.isError, early.content], [
    true,
    [{ type: "text", text: "The index docs has not been built yet; call rag_update with index docs" }],
  ]);
  const messages: number[] = [];
  const onprogress = ({ progress }: { readonly progress: number }) => void messages.push(progress);
  const update = await client.callTool({ name: "rag_update", arguments: { index: "docs" } }, { onprogress });
  assertEquals((update.structuredContent as { readonly added: number }).added, 1);
  assertEquals(messages, [1]);
  const found = await client.callTool({
    name: "ragsearch",
    arguments: { query: "fruit", indexes: ["docs"] },
  });
  const { results } = found.structuredContent as { readonly results: readonly { readonly uri: string }[] };
  assertEquals(results.map(({ uri }) => uri), ["rag://docs/sub/a%20b.md#L1-4"]);

  const lines = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents;
    return String(content && "text" in content ? content.text : "").split("\n").slice(3);
  };
  assertEquals(await lines("rag://docs/sub/a%20b.md#L3-4"), ["3\tLemurs sleep.", "4\tThey eat fruit."]);
  assertEquals(await lines("rag://docs/sub/a b.md#L3"), ["3\tLemurs sleep."]);
  assertEquals((await lines("rag://docs/sub/a%20b.md")).length, 5);
  for (
    const [uri, message] of [
      ["rag://docs/../state/x", /has no file/],
      ["rag://docs/sub/a%20b.md#L9-12", /Cannot show lines 9-12 of sub\/a b.md: it has 5 lines/],
      ["rag://nope/a.md", /There is no index "nope"; choose from docs/],
    ] as const
  ) {
    const error = await client.readResource({ uri }).then(() => undefined, (error) => error);
    assertMatch(String(error), message);
  }
  const { messages: [prompt] } = await client.getPrompt({ name: "load_rag", arguments: { query: "fruit" } });
  assertMatch(JSON.stringify(prompt?.content), /Passages for: fruit.*docs\/sub\/a b.md:1-4 · Lemurs/);
  const ref = { type: "ref/prompt", name: "load_rag" } as const;
  const { completion } = await client.complete({ ref, argument: { name: "index", value: "d" } });
  assertEquals(completion.values, ["docs"]);
});

Deno.test("tools that send texts to another machine are declared so", async () => {
  for (
    const [base_url, openWorldHint] of [
      ["https://api.example.com/v1", true],
      ["http://localhost:11434/v1", false],
      ["http://[::1]:8080/v1", false],
      ["http://127.0.0.1.example.com/v1", true],
    ]
  ) {
    await using rag = await openRag({}, { embedding: "far/m" }, { providers: [{ name: "far", base_url }] });
    await using client = await connected(rag.context);
    const { tools } = await client.listTools();
    assertEquals(tools.map(({ annotations }) => annotations?.openWorldHint), [openWorldHint, openWorldHint]);
  }
});
