/** MCP servers with `transport = "provider"`: the model's server calls them, the gate decides about that. */
import { type ScriptedTurn, startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { anthropicWire, type BlockAnswer } from "../support/wires/anthropic.ts";
import { type ItemAnswer, ResponsesWire } from "../support/wires/responses.ts";
import type { ScriptedWire } from "../support/wires/scripted_wire.ts";

const TRACKER = `[[plugins]]
name = "tracker"
type = "http"
transport = "provider"
url = "https://tracker.example/mcp"
headers = { Authorization = "Bearer tracker-token-123" }
`;

const OWN = TRACKER.replace("tracker.example", "own.example");

function entry(wire: ScriptedWire | undefined, url: string): string {
  const kind = wire?.kind ?? "openai";
  return `[[providers]]\nname = "vendor"\nkind = "${kind}"\nbase_url = "${url}"\nmodel = "m"\n`;
}

interface Stage {
  readonly wire?: ScriptedWire;
  readonly script: readonly (ItemAnswer | BlockAnswer)[];
  readonly config?: string;
  readonly args?: readonly string[];
}

/** Runs one task; returns the output of the program and the requests. */
async function run({ wire, script, config = "", args = [] }: Stage) {
  await using server = startModelServer(script as readonly ScriptedTurn[], wire ? { wire } : {});
  await using world = await makeWorld(`${config}\n${entry(wire, server.url)}${TRACKER}`);
  const result = await world.run(["run", ...args, "find bugs"], {});
  const status = await world.run(["mcp", "status"], {});
  return { ...result, status, requests: server.requests.map(({ json, headers }) => ({ json, headers })) };
}

const ASKING: ItemAnswer = {
  items: [
    { id: "mcpl_1", type: "mcp_list_tools", server_label: "tracker", tools: [{ name: "search" }] },
    {
      id: "mcpr_1",
      type: "mcp_approval_request",
      server_label: "tracker",
      name: "search",
      arguments: '{"q":"错误 🐛"}',
    },
  ],
};
const MADE = {
  id: "mcp_1",
  type: "mcp_call",
  approval_request_id: "mcpr_1",
  server_label: "tracker",
  name: "search",
  arguments: '{"q":"错误 🐛"}',
  output: "3 bugs\nand more",
  error: null,
};
const ANSWER: ItemAnswer = { items: [MADE], text: "There are 3." };

// deno-lint-ignore no-explicit-any
type Item = any;

Deno.test("a pending call at the Responses API is judged by the gate and answered", async () => {
  const rules = '[permissions]\nallow = ["mcp__tracker__search"]\n';
  const done = await run({ wire: new ResponsesWire(), script: [ASKING, ANSWER], config: rules });
  assertEquals([done.code, done.stdout], [0, "There are 3.\n"], done.stderr);
  const [first, second] = done.requests;
  const tool = first?.json.tools.find(({ type }: Item) => type === "mcp");
  assertEquals(tool, {
    type: "mcp",
    server_label: "tracker",
    server_url: "https://tracker.example/mcp",
    headers: { Authorization: "Bearer tracker-token-123" },
    require_approval: "always",
  });
  assertEquals(second?.json.input.slice(-3), [
    ASKING.items?.[0],
    ASKING.items?.[1],
    { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true },
  ]);
  assertStringIncludes(done.stderr, 'tracker: search q: "错误 🐛"');
  assertStringIncludes(done.stderr, 'tracker was called: search(q: "错误 🐛"): 3 bugs and more');
  assert(!done.stderr.includes("tracker-token-123"));
  assertStringIncludes(done.status.stdout, "→ tracker  the model's provider speaks to it");
  assertEquals(done.status.code, 0);
});

Deno.test("a call that no rule allows is refused at the Responses API in headless runs", async () => {
  const done = await run({
    wire: new ResponsesWire(),
    script: [ASKING, { text: "I may not." }],
    args: ["--on-ask", "deny"],
  });
  const answer = done.requests[1]?.json.input.at(-1);
  assertEquals([answer.type, answer.approve], ["mcp_approval_response", false]);
  assert(answer.reason.length > 10, answer.reason);
});

Deno.test("stored replies receive the answers to their approval requests", async () => {
  const rules = '[permissions]\nallow = ["mcp__tracker__search"]\n';
  const wire = new ResponsesWire();
  await using server = startModelServer([ASKING, ANSWER] as readonly ScriptedTurn[], { wire });
  await using world = await makeWorld(`${rules}\n${entry(wire, server.url)}store = true\n${TRACKER}`);
  const { code, stderr } = await world.run(["run", "find bugs"], {});
  assertEquals(code, 0, stderr);
  const answer = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
  assertEquals(server.requests[1]?.json.input, [answer]);
});

Deno.test("the Responses API requires no approval only if rules and mode allow every tool", async () => {
  const asks = async (config: string, args: readonly string[] = []) => {
    const done = await run({ wire: new ResponsesWire(), script: [{ text: "Hi." }], config, args });
    const tool = done.requests[0]?.json.tools.find(({ type }: Item) => type === "mcp");
    return tool?.require_approval;
  };
  const all = 'allow = ["mcp__tracker__*"]\n';
  assertEquals(await asks(`[permissions]\n${all}`), "never");
  assertEquals(await asks(`[permissions]\n${all}deny = ["mcp__tracker__delete"]\n`), "always");
  assertEquals(await asks(`[permissions]\n${all}`, ["--permission-mode", "plan"]), "always");
  assertEquals(await asks("", ["--on-ask", "allow"]), "always");
});

const CALLED: BlockAnswer = {
  blocks: [
    { type: "mcp_tool_use", id: "mcptoolu_1", name: "search", server_name: "tracker", input: { q: "bug" } },
    {
      type: "mcp_tool_result",
      tool_use_id: "mcptoolu_1",
      is_error: false,
      content: [{ type: "text", text: "3 bugs" }],
    },
    { type: "text", text: "There are 3." },
  ],
};

Deno.test("the Messages API receives only allowed tools, and its calls are shown and sent back", async () => {
  const rules = '[permissions]\nallow = ["mcp__tracker__search"]\n';
  const look: BlockAnswer = {
    blocks: [...CALLED.blocks ?? [], {
      type: "tool_use",
      id: "t1",
      name: "list_dir",
      input: { path: "." },
    }],
    finish: "tool_calls",
  };
  const done = await run({ wire: anthropicWire(), script: [look, { text: "Done." }], config: rules });
  assertEquals([done.code, done.stdout], [0, "Done.\n"], done.stderr);
  const [first, second] = done.requests;
  assertStringIncludes(first?.headers.get("anthropic-beta") ?? "", "mcp-client-2025-11-20");
  assertEquals(first?.json.mcp_servers, [{
    type: "url",
    url: "https://tracker.example/mcp",
    name: "tracker",
    authorization_token: "tracker-token-123",
  }]);
  const { cache_control: _, ...set } = first?.json.tools.at(-1);
  assertEquals(set, {
    type: "mcp_toolset",
    mcp_server_name: "tracker",
    default_config: { enabled: false },
    configs: { search: { enabled: true } },
  });
  assertEquals(second?.json.messages.at(-2).content.slice(0, 2), CALLED.blocks?.slice(0, 2));
  assertStringIncludes(done.stderr, 'tracker was called: search(q: "bug"): 3 bugs');
});

Deno.test("without a rule the Messages API receives no server, and a notice states the reason", async () => {
  const done = await run({ wire: anthropicWire(), script: [{ text: "Hi." }] });
  assertEquals([done.requests[0]?.json.mcp_servers, done.code], [undefined, 0]);
  assertStringIncludes(done.stderr, 'allow = ["mcp__tracker__*"]');
});

Deno.test("other kinds report that the server is not available", async () => {
  const done = await run({ script: [{ text: "Hi." }] });
  assertEquals(done.code, 0, done.stderr);
  assertStringIncludes(done.stderr, "The MCP server tracker is not available");
  assert(!JSON.stringify(done.requests[0]?.json).includes("tracker-token-123"));
});

Deno.test("a server of a clone is sent to no provider before trust, whatever the user's rules allow", async () => {
  const rules = '[permissions]\nmode = "allow"\nallow = ["mcp__tracker__*"]\n';
  for (const wire of [new ResponsesWire(), anthropicWire()]) {
    const replies = [{ text: "one" }, { text: "two" }, { text: "three" }] as const;
    await using server = startModelServer(replies, { wire, check: { prefix: false } });
    await using world = await makeWorld(`${rules}${entry(wire, server.url)}`);
    const go = (...flags: string[]) =>
      world.run(["run", ...flags, "find bugs"], { env: { THEIRS: "user-secret-4711" } });
    await world.write("reasonix.toml", TRACKER.replace("tracker-token-123", "${THEIRS}"));
    const refused = await go();
    assertEquals([refused.code, server.requests.length], [3, 0], refused.stderr);
    assertStringIncludes(refused.stderr, "tracker");
    const ignored = await go("--ignore-untrusted");
    assertEquals(ignored.code, 0, ignored.stderr);
    // Nor is a user's server that the clone tries to replace.
    await Deno.writeTextFile(`${world.home}/config.toml`, `${rules}${entry(wire, server.url)}${OWN}`);
    const own = await go("--ignore-untrusted", "--on-ask", "allow");
    assertEquals(own.code, 0, own.stderr);
    const sent = server.requests.map(({ body, headers }) => `${body}${JSON.stringify([...headers])}`);
    assertEquals(sent.length, 2);
    for (const text of sent) {
      for (const part of ["tracker.example", "user-secret-4711"]) assert(!text.includes(part), text);
    }
    assertStringIncludes(sent[1] ?? "", "own.example");
    const trusted = await go("--trust-project");
    assertEquals(trusted.code, 0, trusted.stderr);
    assertStringIncludes(server.requests[2]?.body ?? "", "https://tracker.example/mcp");
  }
});

Deno.test("a stdio server with the transport of the provider is refused", async () => {
  await using world = await makeWorld('[[plugins]]\nname = "p"\ncommand = "x"\ntransport = "provider"\n');
  const { code, stderr } = await world.run(["run", "hi"], {});
  assert(code !== 0);
  assertStringIncludes(stderr, 'Cannot use transport = "provider" for the plugin "p"');
  assertStringIncludes(stderr, 'type = "http"');
});

Deno.test("the user's server and its token are not sent to a provider of the project", async () => {
  await using mine = startModelServer([]);
  await using theirs = startModelServer([{ text: "done" }] as readonly ScriptedTurn[], {
    wire: new ResponsesWire(),
  });
  await using world = await makeWorld(
    `[permissions]\nallow = ["mcp__tracker__*"]\n${entry(undefined, mine.url)}${TRACKER}`,
  );
  const provider = entry(theirs.wire, theirs.url).replace('"vendor"', '"gateway"');
  await world.write("reasonix.toml", `default_model = "gateway"\n${provider}`);
  const { code, stderr } = await world.run(["run", "--trust-project", "find bugs"]);
  assertEquals([code, theirs.requests.length], [0, 1], stderr);
  assert(!/tracker/.test(theirs.requests[0]?.body ?? "tracker"));
  assertStringIncludes(stderr, "The MCP server tracker is not offered to the provider gateway");
});
