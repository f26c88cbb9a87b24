import { createAgent } from "../../src/features/mod.ts";
import type { Event } from "../../src/core/mod.ts";
import type { ModelRequest } from "../../src/provider/mod.ts";
import { call, say, scriptedProvider } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import type { Behaviour } from "../support/mcp/behaviour.ts";
import { readRecord, scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../support/tool_context.ts";

const TURNS = 200;
/** Turns before which all servers are killed, and the one in which the list of one server changes. */
const KILLS = 25;
const CHANGE = 160;
/** Tools of a server whose list has changed. */
const LATE_TOOLS = 12;
const NAMES = ["shuffled", "old", "paged"];

Deno.test("200 turns with three servers that reconnect, reorder and list again keep the prefix of every request", async () => {
  await using temp = await makeTempDir();
  const record = `${temp.path}/record`;
  const behaviours: Behaviour[] = [{ shuffled: true, record }, { era: "old", shuffled: true, record }, {
    pageSize: 3,
    shuffled: true,
    record,
  }];
  const plugins = behaviours.map((behaviour, n) => ({ name: NAMES[n] ?? "", ...scriptedServer(behaviour) }));
  const heads: string[] = [];
  let turn = 0;
  const reply = (request: ModelRequest) => {
    heads.push(JSON.stringify(request.prefix));
    const last = request.messages.at(-1);
    if (last?.role === "tool") return say("ok");
    const server = NAMES[turn % NAMES.length];
    const name = turn === CHANGE ? "mcp__shuffled__change" : `mcp__${server}__echo`;
    const args = turn === CHANGE ? {} : { text: `turn ${turn}` };
    return [call(`call_${turn}`, name, args), { type: "done" as const, reason: "tool_calls" as const }];
  };
  const provider = scriptedProvider(
    Array.from({ length: 2 * TURNS }, () =>
      async function* (_signal, request) {
        yield* await Promise.resolve(reply(request));
      }),
  );
  const events: Event[] = [];
  const listedAgain = Promise.withResolvers<void>();
  const onEvent = (event: Event) => {
    events.push(event);
    if (event.type === "mcp.server" && turn === CHANGE && event.tools === LATE_TOOLS) listedAgain.resolve();
  };
  await using agent = await createAgent({
    cwd: temp.path,
    provider,
    config: { plugins, permissions: { allow: ["Mcp"] } },
    onEvent,
  });
  for (; turn < TURNS; turn++) {
    if (turn % KILLS === KILLS - 1) await killAll(record);
    assertEquals((await agent.run(`turn ${turn}`)).reason, "done");
    if (turn === CHANGE) await listedAgain.promise;
  }
  const prefixes = events.filter((event) => event.type === "context.prefix");
  assertEquals(prefixes.map(({ reason, detail }) => [reason, detail]), [
    ["start", undefined],
    ["tools", "+mcp__shuffled__late"],
    // Killed after that, the server begins again with the tools it had.
    ["tools", "−mcp__shuffled__late"],
  ]);
  assertEquals(heads.filter((head, at) => at > 0 && head !== heads[at - 1]).length, 2);
  // The turn in which the list changes continues with the old one.
  assertEquals(heads.findIndex((head) => head !== heads[0]), 2 * (CHANGE + 1));
  // Calls in progress when a server is killed are reported and not repeated; nothing else is lost.
  for (const event of events) {
    if (event.type !== "tool.end" || event.outcome === "ok") continue;
    assert(event.content.endsWith("since it may have taken effect"), event.content);
  }
  const starts = (await readRecord(record)).filter(({ what }) => what === "start").length;
  assert(starts >= 3 * Math.floor(TURNS / KILLS), `${starts} starts`);
});

/** Kills the processes of all servers that were started so far. */
async function killAll(record: string): Promise<void> {
  for (const { what, pid } of await readRecord(record)) {
    if (what !== "start") continue;
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It is gone already.
    }
  }
}
