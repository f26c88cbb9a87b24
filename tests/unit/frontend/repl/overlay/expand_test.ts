/** The view of collapsed items: expanding, collapsing and searching. */
import { ExpandPanel } from "../../../../../src/frontend/repl/overlay/expand.ts";
import { loadTexts } from "../../../../../src/i18n/mod.ts";
import { palette } from "../../../../../src/view/mod.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

const FOLDED = [
  { kind: "output", title: "$ deno test", text: "running 3 tests\nok 你好，世界\nfailed: Timeout" },
  { kind: "thought", title: "thought", text: "Perhaps the timeout is too short." },
  {
    kind: "diff",
    title: "edit a.ts",
    text: "@@ -1,2 +1,2 @@\n const a = 1;\n-const timeout = 5;\n+const timeout = 50;",
  },
] as const;

async function opened(
  collapsed: ConstructorParameters<typeof ExpandPanel>[0]["collapsed"] = FOLDED,
  colors = false,
) {
  const [run, turns] = await Promise.all([
    loadTexts("run", "en"),
    loadTexts("turn_view", "en"),
  ]);
  const panel = new ExpandPanel({
    palette: palette(colors),
    texts: { ...run, ...turns },
    collapsed,
  });
  return {
    panel,
    press: (...keys: string[]) => {
      for (const key of keys) {
        panel.input({ kind: "key", key, ...([...key].length === 1 ? { text: key } : {}) });
      }
    },
    type: (text: string) => [...text].forEach((char) => panel.input({ kind: "key", key: char, text: char })),
    rows: (columns = 80, rows = 20) => {
      const { lines } = panel.frame(columns, rows);
      assert(lines.length <= rows, `${lines.length} rows`);
      // deno-lint-ignore no-control-regex
      const plain = lines.map((line) => line.replace(/\x1b\[[0-9;]*m/g, ""));
      for (const line of plain) assert(displayWidth(line) <= columns, line);
      return plain;
    },
  };
}

Deno.test("entries start collapsed with the newest selected, and Enter toggles one", async () => {
  const { press, rows } = await opened();
  assertEquals(rows().slice(2, 5), [
    "  ▸ $ deno test  output · 3 lines",
    "  ▸ thought  thought · 1 line",
    "› ▸ edit a.ts  changes · 3 lines",
  ]);
  press("enter");
  assertEquals(rows().slice(4, 8), [
    "› ▾ edit a.ts  changes · 3 lines",
    "    1   const a = 1;",
    "    2 - const timeout = 5;",
    "    2 + const timeout = 50;",
  ]);
  press("down", "down", "enter");
  assertEquals(rows()[4], "› ▸ edit a.ts  changes · 3 lines");
});

Deno.test("e expands all entries, and collapses them when all are expanded", async () => {
  const { press, rows } = await opened();
  press("e");
  assertEquals(rows().filter((row) => row.includes("▾")).length, 3);
  press("e");
  assertEquals(rows().filter((row) => row.includes("▸")).length, 3);
});

Deno.test("a search expands matches, wraps with n and N, and ignores case", async () => {
  const { press, type, rows } = await opened();
  press("/");
  type("timeout");
  assert(rows().includes("/timeout"));
  press("enter");
  const current = () => rows().find((row) => row.startsWith("› "));
  assertEquals(current(), "›   2 - const timeout = 5;");
  press("n");
  assertEquals(current(), "›   2 + const timeout = 50;");
  press("n");
  assertEquals(current(), "›   failed: Timeout");
  assert(rows().some((row) => row.startsWith("match 1/4")));
  press("n");
  assertEquals(current(), "›   Perhaps the timeout is too short.");
  press("N", "N");
  assertEquals(current(), "›   2 + const timeout = 50;");
});

Deno.test("Chinese is found, matches are reversed, and surrounding colors are kept", async () => {
  const { panel, press, type, rows } = await opened(FOLDED, true);
  press("/");
  type("世界");
  press("enter");
  const { lines } = panel.frame(80, 20);
  assert(lines.some((line) => line.includes("你好，\x1b[7m世界\x1b[27m")), JSON.stringify(lines));
  press("/");
  type("const timeout = 50");
  press("enter");
  const marked = panel.frame(80, 20).lines.find((line) => line.includes("\x1b[7m"));
  // deno-lint-ignore no-control-regex
  assert(/\x1b\[3\d.*\x1b\[7mconst timeout = 50\x1b\[27m/.test(marked ?? ""), JSON.stringify(marked));
  assert(rows().length > 0);
});

Deno.test("a match across rows of a narrow window is found and marked on both rows", async () => {
  const { panel, press, type } = await opened([{
    kind: "output",
    title: "out",
    text: `${"界".repeat(17)}目标词尾`,
  }]);
  press("/");
  type("目标词");
  press("enter");
  const marked = panel.frame(40, 10).lines.filter((line) => line.includes("\x1b[7m"));
  assertEquals(marked.length, 2);
  assertEquals(marked.every((line) => line.includes("\x1b[27m") || line.endsWith("\x1b[0m")), true);
});

Deno.test("a search without matches reports it, Esc leaves the search and then the view", async () => {
  const { panel, press, type, rows } = await opened();
  press("/");
  type("nowhere");
  press("enter");
  assert(rows().some((row) => row.startsWith('"nowhere" is not found')));
  press("/");
  type("half");
  press("escape");
  assert(!rows().some((row) => row.startsWith("/")));
  press("q");
  assertEquals(await panel.answer, undefined);
});

Deno.test("the view keeps its current line visible in any window, also with 100,000 lines", async () => {
  const text = Array.from({ length: 100_000 }, (_, index) => `line ${index} ${"字".repeat(index % 60)}`).join(
    "\n",
  );
  const { press, rows, type } = await opened([{ kind: "output", title: "long", text }]);
  press("enter", "end");
  for (const [columns, height] of [[20, 5], [40, 20], [300, 100]] as const) {
    assert(rows(columns, height).some((row) => row.startsWith("› ")), `${columns}x${height}`);
  }
  press("pageUp", "pageUp", "home", "pageDown");
  assert(rows(40, 20).some((row) => row.startsWith("› ")));
  press("/");
  type("line 77777 ");
  press("enter");
  assert(rows(40, 20).some((row) => row.startsWith("›   line 77777")), rows(40, 20).join("\n"));
});

Deno.test("the view reports when nothing is collapsed", async () => {
  const { rows, press } = await opened([]);
  press("enter", "e", "n", "down", "/", "x", "enter");
  assert(rows().includes("Nothing was folded yet."));
});
