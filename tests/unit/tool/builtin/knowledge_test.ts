import { ReasonixError, textOf } from "../../../../src/core/mod.ts";
import {
  BUILTINS,
  type HistoryPort,
  type SkillPort,
  type Tool,
  ToolRegistry,
  type ToolServices,
} from "../../../../src/tool/mod.ts";
import { FactStore } from "../../../../src/memory/store.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

const NAMES = ["skill", "history", "memory", "remember", "forget"];
const registry = new ToolRegistry(BUILTINS, [], { enabled: ["*", ...NAMES] });

async function run(name: string, args: unknown, services: ToolServices = {}) {
  const call = await registry.prepare({ id: "1", name, arguments: JSON.stringify(args) });
  if (typeof call === "string") throw new Error(call);
  return await (registry.get(call.tool) as Tool).execute(call.args, { ...makeToolContext("/"), services });
}

Deno.test("the knowledge tools are available when they are enabled", () => {
  const offered = new ToolRegistry(BUILTINS).schemas().map((schema) => schema.name);
  assertEquals(NAMES.filter((name) => offered.includes(name)), []);
  assertEquals(NAMES.filter((name) => registry.get(name) !== undefined), NAMES);
});

Deno.test("the knowledge tools report missing data", async () => {
  for (
    const [name, args] of [
      ["skill", { name: "x" }],
      ["history", { operation: "search", query: "x" }],
      ["memory", { operation: "list" }],
      ["remember", { name: "a", description: "b", text: "c" }],
      ["forget", { name: "a" }],
    ] as const
  ) {
    const result = await run(name, args);
    assert(result.isError && result.content.startsWith("error: Cannot"), name);
  }
});

Deno.test("remember and forget require approval for each call, with a preview", async () => {
  const fresh = async (name: string, args: unknown) => {
    const call = await registry.prepare({ id: "1", name, arguments: JSON.stringify(args) });
    return typeof call === "string" ? call : [call.alwaysAsk && textOf(call.alwaysAsk), call.readOnly];
  };
  assertEquals(await fresh("remember", { name: "a", description: "b", text: "c\n d" }), [
    "save for this project: a: b — c d",
    false,
  ]);
  assertEquals(await fresh("forget", { name: "a" }), ["forget a", false]);
  assertEquals(await fresh("memory", { operation: "list" }), [undefined, true]);
  const long = await fresh("remember", {
    name: "a",
    description: "b",
    text: "x".repeat(9_000),
    scope: "global",
  });
  assertEquals(String(long[0]).length, 400);
});

Deno.test("memory, remember and forget work on the same facts", async () => {
  await using dir = await makeTempDir();
  const store = new FactStore({ home: dir.path, project: `${dir.path}/p` });
  const services = { memory: () => Promise.resolve(store) };
  assertStringIncludes(
    (await run("memory", { operation: "list" }, services)).content,
    "Nothing has been saved",
  );
  const saved = await run("remember", {
    name: "port",
    description: "Dev port",
    text: "It is 8080",
    pinned: true,
  }, services);
  assertStringIncludes(saved.content, "Saved ");
  const listed = await run("memory", { operation: "list" }, services);
  assertStringIncludes(listed.content, "pinned): Dev port");
  assertStringIncludes(
    (await run("memory", { operation: "search", query: "8080" }, services)).content,
    "It is 8080",
  );
  assertStringIncludes(
    (await run("memory", { operation: "read", name: "port" }, services)).content,
    "\n\nIt is 8080",
  );
  assertStringIncludes(
    (await run("memory", { operation: "search", query: "zzz" }, services)).content,
    "history tool",
  );
  assertStringIncludes((await run("forget", { name: "port" }, services)).content, "Forgotten");
  const gone = await run("memory", { operation: "read", name: "port" }, services);
  assert(gone.isError);
});

Deno.test("history shows hits with their context, and guidance without hits", async () => {
  const history: HistoryPort = {
    search: ({ query, scope }) =>
      Promise.resolve(
        query === "none" ? { hits: [], guidance: `wider than ${scope}` } : {
          hits: [{
            session: "s1",
            title: "Fix",
            seq: 7,
            role: "user",
            time: "2026-01-02T03:04:05Z",
            snippet: "…x…",
          }],
        },
      ),
    around: ({ session }) =>
      session === "s1"
        ? Promise.resolve([
          { seq: 6, role: "user", time: "", text: "before", cut: 0 },
          { seq: 7, role: "tool", time: "", text: "the hit", cut: 12 },
        ])
        : Promise.reject(new ReasonixError("Cannot read around it", { remedy: "use a hit" })),
  };
  const found = await run("history", { operation: "search", query: "parser" }, { history });
  assertStringIncludes(found.content, "session s1 seq 7 · 2026-01-02 · user · Fix\n…x…");
  assertEquals(
    (await run("history", { operation: "search", query: "none" }, { history })).content,
    "wider than project",
  );
  const around = await run("history", { operation: "around", session: "s1", seq: 7 }, { history });
  assertEquals(
    around.content,
    "[seq 6 user]\nbefore\n\n[seq 7 tool (the hit)]\nthe hit\n[12 more characters]",
  );
  const wrong = await run("history", { operation: "around", session: "s2", seq: 7 }, { history });
  assertEquals([wrong.isError, wrong.content], [true, "error: Cannot read around it; use a hit"]);
  assert((await run("history", { operation: "search" }, { history })).isError);
});

Deno.test("skill returns the instructions or the reason why there are none", async () => {
  const skills: SkillPort = {
    activate: (name, args) =>
      Promise.resolve(
        name === "pdf" ? { content: `<skill>${args}</skill>`, summary: "pdf" } : "There is no such skill",
      ),
  };
  assertEquals((await run("skill", { name: "pdf", args: "x" }, { skills })).content, "<skill>x</skill>");
  assertEquals((await run("skill", { name: "no" }, { skills })).content, "error: There is no such skill");
});
