/** The steps of `deno task bundle` on small programs; tests/e2e/bundle_test.ts builds the real one. */
import { existsSync } from "node:fs";
import { compileEagerly } from "../../scripts/bundle/eager.ts";
import { chunkOf, pack, packLibrary, packPart } from "../../scripts/bundle/pack.ts";
import { partFiles, partsOf, PROJECT_PATHS } from "../../scripts/bundle/parts.ts";
import { Tracer } from "../../scripts/bundle/trace.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../support/assert.ts";
import { makeTempDir } from "../support/tool_context.ts";

function packed(files: Record<string, string>): string {
  return pack(Object.entries(files).map(([id, code]) => chunkOf(id, code)), "main.js");
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
    "b.js": 'export const shared = 1;\nconsole.log("b");',
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
      'import { join } from "node:path";\nexport { join };\nexport default "lazy";\nconsole.log("evaluated");',
  });
  assertEquals(await output(code), "before\nevaluated\nlazy a/b true\n");
  assert(!/^import /m.test(code), "a runtime module is imported at the top");
});

Deno.test("pack keeps exported variables live and re-exported names", async () => {
  const code = packed({
    "main.js": 'import { count, step as more } from "./b.js";\nmore();\nmore();\nconsole.log(count);',
    "b.js": 'export * from "./c.js";\nexport { add as step } from "./c.js";',
    "c.js": "export let count = 0;\nexport function add() { count++; }",
  });
  assertEquals(await output(code), "2\n");
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
  const chunks = Object.entries({
    "main.js": 'import { shared } from "./shared.js";\nconsole.log("main", shared);\n' +
      'const { chat } = await import("./chat.js");\nawait chat();',
    "shared.js": "export const shared = 1;",
    "chat.js": 'import { shared } from "./shared.js";\nimport { own } from "./own.js";\n' +
      'export async function chat() { console.log(own + shared, (await import("./late.js")).late); }',
    "own.js": "export const own = 2;",
    "late.js": 'export const late = "late";',
  }).map(([id, code]) => chunkOf(id, code));
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
    "repl.js": "src/frontend/repl/chat.ts",
    "zh.js": "src/i18n/zh_cn.ts",
    "sentences.js": "src/i18n/zh-CN.json",
    "client.js": "npm/@modelcontextprotocol/client/index.js",
    "reports.js": "cli/commands/reports.ts",
    "grep.js": "src/tool/builtin/grep/grep.ts",
    "google.js": "src/provider/kinds/google/kind.ts",
    "sandbox.js": "cli/commands/sandbox.ts",
    "install.js": "cli/commands/install.ts",
    "worker.js": "src/run/tools/worker.ts",
    "process.js": "src/tool/host/worker_process.ts",
  };
  const lazy = (id: string) => id === "process.js" ? 'import("./edit.js"); import("./repl.js");' : "";
  const chunks = [
    ...Object.entries(modules).map(([id, path]) => chunkOf(id, lazy(id), [`/project/${path}`])),
    chunkOf("edit.js", "", ["/project/src/tool/edit/edit_file.ts"]),
    chunkOf("reexport.js", 'import { a } from "./repl.js"; import "./grep.js"; export { a };'),
  ];
  const parts = partsOf(chunks, pack(chunks, "worker.js"), new Set());
  assertEquals([...parts.keys()].sort().map((name) => `reasonix.${name}.js`), partFiles());
  assert(parts.size <= 6);
  assertEquals(
    Object.fromEntries([...parts].map(([name, list]) => [name, list.map(({ id }) => id)])),
    {
      zh_cn: ["zh.js", "sentences.js"],
      mcp: ["client.js"],
      chat: ["repl.js", "reexport.js"],
      commands: ["reports.js"],
      tools: ["grep.js"],
    },
  );
  assertThrows(() => partsOf(chunks.slice(0, 3), "", new Set()), Error, "worker.ts");
});

Deno.test("the packed library exports what its entry exports", async () => {
  const chunks = [
    chunkOf("library.js", 'import { a } from "./a.js";\nconst b = 2;\nexport { a, b as two };'),
    chunkOf("a.js", "export const a = 1;"),
  ];
  await using directory = await makeTempDir();
  await Deno.writeTextFile(`${directory.path}/mod.js`, packLibrary(chunks, "library.js"));
  assertEquals({ ...await import(`file://${directory.path}/mod.js`) }, { a: 1, two: 2 });
  assertThrows(() => packLibrary(chunks, "a.js"), Error, "a.js");
});

Deno.test("compileEagerly marks executed functions and changes nothing else", async () => {
  const code = packed({
    "main.js": [
      "const twice = function (x) { return 2 * x; };",
      'console.log(early(2), [1, 2].map((x) => x + 1).join(), (() => "in")(), typeof cold);',
      "function early(x) { return twice(x) + 1; }",
      "async function later() { return await Promise.resolve(5); }",
      "function cold() { return 0; }",
      "console.log(await later(), early.name);",
    ].join("\n"),
  });
  const everything = new Set(Array.from({ length: code.length + 1 }, (_, index) => index));
  const eager = compileEagerly(code, everything);
  const expected = "5 2,3 in function\n5 early\n";
  assertEquals(await output(code), expected);
  assertEquals(await output(eager), expected);
  assertStringIncludes(eager, "early=(function");
  assertStringIncludes(eager, "later=(async function");
  assertStringIncludes(eager, "((x) => x + 1)");
  assertEquals(compileEagerly(code, new Set()), code);
});

Deno.test("a trace fails with the error of a program that does not run", async () => {
  await using directory = await makeTempDir();
  await Deno.writeTextFile(`${directory.path}/broken.js`, 'throw new Error("broken start");');
  await using tracer = new Tracer(directory.path, ["broken.js"]);
  await assertRejects(() => tracer.start(), Error, "broken start");
});
