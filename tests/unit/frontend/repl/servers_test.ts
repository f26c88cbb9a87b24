import { say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openChat } from "../../../support/chat_stage.ts";
import { scriptedServer } from "../../../support/mcp/scripted_mcp_server.ts";

Deno.test("a server that fails before the first message is reported once, immediately", async () => {
  const lines = { "en": "MCP server dead cannot be used", "zh-CN": "MCP 服务器 dead" } as const;
  for (const locale of ["en", "zh-CN"] as const) {
    const plugins = [{ name: "dead", ...scriptedServer({ diesOn: "start" }) }];
    await using chat = await openChat({ replies: [say("Noted.")], config: { plugins }, locale });
    await chat.shows(lines[locale]);
    assertEquals(chat.events, [], "nothing is recorded before the first message");
    chat.say("hello");
    await chat.shows("Noted.");
    await chat.until(() => chat.events.some(({ type }) => type === "turn.end"));
    assert(chat.events.some((event) => event.type === "mcp.server" && event.state === "failed"));
    const shown = chat.terminal.text().filter((line) => line.includes(lines[locale]));
    assertEquals(shown.length, 1, chat.terminal.text().join("\n"));
  }
});
