import { assert, assertEquals } from "../support/assert.ts";
import { type Offence, type Project, projectOf } from "./project.ts";
import {
  importSideEffects,
  lostDisposals,
  printsOrExits,
  processState,
  vendorSniffing,
} from "./rules_effects.ts";
import { deadExports } from "./rules_exports.ts";
import {
  denoByName,
  foreignPackages,
  lonelyFiles,
  looseConfig,
  misplacedProse,
  privatePaths,
  sharedNames,
} from "./rules_files.ts";
import * as layers from "./rules_layers.ts";
import { strayConnections, untestedSenders } from "./rules_network.ts";
import * as size from "./rules_size.ts";
import * as text from "./rules_text.ts";
import { silencedCheckers, unsafeTypes } from "./rules_types.ts";

type Rule = (project: Project) => Offence[];

/** Checks that a rule finds exactly these places, written as "path" or "path:line". */
function assertFinds(rule: Rule, files: Record<string, string>, expected: string[]): void {
  const found = rule(projectOf(files)).map(({ path, line }) => line === undefined ? path : `${path}:${line}`);
  assertEquals(found.sort(), expected.sort());
}

const lines = (count: number) => "x();\n".repeat(count);

Deno.test("longFiles finds a file over 300 lines and a test over 500", () => {
  const files = {
    "src/core/a.ts": lines(301),
    "src/core/b.ts": lines(300),
    "tests/unit/a_test.ts": lines(500),
    "tests/unit/b_test.ts": lines(501),
  };
  assertFinds(size.longFiles, files, ["src/core/a.ts", "tests/unit/b_test.ts"]);
});

Deno.test("longFunctions finds a function over 60 lines wherever it is written", () => {
  const body = (count: number) => `{\n${lines(count - 2)}}`;
  const files = {
    "src/core/a.ts": `function f() ${body(61)}\nconst g = () => ${body(60)};\nclass C { m() ${body(61)} }`,
  };
  assertFinds(size.longFunctions, files, ["src/core/a.ts:1", "src/core/a.ts:122"]);
});

Deno.test("manyParameters finds five positional parameters but not one record", () => {
  const files = { "src/core/a.ts": "const f = (a, b, c, d, e) => a;\nfunction g({ a, b, c, d, e }) {}" };
  assertFinds(size.manyParameters, files, ["src/core/a.ts:1"]);
});

Deno.test("manyImports counts imports and leaves re-exports out", () => {
  const many = (word: string) =>
    Array.from({ length: 16 }, (_, n) => `${word} { a${n} } from "./m${n}.ts";`).join("\n");
  assertFinds(size.manyImports, { "src/core/a.ts": many("import"), "src/core/mod.ts": many("export") }, [
    "src/core/a.ts",
  ]);
});

Deno.test("upwardImports finds imports of the same and of a higher layer, lazy and type imports included", () => {
  const files = {
    "src/agent/a.ts": 'import { x } from "../tool/mod.ts";\nimport { y } from "../control/mod.ts";',
    "src/tool/a.ts":
      'import type { z } from "../permission/mod.ts";\nconst m = () => import("../agent/mod.ts");',
    "mod.ts": 'export * from "./src/control/mod.ts";\nexport * from "./src/frontend/mod.ts";',
  };
  assertFinds(layers.upwardImports, files, [
    "src/agent/a.ts:2",
    "src/tool/a.ts:1",
    "src/tool/a.ts:2",
    "mod.ts:2",
  ]);
});

Deno.test("unknownRooms finds a package without a layer", () => {
  assertFinds(layers.unknownPackages, { "src/magic/a.ts": "", "src/core/a.ts": "" }, ["src/magic/a.ts"]);
});

Deno.test("sideDoors finds imports past a package's mod.ts, but for event types and util", () => {
  const files = {
    "src/agent/a.ts": [
      'import { a } from "../tool/registry.ts";',
      'import type { b } from "../core/event_schema.ts";',
      'import { c } from "../core/event_schema.ts";',
      'import { d } from "../util/jsonl.ts";',
      'import { e } from "./loop.ts";',
      'const f = await import("../mcp/client.ts");',
    ].join("\n"),
  };
  assertFinds(layers.deepImports, files, ["src/agent/a.ts:1", "src/agent/a.ts:3", "src/agent/a.ts:6"]);
});

Deno.test("strayImports finds imports of tests by the program, and of the program by plugins", () => {
  const files = {
    "cli/a.ts":
      'import { x } from "../tests/support/assert.ts";\nimport { y } from "../plugins/echo/mod.ts";',
    "cli/b.ts": 'import { PLUGINS } from "../plugins/plugins.ts";\nimport("../plugins/echo/mod.ts");',
    "plugins/echo/mod.ts": 'import { z } from "../../src/core/mod.ts";\nimport { a } from "zod";\n' +
      'import { b } from "../common/tool.ts";\nconst c = import("../../mod.ts");',
    "plugins/common/tool.ts": "",
    "plugins/plugins.ts": "",
    "src/core/mod.ts": "",
    "mod.ts": "",
  };
  const expected = ["cli/a.ts:1", "cli/a.ts:2", "cli/b.ts:2", "plugins/echo/mod.ts:1"];
  assertFinds(layers.strayImports, files, expected);
});

Deno.test("unlistedPlugins compares the list of plugins with their directories", () => {
  const files = {
    "plugins/plugins.ts": '  {\n    module: "web/server.ts",\n  },\n  {\n    module: "gone/server.ts",\n  },',
    "plugins/web/server.ts": "",
    "plugins/common/tool.ts": "",
    "plugins/echo/server.ts": "",
  };
  assertFinds(layers.unlistedPlugins, files, ["plugins/echo", "plugins/plugins.ts"]);
});

Deno.test("cycles finds a circle of imports, also one that a lazy import closes", () => {
  const files = {
    "src/core/a.ts": 'import "./b.ts";',
    "src/core/b.ts": 'export * from "./c.ts";',
    "src/core/c.ts": 'import type { A } from "./a.ts";',
    "src/util/a.ts": 'import "./b.ts";',
    "src/util/b.ts": 'const load = () => import("./a.ts");',
  };
  assertFinds(layers.cycles, files, ["src/core/a.ts", "src/util/a.ts"]);
});

Deno.test("unlistedExtensions finds a directory that its list file omits", () => {
  const files = {
    "src/tool/builtins.ts": 'export const LIST = [() => import("./builtin/ls/tool.ts")];',
    "src/tool/builtin/ls/tool.ts": "",
    "src/tool/builtin/glob/tool.ts": "",
    "cli/app.ts":
      'const load = [() => import("./commands/run.ts"), () => import("./commands/trust/trust.ts")];',
    "cli/commands/run.ts": "",
    "cli/commands/setup/setup.ts": "",
    "cli/commands/setup/wizard.ts": "",
    "cli/commands/trust/trust.ts": "",
    "cli/commands/trust/list.ts": "",
  };
  assertFinds(layers.unlistedExtensions, files, ["src/tool/builtin/glob", "cli/commands/setup"]);
});

Deno.test("lostExtensionPoints finds missing directories", () => {
  const files = { "src/tool/builtin/ls/tool.ts": "", "cli/commands/run.ts": "" };
  const found = layers.lostExtensionPoints(projectOf(files)).map(({ path }) => path);
  assert(found.includes("src/provider/kinds") && !found.includes("src/tool/builtin"), found.join());
});

Deno.test("extensionShortcuts finds an import into an extension from outside of its list", () => {
  const files = {
    "src/tool/builtins.ts": 'const a = () => import("./builtin/ls/tool.ts");',
    "src/tool/builtin/ls/tool.ts": 'import { x } from "./walk.ts";',
    "src/tool/builtin/glob/tool.ts": 'import { x } from "../ls/walk.ts";',
    "src/tool/host.ts": 'import { y } from "./builtin/ls/tool.ts";',
  };
  assertFinds(layers.extensionShortcuts, files, ["src/tool/builtin/glob/tool.ts:1", "src/tool/host.ts:1"]);
});

Deno.test("extensionShortcuts lets languages import only their types from English", () => {
  const files = {
    "src/i18n/zh_cn/run.ts": 'import type { texts as en } from "../en/run.ts";',
    "src/i18n/zh_cn/setup.ts": 'import { texts } from "../en/setup.ts";',
    "src/i18n/en/run.ts": 'import type { texts } from "../zh_cn/run.ts";',
  };
  assertFinds(layers.extensionShortcuts, files, ["src/i18n/en/run.ts:1", "src/i18n/zh_cn/setup.ts:1"]);
});

Deno.test("deadExports finds unused exports through re-exports and lazy imports", () => {
  const files = {
    "mod.ts": 'export * from "./src/core/mod.ts";',
    "src/core/mod.ts": 'export { shown } from "./a.ts";\nexport { hidden as other } from "./a.ts";',
    "src/core/a.ts": "export const shown = 1;\nexport const hidden = 2;\nexport const dead = 3;",
    "src/util/a.ts": "export function lazy() {}\nexport function member() {}\nexport function lost() {}",
    "src/util/b.ts":
      "export interface Options {}\nexport function used(o: Options): void {}\nexport type Alone = 1;",
    "src/tool/mod.ts": 'export { used } from "../util/b.ts";\nexport type { Options } from "../util/b.ts";',
    "cli/a.ts": [
      'const { lazy } = await import("../src/util/a.ts");',
      'const load = () => import("../src/util/a.ts").then((m) => m.member);',
      'import { used } from "../src/util/b.ts";',
    ].join("\n"),
  };
  const expected = ["src/core/a.ts:3", "src/util/a.ts:3", "src/util/b.ts:3", "src/tool/mod.ts:1"];
  assertFinds(deadExports, files, expected);
});

Deno.test("deadExports counts a test as a user of scripts, tests, and names that their own file uses", () => {
  const files = {
    "src/core/a.ts": "export const tested = 1;\nexport const both = 2;\nf(both);",
    "scripts/a.ts": "export const parse = 1;",
    "tests/support/a.ts": "export const help = 1;",
    "tests/unit/a_test.ts": [
      'import { both, tested } from "../../src/core/a.ts";',
      'import { parse } from "../../scripts/a.ts";',
      'import { help } from "../support/a.ts";',
    ].join("\n"),
  };
  assertFinds(deadExports, files, ["src/core/a.ts:1"]);
});

Deno.test("unsafeTypes finds any, double casts and non-null assertions outside tests", () => {
  const code = "let a: any;\nconst b = x as unknown as string;\nconst c = a!;\nconst d = x as unknown;";
  assertFinds(unsafeTypes, { "src/core/a.ts": code, "tests/unit/a_test.ts": code }, [
    "src/core/a.ts:1",
    "src/core/a.ts:2",
    "src/core/a.ts:3",
  ]);
});

Deno.test("silencedCheckers finds comments that switch a checker off", () => {
  const code =
    "// @ts-ignore later\n// deno-lint-ignore no-explicit-any\n// deno-lint-ignore no-control-regex\nx();";
  assertFinds(silencedCheckers, { "src/core/a.ts": code }, ["src/core/a.ts:1", "src/core/a.ts:2"]);
});

Deno.test("strayConnections finds every way to open a connection outside of the openers", () => {
  const ways = [
    "await fetch(url);",
    "const deps = { fetch };",
    "const deps = { fetch: globalThis.fetch };",
    "const { fetch: send } = globalThis;",
    "export const load = (send = fetch) => send;",
    "globalThis['fetch'](url);",
    "const all = Deno;",
    "Deno.connect({ port: 1 });",
    "Deno.createHttpClient({});",
    "const { connect } = Deno;",
    "globalThis.Deno.connect({ port: 1 });",
    "new WebSocket(url);",
    "new EventSource(url);",
    'import { request } from "node:https";',
    'const http = await import("http");',
    'const http = require("node:http2");',
    'export * from "node:net";',
    "const { SSEClientTransport } = await loadSdk(); new SSEClientTransport(url, { fetch: send });",
    "new StreamableHTTPClientTransport(url);",
    "sdk.registerClient(url, { metadata });",
    "exchangeAuthorization(url, {});",
  ];
  const files = (code: string) => ({ "src/tool/a.ts": code, "tests/unit/a_test.ts": code });
  for (const way of ways) {
    const found = strayConnections(projectOf(files(way)), {});
    assertEquals(found.map(({ path }) => path), ["src/tool/a.ts"], way);
  }
  const allowed = [
    "type Send = typeof fetch; let a: typeof globalThis.fetch;",
    "export const load = ({ fetch }: Deps) => fetch(url);",
    'import { fetch } from "./own.ts"; fetch(url);',
    "function load(deps: Deps) { const { fetch } = deps; return () => fetch(url); }",
    "const git = { fetch: /x/ }; deps.fetch(url); git.fetch;",
    'Deno.listen({ port: 1 }); globalThis.addEventListener("a", b); import { join } from "node:path";',
    "const window = 1; use(window);",
    "sdk.registerClient(url, { fetchFn: request });",
  ];
  for (const code of allowed) assertEquals(strayConnections(projectOf(files(code)), {}), [], code);
  assertEquals(
    strayConnections(projectOf(files("await fetch(url);")), { "src/tool/a.ts": "it is the one" }),
    [],
  );
  const gone = strayConnections(projectOf(files("")), { "src/tool/a.ts": "it is the one" });
  assertEquals(gone.map(({ path }) => path), ["src/tool/a.ts"]);
});

Deno.test("untestedSenders finds files that send requests by any name, and senders that send none", () => {
  const sending = [
    "deps.fetch(url);",
    "class A { #fetch: Fetch; b() { this.#fetch(url); } }",
    "function a(request: FetchLike) { return request(url); }",
    "function a({ fetch: send }: Deps) { return send(url); }",
    "const send = deps.fetch; send(url);",
    "const send = serverFetch({ server }); send(url);",
    "programFetch(url);",
    "const answer = await refreshAuthorization(url, { fetchFn });",
  ];
  for (const code of sending) {
    const found = untestedSenders(projectOf({ "src/tool/a.ts": code }), {});
    assertEquals(found.map(({ path }) => path), ["src/tool/a.ts"], code);
    assertEquals(untestedSenders(projectOf({ "src/tool/a.ts": code }), { "src/tool/a.ts": "all" }), [], code);
  }
  assertFinds(
    (project) => untestedSenders(project, { "src/tool/a.ts": "all" }),
    { "src/tool/a.ts": "a();" },
    [
      "src/tool/a.ts",
    ],
  );
});

Deno.test("printsOrExits finds printing and exiting outside of cli", () => {
  const code = 'console.log("x");\nDeno.exit(1);\nDeno.stdout.writeSync(bytes);';
  assertFinds(printsOrExits, { "src/tool/a.ts": code, "src/frontend/print/a.ts": code, "cli/a.ts": code }, [
    "src/tool/a.ts:1",
    "src/tool/a.ts:2",
    "src/tool/a.ts:3",
    "src/frontend/print/a.ts:1",
    "src/frontend/print/a.ts:2",
  ]);
});

Deno.test("processState finds what changes at the top level of a module of src", () => {
  const files = {
    "src/core/a.ts":
      "let a: number | undefined;\nconst b = new Map<string, string>();\nfunction f() { let x = 1; }",
    "src/core/b.ts":
      'const c = { all: new Set() };\nconst d = new Map([["a", 1]]);\nconst e: ReadonlySet<number> = new Set();',
    "src/core/c.ts": "const g = () => new Map();\nclass C { readonly #x = new Map(); }",
    "cli/main.ts": "let h = 1;",
  };
  assertFinds(processState, files, ["src/core/a.ts:1", "src/core/a.ts:2", "src/core/b.ts:1"]);
});

Deno.test("lostDisposals finds a value that is used once, by the next statement", () => {
  const files = {
    "src/core/a.ts": "export function size(p: string) {\n  using file = open(p);\n  return file.size;\n}\n" +
      "export function both(p: string) {\n  using file = open(p);\n  file.lock();\n  return file.size;\n}\n" +
      "export function later(p: string) {\n  using file = open(p);\n  check();\n  return file.size;\n}\n" +
      "export function held(p: string) {\n  using _lock = lock(p);\n  return p;\n}\n",
  };
  assertFinds(lostDisposals, files, ["src/core/a.ts:2"]);
});

Deno.test("importSideEffects finds code that runs on import and exported variables", () => {
  const files = {
    "src/core/a.ts": "register(tool);\nexport let state = 1;\nconst pure = new Map();",
    "cli/main.ts": "main();",
  };
  assertFinds(importSideEffects, files, ["src/core/a.ts:1", "src/core/a.ts:2"]);
});

Deno.test("vendorSniffing finds an address used as a condition", () => {
  const files = {
    "src/provider/a.ts": 'if (url.includes("api.example.com")) x();\nif (url.startsWith("http://")) y();',
  };
  assertFinds(vendorSniffing, files, ["src/provider/a.ts:1"]);
});

Deno.test("badComments finds banners and notes of unfinished work", () => {
  const code = "// ==========\n// --- Part one ---\n// TODO later\n// a - b\n/** Plain. */\nx();";
  assertFinds(text.badComments, { "src/core/a.ts": code }, [
    "src/core/a.ts:1",
    "src/core/a.ts:2",
    "src/core/a.ts:3",
  ]);
});

Deno.test("wideComments finds a comment beyond column 110, and leaves code to the formatter", () => {
  const wide = (start: string) => start + "x".repeat(111 - start.length);
  const code = [wide("// "), wide("  // ").slice(1), wide(" * "), wide('const a = "')].join("\n");
  assertFinds(text.wideComments, { "src/core/a.ts": code }, ["src/core/a.ts:1", "src/core/a.ts:3"]);
});

Deno.test("talkativeFiles finds a file that is mostly comment", () => {
  const code = "// why\n".repeat(30) + lines(30);
  const types = "/** Why. */\ninterface A {}\n".repeat(60);
  const files = { "src/core/a.ts": code, "src/core/b.ts": lines(60), "src/core/c.ts": types };
  assertFinds(text.talkativeFiles, files, ["src/core/a.ts"]);
  assert(Math.round(text.commentShare(projectOf({ "src/core/a.ts": code }))) === 50);
});

Deno.test("badFileNames finds names that are not snake_case or are meaningless", () => {
  const files = {
    "src/core/fileName.ts": "",
    "src/core/utils.ts": "",
    "src/core/loop_v2.ts": "",
    "src/core/zh_cn.ts": "",
  };
  assertFinds(text.badFileNames, files, ["src/core/fileName.ts", "src/core/utils.ts", "src/core/loop_v2.ts"]);
});

Deno.test("badTestNames finds names that are not sentences", () => {
  const code =
    'Deno.test("parse", f);\nDeno.test("parse reads a line when it is empty", f);\nDeno.test({ name: "x", fn });';
  assertFinds(text.badTestNames, { "tests/unit/a_test.ts": code }, [
    "tests/unit/a_test.ts:1",
    "tests/unit/a_test.ts:3",
  ]);
});

Deno.test("badErrorMessages finds lowercase beginnings and final periods", () => {
  const code =
    'throw new Error("cannot read");\nthrow new ReasonixError(`Cannot read ${x}.`);\nthrow new Error("Cannot read");';
  assertFinds(text.badErrorMessages, { "src/core/a.ts": code }, ["src/core/a.ts:1", "src/core/a.ts:2"]);
});

Deno.test("looseConfig finds disabled options and unpinned packages", () => {
  const config = {
    compilerOptions: { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: false },
    lint: {
      rules: { tags: ["recommended"], include: ["no-explicit-any", "no-console"], exclude: ["no-var"] },
    },
    imports: { a: "npm:a@1.2.3", b: "npm:b@^1.0.0", "c/d": "npm:@x/c@1.0.0-rc.1/d" },
  };
  const found = looseConfig(projectOf({ "deno.json": JSON.stringify(config) })).map((offence) =>
    offence.what
  );
  assertEquals(found, [
    "noUncheckedIndexedAccess is off",
    "noImplicitOverride is off",
    "lint rule no-non-null-assertion is off",
    "lint rule no-var is switched off",
    "b is not pinned to an npm version: npm:b@^1.0.0",
  ]);
});

Deno.test("privatePlaces finds directories of a builder's machine and registries", () => {
  const root = "/ro" + "ot/project";
  const host = "https://registry." + "npmjs.org/x";
  const files = {
    "README.md": `see ${root}\nsee ${host}\n`,
    "docs/a.md": `https://example.com/work/flow and src/root/a, ${host}`,
  };
  assertFinds(privatePaths, files, ["README.md:1", "README.md:2"]);
});

Deno.test("foreignPackages finds packages from other sources than npm", () => {
  assertFinds(foreignPackages, { "deno.lock": '{\n"jsr:@std/path@1": "1",\n"npm:a@1": "1"\n}' }, [
    "deno.lock:2",
  ]);
});

Deno.test("misplacedProse finds unused Markdown, tools without description and prose in code", () => {
  const files = {
    "src/tool/builtin/ls/tool.ts": 'import d from "./description.md" with { type: "text" };',
    "src/tool/builtin/ls/description.md": "Lists",
    "src/tool/builtin/cp/tool.ts": "",
    "src/context/old.md": "unused",
    "src/context/a.ts": `const prompt = "${"You are a helpful agent ".repeat(30)}";`,
  };
  assertFinds(misplacedProse, files, ["src/tool/builtin/cp", "src/context/old.md", "src/context/a.ts:1"]);
});

Deno.test("denoByName finds a program started by the bare name deno", () => {
  const code = 'new Deno.Command("de' + 'no", {});\nnew Deno.Command(Deno.execPath(), {});';
  assertFinds(denoByName, { "tests/e2e/a_test.ts": code }, ["tests/e2e/a_test.ts:1"]);
});

Deno.test("crowdedDirectories finds a directory of more than fourteen files", () => {
  const files = (directory: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${directory}/f${n}.ts`, ""]));
  assertFinds(size.crowdedDirectories, { ...files("src/tool/a", 15), ...files("src/tool/b", 14) }, [
    "src/tool/a",
  ]);
});

Deno.test("sharedNames finds the fourth file of a name, except names that the layout prescribes", () => {
  const paths = ["src/core/a.ts", "src/tool/a.ts", "src/util/a.ts", "src/agent/a.ts", "cli/commands/a.ts"];
  const mods = ["src/core/mod.ts", "src/tool/mod.ts", "src/util/mod.ts", "src/agent/mod.ts"];
  const files = Object.fromEntries([...paths, ...mods].map((path) => [path, ""]));
  assertFinds(sharedNames, files, ["src/agent/a.ts"]);
});

Deno.test("lonelyFiles finds a small file with one importer, unless it is lazy, listed or tested", () => {
  const files = {
    "src/agent/loop.ts": [
      'import { a } from "./a.ts";',
      'import { b } from "./b.ts";',
      'import { c } from "./c.ts";',
      'const d = () => import("./d.ts");',
    ].join("\n"),
    "src/agent/a.ts": "export const a = 1;\n",
    "src/agent/b.ts": lines(30),
    "src/agent/c.ts": "export const c = 1;\n",
    "src/agent/d.ts": "export const d = 1;\n",
    "src/agent/e.ts": "export const e = 1;\n",
    "src/agent/mod.ts": 'export { e } from "./e.ts";',
    "tests/unit/agent/c_test.ts": 'import { c } from "../../../src/agent/c.ts";',
  };
  assertFinds(lonelyFiles, files, ["src/agent/a.ts"]);
});
