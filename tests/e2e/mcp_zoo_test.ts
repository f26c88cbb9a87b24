/**
 * A run with twenty servers of which nearly all are bad: each is one line with its reason, the good one
 * works, and the second run waits for none of them.
 */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import type { Behaviour } from "../support/mcp/behaviour.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { startHttpMcpServer } from "../support/mcp/http_mcp_server.ts";
import { recordedEnd } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const SHORT = "startup_timeout_seconds = 2\n";
const LATE = /^failed it did not start within 2 s: it did not (?:answer the greeting|list what it offers)$/;

/** A server's behavior, and its final state with the reason. */
interface Case {
  readonly behaviour: Behaviour;
  readonly state: RegExp;
  readonly extra?: string;
}

const LOCAL: Readonly<Record<string, Case>> = {
  good: { behaviour: {}, state: /^ready$/ },
  noisy: { behaviour: { noise: true }, state: /^ready$/ },
  dead: { behaviour: { diesOn: "start" }, state: /^failed .*exit code 3/ },
  dies_listing: { behaviour: { diesOn: "tools/list" }, state: /^failed .*exit code 3/ },
  silent: { behaviour: { era: "old", silentOn: ["initialize"] }, state: LATE, extra: SHORT },
  silent_list: { behaviour: { silentOn: ["tools/list"] }, state: LATE, extra: SHORT },
  silent_probe: { behaviour: { era: "old", silentOn: ["server/discover"] }, state: /^ready$/ },
  dies_probed: { behaviour: { era: "old", diesOn: "server/discover" }, state: /^ready$/ },
  slow: { behaviour: { startSeconds: 30 }, state: LATE, extra: SHORT },
  twice: { behaviour: { tools: "duplicates" }, state: /^ready$/ },
  bad: { behaviour: { tools: "bad schemas" }, state: /^ready$/ },
  strange: { behaviour: { tools: "strange names" }, state: /^ready$/ },
  endless: { behaviour: { endlessPages: true }, state: /^ready$/ },
  loud: { behaviour: { stderrBytes: 1_000_000 }, state: /^ready$/ },
  stubborn: { behaviour: { stubborn: true }, state: /^ready$/ },
  parent: { behaviour: { child: true }, state: /^ready$/ },
};

/** Servers over HTTP, by what they answer. */
const REMOTE: Readonly<Record<string, readonly [status: number, state: RegExp]>> = {
  refused: [401, /^needs-auth reasonix mcp login refused$/],
  forbidden: [403, /^failed .*403/],
  broken: [500, /^failed .*500/],
};

const FINAL = ["ready", "failed", "needs-auth"];

/** Runs a task; `hear` gets each event as it comes. */
async function run(world: World, task: string, hear: (event: Json) => void = () => {}): Promise<Json[]> {
  const child = await world.spawn(["run", "--output-format", "jsonl", task]);
  const complaints = new Response(child.stderr).text();
  const events: Json[] = [];
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const event of lines.map((line) => JSON.parse(line))) {
      events.push(event);
      hear(event);
    }
  }
  assertEquals((await child.status).code, 0, await complaints);
  return events;
}

const isStart = ({ type, state }: Json) => type === "mcp.server" && state === "starting";

Deno.test("bad servers print one line each, the good one works, and the second run waits for none", async () => {
  const settled = Promise.withResolvers<void>();
  // Until all have settled; the tools of late ones join before the next step.
  const look = { calls: [{ name: "ls", args: {} }], before: settled.promise };
  const echo = { calls: [{ name: "mcp__good__echo", args: { text: "well" } }] };
  await using server = startModelServer([look, echo, { text: "one" }, { text: "two" }], {
    check: { prefix: false },
  });
  const remote = Object.entries(REMOTE).map(([name, [status, state]]) => ({
    name,
    state,
    server: startHttpMcpServer({ instead: () => new Response("no", { status }) }),
  }));
  try {
    await using world = await makeWorld();
    const record = `${world.home}/record`;
    const tables = [
      ...Object.entries(LOCAL).map(([name, { behaviour, extra }]) =>
        pluginToml(name, { ...behaviour, record }, extra)
      ),
      ...remote.map(({ name, server: { url } }) =>
        `[[plugins]]\nname = "${name}"\ntype = "http"\nurl = "${url}"\n`
      ),
      '[[plugins]]\nname = "absent"\ncommand = "no-such-server-program"\n',
    ];
    const wait = "[tools]\nmcp_startup_wait_seconds = 1\nmcp_index_above_tokens = 0\n";
    await Deno.writeTextFile(
      `${world.home}/config.toml`,
      mockConfig(server.url, "", tables.join("\n")) + wait,
    );
    const states = new Map<string, string>();
    await run(world, "hello", ({ type, server: name, state, detail }) => {
      if (type !== "mcp.server" || !FINAL.includes(state) || states.has(name)) return;
      states.set(name, detail === undefined ? state : `${state} ${detail}`);
      if (states.size === tables.length) settled.resolve();
    });
    const expected = [
      ...Object.entries(LOCAL).map(([name, { state }]) => ({ name, state })),
      ...remote,
      { name: "absent", state: /^failed There is no program "no-such-server-program" on PATH/ },
    ];
    for (const { name, state } of expected) assertMatch(states.get(name) ?? "", state, name);
    for (const line of states.values()) assert(!line.includes("\n") && line.length < 400, line);
    assertEquals(server.requests[2]?.json.messages.at(-1).content, "well");
    // The request is sent before the first of them starts, with the known tools.
    const second = await run(world, "hello again");
    const prefix = second.findIndex(({ type }) => type === "turn.start");
    const start = second.findIndex(isStart);
    assert(start < 0 || start > prefix, "a server started before the turn");
    assertEquals(second.filter(({ type, code }) => type === "notice" && code === "mcp"), []);
    const names = server.requests[3]?.json.tools.map((tool: Json) => tool.function.name);
    for (const name of ["good", "noisy", "twice", "stubborn"]) {
      assert(names.includes(`mcp__${name}__echo`), `${name} is not offered`);
    }
    await recordedEnd(record);
  } finally {
    settled.resolve();
    for (const { server: one } of remote) await one[Symbol.asyncDispose]();
  }
});
