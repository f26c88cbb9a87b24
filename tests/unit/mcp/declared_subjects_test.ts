/** Tools that declare which argument is an address, a file or a query: rules hold for their calls. */
import type { PreparedCall } from "../../../src/core/mod.ts";
import { textOf } from "../../../src/core/mod.ts";
import type { PluginInfo } from "../../../src/mcp/mod.ts";
import { createWorkspace } from "../../../src/sandbox/mod.ts";
import { ToolRegistry } from "../../../src/tool/mod.ts";
import { pluginCommandLine } from "../../support/plugin_client.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { type McpFixture, openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { attended, type RuleTexts, scene } from "../permission/scene.ts";

const signal = new AbortController().signal;
const PROBE: PluginInfo = { name: "probe", brief: "", module: "", touches: "", permissions: () => ({}) };

/** A plugin of the program and a server of others that declare the same; the plugin has an alias. */
async function openBoth(indexAboveTokens = 0): Promise<McpFixture> {
  const mcp = await openMcp([
    { name: "web", command: "reasonix", args: ["plugin", "probe"], aliases: { web_open: "of_url" } },
    scripted("other", { tools: "subjects" }),
  ], { plugins: { list: [PROBE], behaviour: { tools: "subjects" } }, indexAboveTokens });
  await mcp.servers.start();
  return mcp;
}

function callsOf({ servers }: McpFixture): (name: string, args: Record<string, unknown>) => PreparedCall {
  const registry = new ToolRegistry([], servers.tools());
  return (name, args) => {
    const prepared = registry.prepare({ id: "1", name, arguments: JSON.stringify(args) });
    if (typeof prepared === "object" && "call" in prepared) return prepared;
    throw new Error(String(prepared));
  };
}

const FETCH = { allow: ["WebFetch(domain:docs.rs)"] };
const ALL = { allow: ["WebFetch", "WebSearch", "Read"] };
const NO_FETCH = { allow: ["*"], deny: ["WebFetch(domain:docs.rs)"] };
const SECRET = { allow: ["*"], deny: ["Read(secret/**)"] };
const url = (text: string) => ({ url: text });
const path = (text: string) => ({ path: text });

/** The decisions of a run without a person, where each question is refused. */
const DECISIONS: readonly [RuleTexts, tool: string, args: Record<string, unknown>, decision: string][] = [
  // Without a rule only the files of the workspace are read.
  [{}, "mcp__web__of_path", path("a.txt"), "allow mode"],
  [{}, "mcp__web__of_url", url("https://docs.rs/a"), "deny headless"],
  [{}, "mcp__web__of_query", { query: "a" }, "deny headless"],
  [{}, "mcp__other__of_path", path("a.txt"), "deny headless"],
  // Rules of the user allow what a plugin of the program declares.
  [FETCH, "mcp__web__of_url", url("https://docs.rs/a"), "allow rule"],
  [FETCH, "web_open", url("https://docs.rs/a"), "allow rule"],
  [FETCH, "mcp__web__of_url", url("https://a.docs.rs/a"), "deny headless"],
  [FETCH, "mcp__web__of_url", url("https://docs.rs@evil.example/"), "deny headless"],
  [FETCH, "mcp__web__of_url", url("https://a:b@docs.rs/"), "deny headless"],
  [FETCH, "mcp__web__of_url", url("file:///etc/passwd"), "deny headless"],
  [FETCH, "mcp__web__of_query", { query: "https://docs.rs/" }, "deny headless"],
  [ALL, "mcp__web__of_url", url("https://evil.example"), "allow rule"],
  [ALL, "mcp__web__of_query", { query: "a" }, "allow rule"],
  [{ allow: ["WebSearch(rust *)"] }, "mcp__web__of_query", { query: "rust traits" }, "allow rule"],
  [{ allow: ["WebSearch(rust *)"] }, "mcp__web__of_query", { query: "go" }, "deny headless"],
  // A server of others declares what it likes, and nothing is allowed by it.
  [FETCH, "mcp__other__of_url", url("https://docs.rs/a"), "deny headless"],
  [ALL, "mcp__other__of_url", url("https://docs.rs/a"), "deny headless"],
  [ALL, "mcp__other__of_query", { query: "a" }, "deny headless"],
  [ALL, "mcp__other__of_path", path("a.txt"), "deny headless"],
  [{ allow: ["mcp__other__of_path(safe*)"] }, "mcp__other__of_path", path("safe.txt"), "allow rule"],
  [
    { allow: ["mcp__other__of_path(safe*)"] },
    "mcp__other__of_path",
    { path: "safe", more: "rm" },
    "deny headless",
  ],
  // What the user denies and asks about binds every server, by each name of a tool.
  ...["mcp__web__of_url", "web_open", "mcp__other__of_url"].flatMap((tool) =>
    ["https://docs.rs/a", "https://DOCS.RS./a", "http://docs.rs:8443", "https://a:b@docs.rs", "docs.rs/a"]
      .map((
        address,
      ): typeof DECISIONS[number] => [NO_FETCH, tool, url(address), "deny rule"])
  ),
  [NO_FETCH, "mcp__other__of_url", url("https://docs.rs@evil.example"), "deny headless"],
  [NO_FETCH, "mcp__other__of_url", url("https://evil.example"), "allow rule"],
  [{ ...NO_FETCH, deny: ["WebSearch"] }, "mcp__other__of_query", { query: "a" }, "deny rule"],
  [{ ...NO_FETCH, ask: ["WebSearch"] }, "mcp__web__of_query", { query: "a" }, "deny headless"],
  ...["mcp__web__of_path", "mcp__other__of_path"].flatMap((tool) =>
    ["secret/a", "./secret/a", "sub/../secret/a", "{cwd}/secret/a", "link", "linked/a", "secret"].map((
      file,
    ): typeof DECISIONS[number] => [SECRET, tool, path(file), "deny rule"])
  ),
  [SECRET, "mcp__web__of_path", path("a.txt"), "allow rule"],
];

Deno.test("rules about addresses, files and searches hold for what tools declare, and allow only plugins", async () => {
  await using mcp = await openBoth();
  const { cwd } = mcp;
  Deno.mkdirSync(`${cwd}/secret`);
  Deno.writeTextFileSync(`${cwd}/secret/a`, "secret");
  Deno.symlinkSync("secret/a", `${cwd}/link`);
  Deno.symlinkSync("secret", `${cwd}/linked`);
  const prepared = callsOf(mcp);
  const found = DECISIONS.map(([rules, tool, args]) => {
    const { gate } = scene(cwd, rules, { onAsk: "deny" });
    const given = Object.fromEntries(
      Object.entries(args).map(([key, value]) => [key, String(value).replace("{cwd}", cwd)]),
    );
    const outcome = gate.check(prepared(tool, given), signal);
    assert(!(outcome instanceof Promise));
    return `${JSON.stringify([rules, tool, args])}: ${outcome.decision} ${outcome.source}`;
  });
  assertEquals(
    found,
    DECISIONS.map(([rules, tool, args, decision]) => `${JSON.stringify([rules, tool, args])}: ${decision}`),
  );
});

Deno.test("plan mode reads files with a plugin at once, and asks before it reads an address", async () => {
  await using mcp = await openBoth();
  const prepared = callsOf(mcp);
  const decide = async (tool: string, args: Record<string, unknown>, rules: RuleTexts = {}) => {
    const { gate } = scene(mcp.cwd, rules, { permissionMode: "plan", onAsk: "deny" });
    const { decision, source } = await gate.check(prepared(tool, args), signal);
    return `${decision} ${source}`;
  };
  const address = url("https://docs.rs/a");
  assertEquals(await decide("mcp__web__of_path", path("a.txt")), "allow mode");
  assertEquals(await decide("mcp__web__of_url", address), "deny headless");
  assertEquals(await decide("mcp__web__of_url", address, FETCH), "allow rule");
  assertEquals(await decide("mcp__other__of_url", address, FETCH), "deny plan");
  assertEquals(prepared("mcp__web__of_path", path("a.txt")).readOnly, true);
});

Deno.test("the question about an address names its host, and grants that host", async () => {
  await using mcp = await openBoth();
  const prepared = callsOf(mcp);
  const open = (address: string) => prepared("web_open", url(address));
  const always = attended({ allow: true, scope: "always" }, {}, {}, mcp.cwd);
  await always.gate.check(open("https://Docs.RS:443/a"), signal);
  const [question] = always.asked;
  assertEquals([textOf(question?.reason ?? ""), question?.subject, question?.rule, question?.sessionRule], [
    "no rule allows to read from docs.rs",
    "https://Docs.RS:443/a",
    "WebFetch(domain:docs.rs)",
    "WebFetch(domain:docs.rs)",
  ]);
  assertEquals(question?.checkRule?.("WebFetch(https://docs.rs/a*)"), undefined);
  assertEquals(question?.checkRule?.("WebFetch")?.code, "wider");
  assertEquals(question?.checkRule?.("WebFetch(domain:*)")?.code, "wider");
  assertEquals(always.saved, ["WebFetch(domain:docs.rs)"]);

  const session = attended({ allow: true, scope: "session" }, {}, {}, mcp.cwd);
  for (
    const address of [
      "https://docs.rs/a",
      "https://docs.rs/b",
      "https://a:b@docs.rs/",
      "https://evil.example",
    ]
  ) {
    await session.gate.check(open(address), signal);
  }
  assertEquals(session.asked.map(({ subject, rule }) => [subject, rule]), [
    ["https://docs.rs/a", "WebFetch(domain:docs.rs)"],
    ["https://a:b@docs.rs/", undefined],
    ["https://evil.example", "WebFetch(domain:evil.example)"],
  ]);
  const search = attended({ allow: true, scope: "always" }, {}, {}, mcp.cwd);
  await search.gate.check(prepared("mcp__web__of_query", { query: "a" }), signal);
  assertEquals([textOf(search.asked[0]?.reason ?? ""), search.saved], [
    "no rule allows to send this to a search service",
    ["WebSearch"],
  ]);
});

Deno.test("a rule holds when the model finds a tool by the index", async () => {
  await using mcp = await openBoth(1);
  const prepared = callsOf(mcp);
  const called = prepared("mcp_call", { tool: "mcp__web__of_url", arguments: url("https://docs.rs/") });
  const { decision, source } = await scene(mcp.cwd, NO_FETCH).gate.check(called, signal);
  assertEquals([decision, source], ["deny", "rule"]);
});

Deno.test("a plugin gets the real path of a file, and no server one that may not be read", async () => {
  await using mcp = await openBoth();
  const { cwd, home } = mcp;
  Deno.mkdirSync(`${cwd}/sub`);
  Deno.writeTextFileSync(`${cwd}/sub/a.txt`, "a");
  Deno.writeTextFileSync(`${cwd}/key`, "k");
  Deno.symlinkSync("sub/a.txt", `${cwd}/link`);
  Deno.symlinkSync("key", `${cwd}/linked_key`);
  const paths = createWorkspace({ cwd, home, roots: [cwd], forbidRead: ["key"] });
  const call = async (name: string, file: string) => {
    const tool = mcp.servers.tools().find((each) => each.name === name);
    return await tool?.execute({ path: file }, makeToolContext(cwd, { paths }));
  };
  const real = Deno.realPathSync(`${cwd}/sub/a.txt`);
  assertEquals(
    (await call("mcp__web__of_path", "link"))?.content,
    `of_path ${JSON.stringify({ path: real })}`,
  );
  assertEquals((await call("mcp__other__of_path", "link"))?.content, 'of_path {"path":"link"}');
  for (const name of ["mcp__web__of_path", "mcp__other__of_path"]) {
    for (const file of ["key", "linked_key", "sub/../key", `${cwd}/key`]) {
      const result = await call(name, file);
      assertEquals(result?.refused, true, `${name} ${file}`);
      assertStringIncludes(result?.content ?? "", "the user has forbidden it");
    }
  }
});

Deno.test("no path with a comma becomes two permissions of a plugin", async () => {
  const home = "/none";
  const indexes = { docs: { path: "a,/" } };
  for (
    const [name, stage] of [
      ["documents", { home, workspace: "/none/a,/" }],
      ["rag", { home, workspace: "/none", settings: { indexes } }],
    ] as const
  ) {
    await assertRejects(() => pluginCommandLine(name, stage), Error, "a,/, which has a comma");
  }
});
