/** Declarations of MCP servers never let a tool run, and a denied server gets nothing. */
import type { Behaviour } from "../support/mcp/behaviour.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { readRecord } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { launch, user } from "../support/sdk_client.ts";

/** A busy machine starts servers late. */
const PATIENT = "[tools]\nmcp_startup_wait_seconds = 60\n";
/** Tools of a server that declares anything; the user has approved `known` and `ruled`. */
const TOOLS = ["claims", "ruled", "known", "nuke", "worldly", "again", "writes"];
const RULED = '[permissions]\nallow = ["mcp__toy__ruled"]\n';

interface Stage {
  readonly world: World;
  /** The names of tools, and the addresses of resources, that reached the server. */
  reached(): Promise<string[]>;
}

type Call = readonly [name: string, args?: Record<string, unknown>];

interface Situation {
  readonly calls: readonly Call[];
  readonly config?: string;
  readonly behaviour?: Behaviour;
}

/** A run with a hostile server whose model makes these calls in one message. */
async function onStage(
  { calls, config = RULED, behaviour = { tools: "claims" } }: Situation,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const record = await Deno.makeTempFile();
  const message: Turn = { calls: calls.map(([name, args = {}], at) => ({ id: `c${at}`, name, args })) };
  await using server = startModelServer([], {
    fallback: ({ json }) => json.messages.at(-1).role === "tool" ? { text: "done" } : message,
    check: { prefix: false },
  });
  const plugin = pluginToml("toy", { ...behaviour, record }, 'trusted_read_only_tools = ["known"]\n');
  await using world = await makeWorld(mockConfig(server.url, PATIENT + config) + plugin);
  try {
    await work({
      world,
      reached: async () =>
        (await readRecord(record)).flatMap(({ method = "", params = {} }) =>
          method === "tools/call"
            ? [String(params.name)]
            : method === "resources/read"
            ? [String(params.uri)]
            : /^(?:prompts\/get|completion)/.test(method)
            ? [method]
            : []
        ),
    });
  } finally {
    await Deno.remove(record);
  }
}

type Line = { readonly type: string; readonly [key: string]: unknown };

async function eventsOf(world: World, args: readonly string[]): Promise<Line[]> {
  const run = await world.run(["run", "--output-format", "jsonl", ...args, "go"]);
  return run.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

const ALL: readonly Call[] = TOOLS.map((name) => [`mcp__toy__${name}`]);

/** Which tools run in each mode without a user. */
const MODES: Readonly<
  Record<string, { readonly args: readonly string[]; readonly config?: string; readonly run: string[] }>
> = {
  "the default": { args: [], run: TOOLS },
  "--on-ask deny": { args: ["--on-ask", "deny"], run: ["ruled", "known"] },
  "read-only": { args: ["--permission-mode", "read-only"], run: ["ruled", "known"] },
  "mode = deny": { args: [], config: `${RULED}mode = "deny"\n`, run: ["ruled", "known"] },
  "--writes deny": { args: ["--writes", "deny"], run: ["ruled", "known"] },
  "--writes dry-run": { args: ["--writes", "dry-run"], run: ["ruled", "known"] },
  "plan": { args: ["--permission-mode", "plan"], run: ["known"] },
  "read-only, everything allowed": {
    args: ["--permission-mode", "read-only"],
    config: '[permissions]\nallow = ["*"]\n',
    run: ["known"],
  },
};

for (const [mode, { args, config = RULED, run }] of Object.entries(MODES)) {
  Deno.test(`${mode}: tools of an MCP server run by the user's decision, whatever it declares, and are in the log`, async () => {
    await onStage({ calls: ALL, config }, async ({ world, reached }) => {
      const events = await eventsOf(world, args);
      assertEquals(await reached(), run);
      const allowed = events.filter((event) =>
        event.type === "approval.decision" && event.decision === "allow"
      );
      assertEquals(allowed.map(({ callId }) => TOOLS[Number(String(callId).slice(1))]), run);
      // Each has ended before the next one begins, but for those that are known to read.
      const spans = events.filter(({ type }) => type === "tool.start" || type === "tool.end");
      assertEquals(spans.map(({ type }) => type), TOOLS.flatMap(() => ["tool.start", "tool.end"]));
    });
  });
}

Deno.test("the index of many tools allows nothing that the tool itself does not", async () => {
  const calls = TOOLS.map((name): Call => ["mcp_call", { tool: `mcp__toy__${name}`, arguments: {} }]);
  const config = `mcp_index_above_tokens = 1\n${RULED}`;
  await onStage({ calls, config }, async ({ world, reached }) => {
    await eventsOf(world, ["--permission-mode", "read-only"]);
    assertEquals(await reached(), ["ruled", "known"]);
  });
});

Deno.test("known read-only tools run in parallel, and claimed ones one after another", async () => {
  for (const [name, together] of [["known", true], ["claims", false]] as const) {
    const calls: Call[] = [[`mcp__toy__${name}`], [`mcp__toy__${name}`, { n: 1 }]];
    await onStage({ calls }, async ({ world, reached }) => {
      const events = await eventsOf(world, []);
      const types = events.flatMap(({ type }) => /^tool\.(?:start|end)$/.test(type) ? [type] : []);
      const [start, end] = ["tool.start", "tool.end"];
      assertEquals(types, together ? [start, start, end, end] : [start, end, start, end]);
      assertEquals(await reached(), [name, name]);
    });
  }
});

Deno.test("an SDK is prompted for a claim, and its answer lets the call run", async () => {
  await onStage({ calls: [["mcp__toy__claims"], ["mcp__toy__known"]] }, async ({ world, reached }) => {
    const asked: unknown[] = [];
    const sdk = await launch(world, ["--permission-prompt-tool=stdio"], (request) => {
      asked.push(request);
      return { behavior: "allow", updatedInput: request.input };
    });
    await sdk.send(user("go"));
    await sdk.seen('"type":"result"');
    await sdk.end();
    assertEquals(await reached(), ["claims", "known"]);
    assertEquals(asked.length, 1);
    assertStringIncludes(
      JSON.stringify(asked),
      "mcp__toy__claims says of itself that it only reads; with your",
    );
  });
});

const PAGES = ["scripted://page/1", "scripted://page/7", "scripted://leak/secret"] as const;
const READ: readonly Call[] = [
  ["mcp_resource", { server: "toy" }],
  ...PAGES.map((uri): Call => ["mcp_resource", { server: "toy", uri }]),
];

/** Addresses that are sent: listed, matching a listed template, or neither. */
const ADDRESSES: Readonly<
  Record<string, readonly [args: string[], sent: readonly string[], config?: string]>
> = {
  "the default": [[], PAGES],
  "--on-ask deny": [["--on-ask", "deny"], PAGES.slice(0, 2)],
  "read-only": [["--permission-mode", "read-only"], PAGES.slice(0, 2)],
  "--writes deny": [["--writes", "deny"], PAGES.slice(0, 2)],
  "plan": [["--permission-mode", "plan"], PAGES.slice(0, 1)],
  "an allow rule for the server": [["--on-ask", "deny"], PAGES, '[permissions]\nallow = ["mcp__toy"]\n'],
  "an allow rule for addresses": [
    ["--on-ask", "deny"],
    PAGES,
    '[permissions]\nallow = ["mcp_resource(toy:scripted://leak/*)"]\n',
  ],
  ...Object.fromEntries(
    ["mcp__toy", "mcp__toy__*", "Mcp(toy)", "Mcp"].map((rule) =>
      [`deny ${rule}`, [[], [], `[permissions]\ndeny = ["${rule}"]\n`]] as const
    ),
  ),
  "deny of one tool": [[], PAGES, '[permissions]\ndeny = ["mcp__toy__echo"]\n'],
};

for (const [mode, [args, sent, config = ""]] of Object.entries(ADDRESSES)) {
  Deno.test(`${mode}: a URI that the model invented is sent to a server only with the user's permission`, async () => {
    await onStage({ calls: READ, config, behaviour: {} }, async ({ world, reached }) => {
      const events = await eventsOf(world, args);
      assertEquals(await reached(), [...sent]);
      const allowed = events.filter((event) =>
        event.type === "approval.decision" && event.decision === "allow"
      );
      assertEquals(allowed.length, sent.length === 0 ? 0 : sent.length + 1);
    });
  });
}

Deno.test("a denied server gets no prompt and no reference of the user, and the refusal names the rule", async () => {
  const config = '[permissions]\ndeny = ["Mcp(toy)"]\n';
  await onStage({ calls: [], config, behaviour: {} }, async ({ world, reached }) => {
    const prompt = await world.run(["run", "/mcp__toy__greet Ada"]);
    assertEquals(prompt.code, 3, prompt.stderr);
    assertStringIncludes(
      prompt.stderr,
      'Permission rule deny Mcp(toy) forbids what is asked of the MCP server "toy"',
    );
    const mention = await world.run(["run", "see @toy:scripted://page/1"]);
    assertMatch(mention.stderr, /@toy:scripted:\/\/page\/1 was not attached.*deny Mcp\(toy\)/);
    const typed = await world.run(["mcp", "call", "toy", "echo", '{"text": "x"}']);
    assertEquals(typed.code, 3);
    assert(!(await reached()).length, String(await reached()));
  });
});

Deno.test("/mcp trust and /mcp untrust decide which tools of a server run in read-only mode", async () => {
  const calls = TOOLS.map((tool): Call => [`mcp__toy__${tool}`]);
  await onStage({ calls, config: "" }, async ({ world, reached }) => {
    let before = 0;
    const run = async (line: string) => {
      const said = (await world.run(["run", line])).stdout;
      await world.run(["run", "--permission-mode", "read-only", "go"]);
      const all = await reached();
      const ran = all.slice(before);
      before = all.length;
      return { said, ran: ran.sort() };
    };
    const all = await run("/mcp trust toy");
    assertStringIncludes(all.said, "Trusted to be read-only: claims, ruled");
    assertStringIncludes(all.said, "config.toml");
    assertEquals(all.ran, ["claims", "known", "ruled"]);
    assertEquals((await run("/mcp trust toy writes")).ran, ["claims", "known", "ruled", "writes"]);
    assertEquals((await run("/mcp untrust toy known claims")).ran, ["ruled", "writes"]);
    const none = await run("/mcp untrust toy");
    assertStringIncludes(none.said, "No longer trusted to be read-only: ruled, writes");
    assertEquals(none.ran, []);
    assert(!(await Deno.readTextFile(`${world.home}/config.toml`)).includes("trusted_read_only_tools"));
    const slip = await world.run(["run", "/mcp trust toy claim"]);
    assertEquals(slip.code, 2);
    assertStringIncludes(slip.stderr, "did you mean claims?");
  });
});
