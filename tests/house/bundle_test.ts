/** The steps of `deno task bundle` on small programs; tests/e2e/bundle_test.ts builds the real one. */
import { compileEagerly } from "../../scripts/bundle/eager.ts";
import { chunkOf, onlyFor, pack, packPart } from "../../scripts/bundle/pack.ts";
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

Deno.test("pack keeps exported variables live and names passed on", async () => {
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

Deno.test("a part holds what nobody else needs, and is loaded when somebody imports it", async () => {
  const chunks = Object.entries({
    "main.js": 'import { shared } from "./shared.js";\nconsole.log("main", shared);\n' +
      'const { chat } = await import("./chat.js");\nawait chat();',
    "shared.js": "export const shared = 1;",
    "chat.js": 'import { shared } from "./shared.js";\nimport { own } from "./own.js";\n' +
      'export async function chat() { console.log(own + shared, (await import("./late.js")).late); }',
    "own.js": "export const own = 2;",
    "late.js": 'export const late = "late";',
  }).map(([id, code]) => chunkOf(id, code));
  const own = onlyFor(["chat"], chunks, "main.js");
  assertEquals(own.map(({ id }) => id), ["chat.js", "own.js", "late.js"]);
  assertEquals(onlyFor(["chat"], chunks, "main.js", ["late"]).map(({ id }) => id), ["chat.js", "own.js"]);
  assertThrows(() => onlyFor(["nothing"], chunks, "main.js"), Error, "nothing");
  await using folder = await makeTempDir();
  const main = `${folder.path}/main.js`;
  await Deno.writeTextFile(main, pack(chunks, "main.js", "1", new Map([["chat", own]])));
  const run = async () => {
    const done = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-config", main] })
      .output();
    return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
  };
  assertMatch(
    await run(),
    /^main 1\nerror: [^\n]*reasonix\.chat\.js: it is not there; put it beside the program[^\n]*\n$/,
  );
  await Deno.writeTextFile(`${folder.path}/reasonix.chat.js`, packPart(own, "2"));
  assertStringIncludes(await run(), "reasonix.chat.js: it is of another build");
  await Deno.writeTextFile(`${folder.path}/reasonix.chat.js`, packPart(own, "1"));
  assertEquals(await run(), "main 1\n3 late\n");
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

Deno.test("a trace says so when the program does not run", async () => {
  await using folder = await makeTempDir();
  await Deno.writeTextFile(`${folder.path}/broken.js`, 'throw new Error("broken start");');
  await using tracer = new Tracer(folder.path, ["broken.js"]);
  await assertRejects(() => tracer.start(), Error, "broken start");
});
