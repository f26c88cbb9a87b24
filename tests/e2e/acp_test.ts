/** An editor drives the program by the Agent Client Protocol. */
import { methods } from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld } from "../support/program.ts";

Deno.test("an editor initializes, is refused what it may not do yet, and survives lines that are no messages", async () => {
  await using world = await makeWorld();
  const early = await startAcp(world, { initialize: false });
  const refused = await early.error(methods.agent.session.new, { cwd: world.dir, mcpServers: [] });
  assertEquals(refused.code, -32600);
  assertStringIncludes(refused.message, "must be initialized");
  assertEquals((await early.end()).code, 0);

  const acp = await startAcp(world, { capabilities: { auth: { terminal: true } } });
  assertEquals(acp.initialized?.protocolVersion, 1);
  assertEquals(acp.initialized?.agentInfo?.name, "reasonix");
  assertEquals(acp.initialized?.authMethods?.map(({ id }) => id), ["setup"]);
  const null_ = (code: number) => acp.tape.seen(({ id, error }) => id === null && error.code === code);
  await acp.raw("no json\n");
  assertStringIncludes((await null_(-32700)).error.message, "no json");
  await acp.raw('[{"jsonrpc":"2.0","id":7,"method":"initialize"}]\n');
  assertStringIncludes((await null_(-32600)).error.message, "batch");
  assertEquals(await acp.error("session/unknown", {}), {
    code: -32601,
    message: "Method not found: session/unknown",
    data: undefined,
  });
  const wrong = await acp.error(methods.agent.authenticate, { methodId: 3 });
  assertEquals([wrong.code, wrong.data], [-32602, undefined]);
  assertStringIncludes(wrong.message, "methodId");
  assertEquals(await acp.end(), { code: 0, stderr: "" });
});
