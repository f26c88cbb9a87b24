import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer, type Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { SymbolIndex } from "../../../../plugins/map/index.ts";
import { KINDS } from "../../../../plugins/map/languages.ts";
import type { FileSymbols } from "../../../../plugins/map/parser.ts";
import { rank, renderMap } from "../../../../plugins/map/rank.ts";
import { plugin } from "../../../../plugins/map/server.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { randomFrom } from "../../../support/seed.ts";
import { makeTempDir, writeFiles } from "../../../support/tool_context.ts";

const FILES: Record<string, string> = {
  ".gitignore": "build/\n",
  "README.md": "# Shapes\n",
  "build/out.js": "export function generatedOutput() {}\n",
  "src/shapes.ts": `/** Shapes. */
export interface Shape {
  area(): number;
}
export class RoundCircle implements Shape {
  constructor(readonly radius: number) {}
  area(): number {
    return squareOf(this.radius);
  }
}
const squareOf = (x: number) => x * x;
export const DEFAULT_RADIUS = 3;
`,
  "src/main.ts": `import { DEFAULT_RADIUS, RoundCircle } from "./shapes.ts";
export function startProgram(): number {
  return new RoundCircle(DEFAULT_RADIUS).area();
}
`,
  "tests/shapes_test.ts": `import { RoundCircle } from "../src/shapes.ts";
export function makeTestCircle() {
  return new RoundCircle(1);
}
`,
  "tools/report.py": "def print_report(rows):\n    for row in rows:\n        print(row)\n",
  "tools/broken.py": "def half(:\n    return (\n\ndef whole():\n    return half\n",
  "tools/data.c": "int a;\0\n",
  "web/app.min.js": `var a=1;${"function b(){return a};".repeat(400)}\n`,
};

const ENTRY = new URL("../../../../plugins/main.ts", import.meta.url).href;

type Settings = { include: string[]; exclude: string[]; max_files: number };

interface Stage extends AsyncDisposable {
  call(
    tool: string,
    args?: Record<string, unknown>,
  ): Promise<{ text: string; isError: boolean; data: unknown }>;
}

interface Workspace extends AsyncDisposable {
  readonly path: string;
  readonly log: string[];
  /** Another process with the same cache, or with an empty one. */
  open(settings?: Partial<Settings>, state?: string, hidden?: readonly string[]): Promise<Stage>;
}

async function workspace(files: Record<string, string> = FILES): Promise<Workspace> {
  const temp = await makeTempDir();
  const path = `${temp.path}/work`;
  const log: string[] = [];
  await writeFiles(path, files);
  return {
    path,
    log,
    async open(settings = {}, state = "state", hidden = []) {
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      const connection = serveStdio(() => {
        const server = new McpServer({ name: "map", version: "1" });
        plugin.register(server, {
          settings: { include: ["*"], exclude: [], max_files: 1000, ...settings },
          workspace: path,
          state: `${temp.path}/${state}`,
          home: "",
          hidden,
          providers: [],
          entry: ENTRY,
          log: (line) => log.push(line),
        });
        return server;
      }, { transport: theirs as Transport });
      const client = new Client({ name: "test", version: "1" });
      await client.connect(ours);
      return {
        async call(tool, args = {}) {
          const result = await client.callTool({ name: tool, arguments: args });
          const [block] = result.content;
          const text = block?.type === "text" ? block.text : "";
          return { text, isError: result.isError ?? false, data: result.structuredContent };
        },
        async [Symbol.asyncDispose]() {
          await client.close();
          await connection.close();
        },
      };
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

Deno.test("repo_map ranks definitions, and gives the same bytes for the same tree", async () => {
  await using work = await workspace();
  await using first = await work.open();
  const { text, data } = await first.call("repo_map");
  const lines = text.split("\n");
  assertEquals(lines.slice(0, 3), [
    "src/shapes.ts:2 export interface Shape",
    "src/shapes.ts:3 area(): number;",
    "src/shapes.ts:5 export class RoundCircle implements Shape",
  ]);
  assertEquals(lines.filter((line) => !/^[\w./]+:\d+ \S/.test(line)), [lines.at(-1)]);
  assertStringIncludes(text, "tools/report.py:1 def print_report(rows):");
  assert(!text.includes("squareOf") && !text.includes("generatedOutput"), text);
  assertMatch(
    lines.at(-1) ?? "",
    /^\[(\d+) of \1 definitions in 5 files; 1 with syntax errors; 1 of unsupported types; 2 binary, minified or too large\]$/,
  );
  assertEquals((data as { tokens: number }).tokens, Math.ceil(text.length / 4));
  for (const state of ["state", "other"]) {
    await using next = await work.open({}, state);
    assertEquals((await next.call("repo_map")).text, text);
  }
  const focused = await first.call("repo_map", { focus: "tools print_report nowhere" });
  assertMatch(focused.text, /^tools\/report\.py:1 /);
  assertStringIncludes(focused.text, "the focus matches nothing in nowhere");
});

Deno.test("find_symbol, find_references and outline show lines as path:line", async () => {
  await using work = await workspace();
  await using map = await work.open();
  const cases: readonly (readonly [string, Record<string, unknown>, string | RegExp])[] = [
    [
      "find_symbol",
      { name: "RoundCircle" },
      "1\tsrc/shapes.ts:5-10 export class RoundCircle implements Shape",
    ],
    ["find_symbol", { name: "RoundCircle.area" }, "1\tsrc/shapes.ts:7-9   area(): number"],
    ["find_symbol", { name: "area", kind: "class" }, "No class named area in 5 files"],
    [
      "find_symbol",
      { name: "circle" },
      /^No definition named circle in 5 files; similar:\n1\tsrc\/shapes\.ts:5-10 /,
    ],
    [
      "find_symbol",
      { name: "area", limit: 1 },
      /^1\tsrc.*\n\[lines 2-2 of 2 left out; continue with offset 2\]$/,
    ],
    [
      "find_references",
      { name: "RoundCircle", limit: 3 },
      "4 references to RoundCircle; defined at src/shapes.ts:5\n" +
      '1\tsrc/main.ts:1 import { DEFAULT_RADIUS, RoundCircle } from "./shapes.ts";\n' +
      "2\tsrc/main.ts:3 return new RoundCircle(DEFAULT_RADIUS).area();\n" +
      '3\ttests/shapes_test.ts:1 import { RoundCircle } from "../src/shapes.ts";\n' +
      "[lines 4-4 of 4 left out; continue with offset 4]",
    ],
    ["find_references", { name: "missing" }, "0 references to missing; no definition in the map"],
    ["outline", { path: "./tools/report.py" }, "1\ttools/report.py:1-3 def print_report(rows):"],
    [
      "outline",
      { path: `${work.path}/src/shapes.ts`, offset: 3, limit: 2 },
      /^3\tsrc\/shapes.*\n4\tsrc\/shapes.*\n\[/,
    ],
    ["outline", { path: "README.md" }, /^Cannot outline README\.md: .*; name a source file/],
    ["outline", { path: "../x.ts" }, /^Cannot outline \.\.\/x\.ts: /],
    ["outline", { path: "build/out.js" }, /^Cannot outline build\/out\.js: /],
  ];
  for (const [tool, args, expected] of cases) {
    const { text, isError } = await map.call(tool, args);
    if (typeof expected === "string") assertEquals(text, expected);
    else assertMatch(text, expected);
    assertEquals(isError, text.startsWith("Cannot"));
  }
  const { data } = await map.call("find_references", { name: "squareOf" });
  assertEquals(data, { references: [{ path: "src/shapes.ts", line: 8 }], from: 1, to: 1, total: 1 });
});

Deno.test("the cache follows changed, removed, hidden and left out files, and is replaced when broken", async () => {
  await using work = await workspace();
  await using map = await work.open();
  const names = async (stage = map) => (await stage.call("repo_map", { tokens: 5000 })).text;
  const before = await names();
  await writeFiles(work.path, {
    "src/shapes.ts": "export function drawEverything() {}\n",
    "src/more.go": "package a\nfunc More() {}\n",
  });
  const after = await names();
  assertStringIncludes(after, "src/shapes.ts:1 export function drawEverything()");
  assertStringIncludes(after, "src/more.go:2 func More()");
  assert(!after.includes("RoundCircle implements"), after);
  await writeFiles(work.path, { "src/shapes.ts": FILES["src/shapes.ts"] ?? "" });
  await Deno.remove(`${work.path}/src/more.go`);
  assertEquals(await names(), before);
  await using limited = await work.open({ max_files: 2 });
  assertMatch(await names(limited), /in 2 files; .*; 5 beyond max_files\]$/);
  await using narrow = await work.open({ include: ["*.py"], exclude: ["broken.py"] });
  assertMatch(await names(narrow), /^tools\/report\.py:1 .*\n\[1 of 1 definitions in 1 files;/);
  await using secret = await work.open({}, "state", ["/src/"]);
  assert(!(await names(secret)).includes("src/"));
  const state = (name: string) => `${work.path.replace(/work$/, "")}${name}`;
  const [file] = [...Deno.readDirSync(state("state"))].filter(({ name }) => name.endsWith(".sqlite"));
  await writeFiles(state("spoiled"), { [file?.name ?? ""]: "no database".repeat(1000) });
  await using again = await work.open({}, "spoiled");
  assertEquals(await names(again), before);
  assertMatch(work.log.join("\n"), /^Replaces the cache .*: /);
});

Deno.test("the examples of docs/plugins/map.md are what the plugin takes and returns", async () => {
  const page = await Deno.readTextFile(new URL("../../../../docs/plugins/map.md", import.meta.url));
  const blocks = (language: string) =>
    [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, name, text = ""]) =>
      name === language ? [text] : []
    );
  const [script = "", python = ""] = [...blocks("ts"), ...blocks("python")];
  await using work = await workspace({ "README.md": "", "src/shapes.ts": script, "tools/report.py": python });
  await using map = await work.open();
  const calls: readonly (readonly [string, Record<string, unknown>])[] = [
    ["repo_map", {}],
    ["outline", { path: "src/shapes.ts" }],
    ["find_references", { name: "area" }],
  ];
  for (const [index, [tool, args]] of calls.entries()) {
    assertEquals(`${(await map.call(tool, args)).text}\n`, blocks("text")[index]);
  }
  const defaults = plugin.settings.parse({}) as Record<string, unknown>;
  for (const [, key = "", value = ""] of page.matchAll(/^\| `(\w+)` +\| `([\d[\]"*]+)`/gm)) {
    assertEquals(JSON.stringify(defaults[key]), value, key);
  }
  assertEquals(KINDS.filter((kind) => !page.includes(`\`${kind}\``)), []);
});

Deno.test("a cancelled update ends at once, and the next one continues", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [`f${n}.ts`, `export function number${n}() {}\n`.repeat(20)]),
  );
  await using work = await workspace(files);
  const index = new SymbolIndex({
    settings: { include: ["*"], exclude: [], max_files: 1000 },
    workspace: work.path,
    state: "",
    home: "",
    hidden: [],
    providers: [],
    entry: ENTRY,
    log() {},
  });
  const stop = new AbortController();
  const cancelled = index.update({ signal: stop.signal, progress() {} });
  setTimeout(() => stop.abort(new Error("cancelled")), 0);
  await assertRejects(() => cancelled, Error, "cancelled");
  const { files: found } = await index.update({ signal: new AbortController().signal, progress() {} });
  assertEquals(found.length, 300);
});

Deno.test("renderMap never exceeds its budget, whatever the names", () => {
  const random = randomFrom(29);
  const word = (most: number) =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => "aZ_é漢😀 b9"[Math.floor(random() * 10)])
      .join("");
  for (let round = 0; round < 100; round++) {
    const files = Array.from({ length: Math.floor(random() * 40) }, (_, index) => {
      const definitions = Array.from({ length: Math.floor(random() * 8) }, (_, line) => (
        {
          name: word(30),
          kind: "function" as const,
          line: line + 1,
          end: line + 1,
          depth: 0,
          local: false,
          text: word(100),
        }
      ));
      const references = definitions.map(({ name }) => [name, [1, 2]] as const);
      const symbols: FileSymbols = { definitions, references, broken: false };
      return { path: `${index}${word(60)}`, symbols };
    });
    const tokens = 100 + Math.floor(random() * 900);
    const snapshot = { files, unsupported: 1, broken: 12345, skipped: 9, beyond: 1e6, state: "" };
    const focus = [word(200), word(9)];
    const { text } = renderMap(snapshot, rank(files, focus), tokens);
    assert(text.length <= 4 * tokens, `${text.length} characters for ${tokens} tokens`);
    assertEquals(renderMap(snapshot, rank(files, focus), tokens).text, text);
  }
});
