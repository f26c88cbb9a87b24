/** The steps of `deno task bundle` on small programs; tests/e2e/bundle_test.ts builds the real one. */
import { existsSync } from "node:fs";
import { chunkOf } from "../../scripts/bundle/chunk.ts";
import { readExecuted } from "../../scripts/bundle/executed.ts";
import type { SourceMap } from "../../scripts/bundle/names.ts";
import { pack, packLibrary, packPart } from "../../scripts/bundle/pack.ts";
import { partFiles, partsOf, PROJECT_PATHS } from "../../scripts/bundle/parts.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../support/assert.ts";
import { makeTempDir } from "../support/tool_context.ts";

function chunksOf(files: Record<string, string>) {
  return Object.entries(files).map(([name, code]) => chunkOf({ name, code, modules: [] }));
}

function packed(files: Record<string, string>): string {
  return pack(chunksOf(files), "main.js");
}

/** Runs a program and returns what it printed. */
async function output(code: string): Promise<string> {
  const file = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(file, code);
    const done = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-config", file] })
      .output();
    return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("pack runs chunks in the order of their imports, each once", async () => {
  const code = packed({
    "main.js": 'import "./a.js";\nimport { shared } from "./b.js";\nconsole.log("main", shared);',
    "a.js": 'import { shared } from "./b.js";\nconsole.log("a", shared);',
    "b.js": 'const shared = 1;\nconsole.log("b");\nexport { shared };',
  });
  assertEquals(await output(code), "b\na 1\nmain 1\n");
});

Deno.test("pack evaluates a lazy chunk, and the runtime's modules it needs, when it is imported", async () => {
  const code = packed({
    "main.js": [
      'console.log("before");',
      'const [one, two] = await Promise.all([import("./lazy.js"), import("./lazy.js")]);',
      "console.log(one.default, one.join('a', 'b'), one === two);",
    ].join("\n"),
    "lazy.js":
      'import { join } from "node:path";\nvar lazy = "lazy";\nconsole.log("evaluated");\nexport { join, lazy as default };',
  });
  assertEquals(await output(code), "before\nevaluated\nlazy a/b true\n");
  assert(!/^import /m.test(code), "a runtime module is imported at the top");
});

Deno.test("pack takes the default export of a CommonJS package, and expressions of any depth", async () => {
  const code = packed({
    "main.js": 'const { default: value } = await import("./lazy.js");\nconsole.log(value());',
    "lazy.js": `var all = () => () => ${"1+".repeat(3_000)}1;\nexport default all();`,
  });
  assertEquals(await output(code), "3001\n");
});

Deno.test("pack renames exports, and refuses variables that change after others have read them", async () => {
  const code = packed({
    "main.js": 'import main, { step as more } from "./b.js";\nimport * as path from "node:path";\n' +
      "console.log(more(), main, path.basename('a/b'));",
    "b.js": 'let count = 1;\ncount++;\nfunction add() { return count; }\nvar b = "é";\n' +
      "export { add as step, b as default };",
  });
  assertEquals(await output(code), "2 é b\n");
  for (const change of ["count++", "[count] = [2]", "({ count } = { count: 2 })", "for (count of [2]);"]) {
    const changing = `export { count, add };\nlet count = 1;\nfunction add() { ${change}; }`;
    assertThrows(
      () => packed({ "main.js": 'import { count } from "./b.js";', "b.js": changing }),
      Error,
      "assigns to an exported variable at b.js:3",
    );
    const late = 'const b = await import("./b.js"); b.add(); console.log(b.count);';
    assertEquals(await output(packed({ "main.js": late, "b.js": changing })), "2\n");
  }
});

Deno.test("pack leaves import.meta to the one file, so that it can start itself as a worker", async () => {
  const code = packed({
    "main.js": [
      'if (self.name === "echo") self.onmessage = (event) => self.postMessage("got " + event.data);',
      "else {",
      '  const worker = new Worker(import.meta.url, { type: "module", name: "echo" });',
      "  worker.onmessage = (event) => { console.log(event.data); worker.terminate(); };",
      '  worker.postMessage("it");',
      "}",
    ].join("\n"),
  });
  assertEquals(await output(code), "got it\n");
});

Deno.test("pack refuses chunks that import each other in a circle", () => {
  assertThrows(
    () => packed({ "main.js": 'import "./a.js";', "a.js": 'import "./main.js";' }),
    Error,
    "Cannot pack the bundle",
  );
});

Deno.test("a part is loaded when one of its chunks is imported", async () => {
  const chunks = chunksOf({
    "main.js": 'import { shared } from "./shared.js";\nconsole.log("main", shared);\n' +
      'const { chat } = await import("./chat.js");\nawait chat();',
    "shared.js": "const shared = 1;\nexport { shared };",
    "chat.js": 'import { shared } from "./shared.js";\nimport { own } from "./own.js";\nexport { chat };\n' +
      'async function chat() { console.log(own + shared, (await import("./late.js")).late); }',
    "own.js": "const own = 2;\nexport { own };",
    "late.js": 'const late = "late";\nexport { late };',
  });
  const own = chunks.filter(({ id }) => id !== "main.js" && id !== "shared.js");
  await using directory = await makeTempDir();
  const main = `${directory.path}/main.js`;
  await Deno.writeTextFile(main, pack(chunks, "main.js", "1", new Map([["chat", own]])));
  const run = async () => {
    const done = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-config", main] })
      .output();
    return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
  };
  assertMatch(
    await run(),
    /^main 1\nerror: [^\n]*reasonix\.chat\.js: it is not there; put it next to the program[^\n]*\n$/,
  );
  await Deno.writeTextFile(`${directory.path}/reasonix.chat.js`, packPart(own, "2"));
  assertStringIncludes(await run(), "reasonix.chat.js: it is of another build");
  await Deno.writeTextFile(`${directory.path}/reasonix.chat.js`, packPart(own, "1"));
  assertEquals(await run(), "main 1\n3 late\n");
});

Deno.test("the paths that assign chunks to parts exist", () => {
  const missing = PROJECT_PATHS.filter((path) => !existsSync(new URL(`../..${path}`, import.meta.url)));
  assertEquals(missing, []);
});

Deno.test("chunks are assigned to parts by module path, except chunks that a start needs", () => {
  const modules = {
    "repl.js": "/src/frontend/repl/chat.ts",
    "full.js": "/src/frontend/repl/full/layout.ts",
    "editor.js": "/src/frontend/acp/server.ts",
    "server.js": "/src/frontend/web/server.ts",
    "zh.js": "/src/i18n/zh_cn.ts",
    "sentences.js": "/src/i18n/zh-CN.json",
    "client.js": "npm:/@modelcontextprotocol/client/2.0.0/index.js",
    "reports.js": "/cli/commands/reports.ts",
    "grep.js": "/src/tool/builtin/grep/grep.ts",
    "google.js": "/src/provider/kinds/google/kind.ts",
    "sandbox.js": "/cli/commands/sandbox.ts",
    "install.js": "/cli/commands/install.ts",
    "update.js": "/cli/commands/update.ts",
    "update_texts.js": "/src/i18n/en/cli/update.ts",
    "worker.js": "/src/run/tools/worker.ts",
    "process.js": "/src/tool/host/worker_process.ts",
    "start.js": "npm:/@clack/core/1.0.0/start.js",
    "observer.js": "/src/features/telemetry/telemetry.ts",
    "operations.js": "/src/features/telemetry/operations.ts",
    "exporter.js": "/src/features/telemetry/exporter.ts",
    "sdk.js": "npm:/@opentelemetry/sdk-trace/3.1.0/dist/index.mjs",
  };
  const chunk = (name: string, code: string, modules: readonly string[] = []) =>
    chunkOf({ name, code, modules });
  const lazy = (id: string) => id === "process.js" ? 'import("./edit.js"); import("./repl.js");' : "";
  const chunks = [
    ...Object.entries(modules).map(([id, path]) => chunk(id, lazy(id), [path])),
    chunk("edit.js", "", ["/src/tool/edit/edit_file.ts"]),
    chunk("reexport.js", 'import { a } from "./repl.js"; import "./grep.js"; export { a };'),
  ];
  // Half of the modules is enough, of whatever version.
  chunks.push(chunk("half.js", "", ["npm:/@clack/core/1.0.0/start.js", "/src/reports/new.ts"]));
  const parts = partsOf(chunks, new Set(["npm:/@clack/core/start.js"]));
  assertEquals([...parts.keys()].sort().map((name) => `reasonix.${name}.js`), partFiles());
  assert(parts.size <= 9);
  assertEquals(
    Object.fromEntries([...parts].map(([name, list]) => [name, list.map(({ id }) => id)])),
    {
      zh_cn: ["zh.js", "sentences.js"],
      acp: ["editor.js"],
      telemetry: ["exporter.js", "sdk.js"],
      web: ["server.js"],
      mcp: ["client.js"],
      full: ["full.js"],
      chat: ["repl.js", "reexport.js"],
      commands: ["reports.js"],
      tools: ["grep.js"],
    },
  );
  assertThrows(() => partsOf(chunks.slice(0, 3), new Set()), Error, "worker.ts");
});

Deno.test("the packed library exports what its entry exports", async () => {
  const chunks = chunksOf({
    "library.js": 'import { a } from "./a.js";\nconst b = 2;\nexport { a, b as two };',
    "a.js": "const a = 1;\nexport { a };",
    "empty.js": "",
  });
  await using directory = await makeTempDir();
  await Deno.writeTextFile(`${directory.path}/mod.js`, packLibrary(chunks, "library.js"));
  assertEquals({ ...await import(`file://${directory.path}/mod.js`) }, { a: 1, two: 2 });
  assertThrows(() => packLibrary(chunks, "empty.js"), Error, "empty.js");
});

/** A source map in which each of these offsets of a line begins code of the only source, some with names. */
function mapOf(offsets: readonly (readonly [number, string | undefined])[]): SourceMap {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const field = (value: number): string => {
    let [rest, text] = [value << 1, ""];
    do text += digits[(rest & 31) | (rest > 31 ? 32 : 0)] ?? ""; while ((rest >>= 5) > 0);
    return text;
  };
  const names = offsets.flatMap(([, name]) => name === undefined ? [] : [name]);
  let [before, named] = [0, 0];
  const segments = offsets.map(([offset, name]) => {
    const text = `${field(offset - before)}AAA${name === undefined ? "" : named++ === 0 ? "A" : "C"}`;
    before = offset;
    return text;
  });
  return { names, mappings: segments.join(",") };
}

Deno.test("functions of the list are compiled with their file, and nothing else changes", async () => {
  const code =
    "var a=function(b){return 2*b};console.log(c(2),[1,2].map(d=>d+1).join(),(()=>'in')(),typeof e);" +
    "function c(b){return a(b)+1}async function g(){return await Promise.resolve(5)}function e(){return 0}" +
    "console.log(await g(),c.name);class h{i=()=>1;j(){return ()=>2}}console.log(new h().i(),new h().j()());";
  const named: readonly (readonly [string, string?])[] = [
    ["a=", "twice"],
    ["function(b)"],
    ["d=>"],
    ["()=>'in'"],
    ["function c"],
    ["c(b)", "early"],
    ["async function g"],
    ["g(){", "later"],
    ["function e"],
    ["e(){", "cold"],
    ["h{", "Hot"],
    ["()=>1"],
    ["()=>2"],
  ];
  const map = mapOf(named.map(([text, name]) => [code.indexOf(text), name] as const));
  const modules = ["/src/a.ts"];
  const file = { name: "main.js", code, modules, map };
  const plain = chunkOf(file);
  const names = ["twice", "/0", "/1", "early", "later", "cold", "Hot.i", "Hot.j/0"];
  assertEquals([...plain.functions.values()].sort(), names.map((name) => `/src/a.ts ${name}`).sort());
  const executing = new Map([["/src/a.ts", new Set(["twice", "/0", "early", "later", "Hot.i"])]]);
  const eager = chunkOf(file, undefined, executing);
  const expected = "5 2,3 in function\n5 c\n1 2\n";
  assertEquals(await output(pack([plain], "main.js")), expected);
  assertEquals(await output(pack([eager], "main.js")), expected);
  assertStringIncludes(eager.body, "var c=(function (b){return a(b)+1}),g=(async function (){return");
  assertStringIncludes(eager.body, "a=(function(b){return 2*b});");
  assertStringIncludes(eager.body, ".map((d=>d+1))");
  assertStringIncludes(eager.body, "i=(()=>1)");
  assertStringIncludes(eager.body, "return ()=>2");
  assertStringIncludes(pack([eager], "main.js"), ",(async function($need){");
  for (const { body, functions } of [plain, eager]) {
    for (const [end, name] of functions) {
      if (name.endsWith("early")) assertMatch(body.slice(0, end), /\(b\)\{return a\(b\)\+1\}$/);
      if (name.endsWith("/1")) assertMatch(body.slice(0, end), /\(\)=>'in'$/);
    }
  }
});

Deno.test("the list of what executes names modules that exist", async () => {
  const { start, program, worker } = await readExecuted();
  const modules = new Set([...start, ...program.keys(), ...worker.keys()]);
  assert(modules.has("/src/agent/loop.ts"));
  const missing = [...modules].filter((path) => /^\/(?:src|cli)\//.test(path))
    .filter((path) => !existsSync(new URL(`../..${path}`, import.meta.url)));
  assert(missing.length <= 20, `run: deno task trace; the list names ${missing.join(", ")}`);
});
