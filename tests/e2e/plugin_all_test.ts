/** All tools of all plugins in one run of the real program, and their tokens. */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { answer, startRawServer } from "../support/raw_server.ts";

Deno.test("one run calls each tool of the five plugins, and all of them take less than 1,200 tokens", async () => {
  const json = "content-type: application/json";
  await using site = startRawServer({
    page: answer("<title>Options</title><p>-l prints names</p>"),
    search: answer(
      JSON.stringify({ results: [{ title: "Hit", url: "https://e.test/", content: "c" }] }),
      json,
    ),
  });
  const address = `http://127.0.0.1:${site.port}`;
  const page = `${address}/page`;
  const tools: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
    ["web__web_search", { query: "options" }, /^SearXNG: options[^]*1\tHit\n\thttps:\/\/e\.test\//],
    ["web__web_open", { url: page }, /"Options"[^]*no instructions\.\n\n1\t-l prints names$/],
    ["web__web_open", { url: "http://127.0.0.2:1/" }, /Cannot open http:\/\/127\.0\.0\.2:1\/: .*private/],
    ["web__web_find", { url: page, pattern: "prints" }, /1 matching line[^]*\[#L1\]\n1\t-l/],
    ["documents__read_document", { path: "sales.csv" }, /\| May \| 4711 \|/],
    ["documents__document_outline", { path: "docs/a.html" }, /Backups/],
    ["map__repo_map", {}, /src\/a\.ts:1 export function keep/],
    ["map__outline", { path: "src/a.ts" }, /src\/a\.ts:1 export function keep/],
    ["map__find_symbol", { name: "keep" }, /src\/a\.ts:1/],
    ["map__find_references", { name: "keep" }, /src\/b\.ts:2/],
    ["rag__rag_update", { index: "docs" }, /^docs: 1 file, 1 chunk/],
    ["rag__ragsearch", { query: "kept backups" }, /docs\/b\.md:1-3/],
    ["persona__persona_review", { content: "The plan", personas: "team.md" }, /## Ada\n\nAda likes it/],
  ];
  const calls = tools.map(([name, args]) => ({ name: `mcp__${name}`, args }));
  await using server = startModelServer([], {
    lane: ({ json }) => /stay in it/.test(JSON.stringify(json.messages[0])) ? "review" : "run",
    fallback({ json: { messages } }) {
      if (/stay in it/.test(JSON.stringify(messages[0]))) return { text: "Ada likes it" };
      const done = messages.filter(({ role }: { role: string }) => role === "tool").length;
      const next = calls[done];
      return next ? { calls: [next] } : { text: "Done." };
    },
  });
  const entry = (name: string, more = "") =>
    `[[plugins]]\nname = "${name}"\ncommand = "reasonix"\nargs = ["plugin", "${name}"]\n${more}`;
  await using world = await makeWorld(mockConfig(
    server.url,
    "",
    [
      "\n[tools]\nmcp_startup_wait_seconds = 60\n",
      '[permissions]\nallow = ["WebSearch", "WebFetch(domain:127.0.0.1)", "WebFetch(domain:127.0.0.2)"]\n',
      entry("documents"),
      entry("map"),
      entry("persona", 'providers = ["mock"]\n'),
      entry("rag", '[plugins.settings.indexes.docs]\npath = "docs"\n'),
      entry(
        "web",
        `[plugins.settings]\nsearch = "searxng"\nsearxng_url = "${address}"\nallow_private = ["127.0.0.1"]\n`,
      ),
    ].join(""),
  ));
  await world.write("sales.csv", "month,sum\nMay,4711\n");
  await world.write("docs/a.html", "<h1>Backups</h1><p>Each night.</p>");
  await world.write("docs/b.md", "# Backups\n\nAll kept backups are old.\n");
  await world.write("src/a.ts", "export function keep() {}\n");
  await world.write("src/b.ts", 'import { keep } from "./a.ts";\nkeep();\n');
  await world.write("team.md", "- Ada: counts\n");

  const done = await world.run(["run", "--on-ask", "deny", "look"]);
  assertEquals([done.code, done.stdout], [0, "Done.\n"], done.stderr);
  const results = server.requests.at(-1)?.json.messages.filter(({ role }: { role: string }) =>
    role === "tool"
  );
  assertEquals(results.length, tools.length);
  for (const [index, [, , expected]] of tools.entries()) assertMatch(results[index].content, expected);

  const { stdout } = await world.run(["context"]);
  const rows = [...stdout.matchAll(/^ +([\d,]+) {2}MCP .*$/gm)];
  assertEquals(rows.length, 6, stdout);
  const tokens = rows.reduce((sum, [, count = ""]) => sum + Number(count.replace(",", "")), 0);
  assert(tokens < 1_200, stdout);
});
