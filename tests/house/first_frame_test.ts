/** The modules that the chat evaluates before its first frame: each delays the prompt. */
import { assert, assertEquals } from "../support/assert.ts";
import { thisProject } from "./project.ts";

/** The entry modules of the first frame, with their lazy imports. */
const ROOTS = [
  "cli/main.ts",
  "cli/commands/run/chat.ts",
  "src/frontend/repl/mod.ts",
  "src/i18n/en/chat.ts",
  "src/i18n/en/composer.ts",
];
/** Raise it only for what the first frame shows, or for what `/view` could not make up for later. */
const MOST = 114;

/** The files that the modules load, except lazily and for types only. */
function loadedBy(roots: readonly string[]): Set<string> {
  const { sources } = thisProject();
  const found = new Set<string>();
  const pending = [...roots];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const { to, kind, typeOnly } of sources.get(path)?.edges ?? []) {
      if (kind !== "lazy" && !typeOnly) pending.push(to);
    }
  }
  return found;
}

Deno.test("the first frame of the chat loads few modules and no large package", () => {
  const { sources } = thisProject();
  const found = loadedBy(ROOTS);
  const files = [...found].filter((path) => sources.has(path)).sort();
  const packages = [...found].filter((path) => !sources.has(path) && !/\.(?:json|md)$/.test(path)).sort();
  assert(files.length <= MOST, `${files.length} modules:\n${files.join("\n")}`);
  assertEquals(packages, ["get-east-asian-width", "smol-toml"]);
});

Deno.test("the chat loads nothing of the full-screen view until it is shown", () => {
  const view = /^src\/frontend\/repl\/(?:full\/|screen\/full_screen)|^src\/i18n\/en\/full/;
  assertEquals([...loadedBy(ROOTS)].filter((path) => view.test(path)), []);
  assert([...loadedBy(["src/frontend/repl/full/layout.ts"])].some((path) => view.test(path)));
});

Deno.test("without hooks no hook module is loaded at the start of a run", () => {
  const found = loadedBy([
    "cli/main.ts",
    "cli/commands/run/run.ts",
    "src/run/assembly.ts",
    "src/agent/loop.ts",
  ]);
  assertEquals([...found].filter((path) => /^src\/(?:hook|config\/hooks|features\/hooks)\//.test(path)), []);
});

Deno.test("the chat in plain lines loads nothing of the chat with a screen", () => {
  const found = loadedBy(["cli/commands/run/line_chat.ts", "src/frontend/repl/lines.ts"]);
  const screen = /^src\/frontend\/repl\/(?:chat|composer|overlay|screen|status_line|terminal|transcript)/;
  assertEquals([...found].filter((path) => screen.test(path)), []);
});
