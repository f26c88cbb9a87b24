/** The plugin rag in the real program: its page, its commands, and its tools in a scripted run. */
import { assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { startEmbeddingServer } from "../support/rag.ts";
import { codeBlocks } from "../support/readme.ts";

const PAGE = "docs/plugins/rag.md";
const plain = (text: string) => text.replaceAll(/\d+\.\d+ s$/gm, "TIME");

Deno.test("the examples of the page of rag hold, and its tools need no approval", async () => {
  const [entry = "", withEmbedding = ""] = await codeBlocks(PAGE, "toml");
  const [note = ""] = await codeBlocks(PAGE, "markdown");
  const [console = ""] = await codeBlocks(PAGE, "console");
  const search = { name: "mcp__rag__ragsearch", args: { query: "kept backups" } };
  const update = { name: "mcp__rag__rag_update", args: { index: "notes" } };
  await using server = startModelServer([{ calls: [search] }, { calls: [update] }, { calls: [search] }], {
    fallback: { text: "Done." },
    check: { prefix: false },
  });
  await using embeddings = startEmbeddingServer();
  const config = mockConfig(server.url);
  await using world = await makeWorld(`${config}\n${entry}`);
  await world.write("notes/backup.md", note);
  let printed = "";
  for (const [, line = ""] of console.matchAll(/^\$ reasonix (.*)$/gm)) {
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
    const { code, stdout, stderr } = await world.run(args);
    assertEquals(code, 0, stderr);
    printed += `$ reasonix ${line}\n${stdout}`;
  }
  assertEquals(plain(printed), plain(console));

  const unknown = await world.run(["plugin", "rag", "serch", "x"]);
  assertEquals([unknown.code, unknown.stderr], [
    2,
    'error: The plugin rag has no command "serch"\n       did you mean search?\n',
  ]);
  const help = await world.run(["plugin", "rag", "search", "--help"]);
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "search QUERY [INDEX…]  Search indexes without a model");
  const dashes = await world.run(["plugin", "rag", "search", "--", "--help"]);
  assertEquals([dashes.code, dashes.stdout], [0, "Nothing found in notes\n"], dashes.stderr);

  const local = `[[providers]]\nname = "local"\nbase_url = "${embeddings.entry.base_url}"\n`;
  const patterns = `${withEmbedding}include = ["*.md", "*.csv"]\n`;
  const rules = '[permissions]\ndeny = ["Read(notes/private.md)"]\n';
  await Deno.writeTextFile(`${world.home}/config.toml`, `${config}\n${local}${patterns}\n${rules}`);
  await world.write("notes/sales.csv", "month,kept backups\nMay,4711\n");
  await world.write("notes/private.md", "A private note about kept backups.\n");
  const done = await world.run(["run", "--on-ask", "deny", "How long are backups kept?"]);
  assertEquals([done.code, done.stdout.trim()], [0, "Done."], done.stderr);
  const [before = "", updated = "", after = ""] = server.requests.at(-1)?.json.messages
    .filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content) ?? [];
  assertStringIncludes(before, "it has no vectors");
  assertStringIncludes(before, "notes/backup.md:1-7");
  assertMatch(updated, /^notes: 2 files, 2 chunks; 1 added, 0 changed, 0 removed; 2 embedded; /);
  assertStringIncludes(after, "| May | 4711 |");
  assertEquals(embeddings.texts.filter((text) => text.includes("private")), []);

  const wrong = withEmbedding.replace("[plugins.settings]\n", "[plugins.settings]\ntop_k = 0\n");
  await Deno.writeTextFile(`${world.home}/config.toml`, `${config}\n${local}${wrong}`);
  const fault = await world.run(["plugin", "rag", "status"]);
  assertEquals(fault.code, 6);
  assertMatch(fault.stderr, /config\.toml:\d+:\d+: Cannot use top_k = 0 for the plugin rag: /);
});
