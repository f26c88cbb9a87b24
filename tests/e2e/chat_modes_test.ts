/** The selector of normal, plan and goal, and the trust in tools of a server, on real terminals. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { startModelServer } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { drawnScreens, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

const EN = { lang: "en", goal: "The goal:", trust: "Trust tools to be read-only", saved: "Saved in" };
const ZH = { lang: "zh", goal: "目标：", trust: "信任工具为只读", saved: "已保存到" };
const SIZES = [
  { columns: 80, rows: 24, ...EN },
  { columns: 40, rows: 15, ...ZH },
  { columns: 80, rows: 24, ...ZH },
  { columns: 40, rows: 15, ...EN },
];

for (const { columns, rows, lang, goal, trust, saved } of drawnScreens(SIZES)) {
  onTerminal(`/mode starts a goal and /mcp trusts a tool, at ${columns} by ${rows} in ${lang}`, async () => {
    await using server = startModelServer([], { fallback: { text: "Working." }, check: { prefix: false } });
    const config = mockConfig(server.url, "[goal]\nmax_turns = 1\n") + pluginToml("toy", { tools: "claims" });
    await using chat = await openChat(config, { columns, rows, env: { REASONIX_LANG: lang } });
    const { terminal } = chat;
    await shownSoon(terminal, (screen) => screen.includes("mock-1"));
    await chat.enter("/mode");
    await shownSoon(terminal, (screen) => screen.includes("› 1. normal"));
    await chat.answer("Down");
    await chat.answer("Down");
    await shownSoon(terminal, (screen) => screen.includes("› 3. goal"));
    await chat.answer("Enter");
    await shownSoon(terminal, (screen) => screen.includes(goal));
    await terminal.type("count to ten");
    await chat.answer("Enter");
    await server.received(1);
    assertStringIncludes(JSON.stringify(server.requests[0]?.json.messages), "count to ten");
    await shownSoon(terminal, (screen) => screen.includes("Working."));
    await chat.enter("/mcp trust toy writes");
    await shownSoon(terminal, (screen) => screen.includes(saved));
    assertStringIncludes(
      await Deno.readTextFile(`${chat.world.home}/config.toml`),
      "trusted_read_only_tools",
    );
    await chat.enter("/mcp");
    await shownSoon(terminal, (screen) => screen.includes("› 1. toy"));
    await chat.answer("Enter");
    const panel = await shownSoon(terminal, (screen) => screen.includes(trust));
    assertEquals(/^ {2}3\. /m.test(panel), true, panel);
    await chat.answer("Down");
    await chat.answer("Down");
    await chat.answer("Enter");
    await shownSoon(terminal, (screen) => /\[ \] /.test(screen));
  });
}
