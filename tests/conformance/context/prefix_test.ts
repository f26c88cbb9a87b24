import { environmentText, LateInstructions } from "../../../src/context/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";
import { tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { contextFixture, isSummaryRequest, lastMessage } from "../../support/context_fixture.ts";
import type { RecordedRequest, Turn } from "../../support/model_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const read = tool(
  "read_file",
  true,
  () => Promise.resolve({ content: "text of the file\n".repeat(25), summary: "" }),
);

function worker(request: RecordedRequest): Turn {
  if (isSummaryRequest(request)) return { text: "Goal: go on" };
  const last = lastMessage(request);
  if (last.role === "tool" || last.content.startsWith("<")) return { text: "Read." };
  return { calls: [{ name: "read_file", args: { path: `pkg${request.json.messages.length % 7}/x.ts` } }] };
}

Deno.test("over 200 turns of changing surroundings each request extends the last but for declared resets", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/.git`);
  let instructions: LateInstructions | undefined;
  let step = 0;
  await using fixture = await contextFixture({
    window: 16_000,
    reply: worker,
    tools: [read],
    async beforeStep(recorder) {
      instructions ??= new LateInstructions({
        cwd: dir.path,
        home: `${dir.path}/home`,
        maxBytes: 10_000,
        messages: () => recorder.messages,
        describe: new ToolRegistry(BUILTINS).describe,
      });
      for (const content of instructions.take()) {
        await recorder.record({ type: "message.user", content, origin: "context" });
      }
      step++;
      if (step % 9 === 0) await recorder.record({ type: "mode.change", posture: step % 2 ? "ask" : "auto" });
      if (step % 11 === 0) {
        await recorder.record({
          type: "todo.update",
          items: [{ content: `Step ${step}`, status: "pending" }],
        });
      }
    },
  });
  const { agent } = fixture;
  for (let turn = 0; turn < 200; turn++) {
    if (turn % 25 === 0) {
      await Deno.writeTextFile(`${dir.path}/.git/HEAD`, `ref: refs/heads/branch-${turn}`);
      const now = new Date(Date.UTC(2026, 0, 1 + turn));
      const content = environmentText({ cwd: dir.path, now, platform: "linux" });
      await agent.recorder.record({ type: "message.user", content, origin: "context" });
      await Deno.mkdir(`${dir.path}/pkg${turn % 7}`, { recursive: true });
      await Deno.writeTextFile(`${dir.path}/pkg${turn % 7}/AGENTS.md`, `Rules of turn ${turn}`);
    }
    assertEquals((await agent.run(`Turn ${turn}`)).reason, "done");
  }
  // The server has compared every message array with the one before it; what is left is the count of
  // departures.
  assert(fixture.compactions().length >= 2);
  const { requests } = fixture.server;
  const heads = new Set(
    requests.map((request) => JSON.stringify([request.json.tools, request.json.messages[0]])),
  );
  assertEquals(heads.size, 1);
  const told = agent.recorder.messages.filter((message) =>
    message.content.startsWith("<instructions folder=")
  );
  assert(told.length >= 3);
  assertEquals(new Set(told.map((message) => message.content)).size, told.length);
});
