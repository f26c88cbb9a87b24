import { plugin } from "../../../../plugins/documents/server.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openPlugin } from "../../../support/plugin_client.ts";
import { makeTempDir, writeFiles } from "../../../support/tool_context.ts";
import { pdf } from "./sample_documents.ts";

const PAGE = new URL("../../../../docs/plugins/documents.md", import.meta.url);
const NOTEBOOK = JSON.stringify({
  nbformat: 4,
  cells: [{ cell_type: "markdown", source: "# Plan\n\ntext" }, { cell_type: "markdown", source: "## Steps" }],
});

Deno.test("the plugin documents reads files of the workspace in its process, as its page says", async (t) => {
  const page = await Deno.readTextFile(PAGE);
  const blocks = (language: string) =>
    [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, name, text = ""]) =>
      name === language ? [text] : []
    );
  await using dir = await makeTempDir();
  const workspace = `${dir.path}/work`;
  await writeFiles(workspace, {
    "sales.csv": blocks("csv")[0] ?? "",
    "plan.ipynb": NOTEBOOK,
    "long.pdf": pdf(Array.from({ length: 40 }, (_, at) => `Page text ${at + 1}`)),
    "large.csv": "a,b\n".repeat(300_000),
    "../outside.csv": "secret,1\n",
  });
  await Deno.symlink(`${dir.path}/outside.csv`, `${workspace}/link.csv`);
  const settings = { max_file_mb: 1 };
  await using opened = await openPlugin("documents", { workspace, home: dir.path, settings });
  const call = async (tool: string, args: Record<string, unknown>) => {
    const result = await opened.client.callTool({ name: tool, arguments: args });
    const text = (result.content as { text: string }[]).map((block) => block.text).join("\n");
    return {
      text,
      data: result.structuredContent as Record<string, unknown>,
      isError: result.isError === true,
    };
  };

  await t.step("the examples of its page", async () => {
    const sales = await call("read_document", { path: "sales.csv" });
    assertEquals(`${sales.text}\n`, blocks("text")[0]);
    const plan = await call("document_outline", { path: "plan.ipynb" });
    assertEquals(`${plan.text}\n`, blocks("text")[1]);
    assertEquals(sales.data, {
      converter: "csv",
      original_file: `${await Deno.realPath(workspace)}/sales.csv`,
      token_count: 15,
      lines: 4,
      from: 1,
      to: 4,
    });
  });
  await t.step("pages and lines of a PDF", async () => {
    const { text, data } = await call("read_document", {
      path: "long.pdf",
      pages: "39-,1",
      offset: 3,
      limit: 3,
    });
    assertStringIncludes(text, "long.pdf · 11 lines · 40 pages · lines count from page 1\n");
    assertStringIncludes(
      text,
      "\n\n3\tPage text 1\n4\t\n5\t--- Page 39 of 40 ---\n[lines 6-11 of 11 left out;",
    );
    assertEquals([data?.from, data?.to, data?.pages], [3, 5, 40]);
    const outline = await call("document_outline", { path: "long.pdf", offset: 40 });
    assertStringIncludes(outline.text, "40\tPage 40 long.pdf:157");
  });

  await t.step("one line for what it cannot read", async () => {
    const refused: readonly (readonly [Record<string, unknown>, string])[] = [
      [{ path: "missing.pdf" }, "Cannot read missing.pdf: there is no such file"],
      [{ path: "../outside.csv" }, "Cannot read ../outside.csv: it is outside of "],
      [{ path: "link.csv" }, "Cannot read link.csv: it is outside of "],
      [{ path: "." }, "Cannot read .: it is not a file"],
      [{ path: "large.csv" }, "Cannot read large.csv: it has over 1 MB; split it, or raise max_file_mb"],
      [{ path: "long.pdf", pages: "3-1" }, 'Cannot use the pages "3-1"; write them as "1-3,7", from 1'],
      [
        { path: "long.pdf", pages: "41" },
        "Cannot select these pages of long.pdf: it has 40; use pages up to 40",
      ],
      [{ path: "long.pdf", offset: 900 }, "Cannot show line 900: the text has 159 lines"],
    ];
    for (const [args, expected] of refused) {
      const { text, isError } = await call("read_document", args);
      assert(isError && text.startsWith(expected) && !text.includes("\n"), text);
    }
  });

  await t.step("after a call was canceled", async () => {
    const stop = new AbortController();
    const request = { name: "read_document", arguments: { path: "long.pdf", pages: "1-30" } };
    const reading = opened.client.callTool(request, { signal: stop.signal });
    stop.abort();
    assertEquals(await reading.then(() => "done", () => "canceled"), "canceled");
    assertStringIncludes((await call("read_document", { path: "long.pdf", pages: "2" })).text, "Page text 2");
  });
});

Deno.test("the settings of the plugin documents have the defaults of its page", async () => {
  const page = await Deno.readTextFile(PAGE);
  const defaults = plugin.settings.parse({}) as Record<string, unknown>;
  const shown = [...page.matchAll(/^(max_\w+) = (\d+)$/gm)].map(([, key, value]) => [key, Number(value)]);
  assertEquals(Object.fromEntries(shown), defaults);
});
