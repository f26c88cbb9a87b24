/** The panel of MCP servers, in both languages and two widths. UPDATE_GOLDEN=1 records a changed one. */
import { say } from "../../../../support/agent_fixture.ts";
import { assertEquals } from "../../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../../support/chat_stage.ts";
import { startHttpMcpServer } from "../../../../support/mcp/http_mcp_server.ts";

/** One server that works, one that does not, one that wants a sign-in, and one that is off. */
const NAMES = ["works", "missing", "locked", "off"];

/** What is pressed in the list of servers, and what is shown then. */
const PANELS: Readonly<Record<string, { readonly pressed: readonly string[]; readonly shows: RegExp }>> = {
  mcp: { pressed: [], shows: /off/ },
  mcp_server: { pressed: ["enter"], shows: /^› 1\./m },
  mcp_details: { pressed: ["enter", "enter"], shows: /streamable|MCP 20/ },
  mcp_failed: { pressed: ["down", "enter", "enter"], shows: /no-such-mcp-server/ },
  mcp_sign_in: { pressed: ["down", "down", "enter"], shows: /^› 1\./m },
};

async function settled(chat: ChatStage): Promise<void> {
  const status = () => chat.assembly().servers?.status ?? [];
  const wanted = ["ready", "failed", "needs-auth", "disabled"];
  await chat.until(() => NAMES.every((_, index) => status()[index]?.state === wanted[index]));
}

/** The rows of the panel, without what differs from machine to machine: ports, and where the log lies. */
function picture({ terminal }: ChatStage): string {
  const rows = terminal.screen().join("\n").trimEnd().split("\n");
  // The status line is somebody else's.
  const panel = rows.slice(rows.findIndex((row) => /^─{20}/.test(row)), -1);
  const log = panel.findIndex((row) => /^(?:log|日志)(?: |$)/.test(row));
  const end = panel.findLastIndex((row) => row !== "");
  const shown = log < 0 ? panel : [...panel.slice(0, log), ...panel.slice(end)];
  return shown.join("\n").replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:40000");
}

for (const [name, { pressed, shows }] of Object.entries(PANELS)) {
  Deno.test(`the panel ${name} of the chat looks as recorded`, async () => {
    const pictures: string[] = [];
    for (const locale of ["en", "zh-CN"] as const) {
      for (const columns of [80, 40]) {
        await using works = startHttpMcpServer();
        await using locked = startHttpMcpServer({ instead: () => new Response(null, { status: 401 }) });
        await using chat = await openChat({
          replies: [say("Forty-two.")],
          config: {
            plugins: [
              { name: "works", type: "http", url: works.url },
              { name: "missing", command: "no-such-mcp-server" },
              { name: "locked", type: "http", url: locked.url },
              { name: "off", command: "whatever", enabled: false },
            ],
          },
          env: (variable) => variable === "PATH" ? "/usr/bin:/bin" : undefined,
          locale,
          columns,
          rows: 24,
        });
        chat.say("what is it?");
        await chat.shows("Forty-two.");
        await settled(chat);
        chat.say("/mcp");
        const shown = () => chat.terminal.screen().join("\n");
        await chat.until(() => /^› 1\. works/m.test(shown()));
        for (const key of pressed) {
          const before = shown();
          // An Enter that comes sooner after another is one that the key repeats.
          await new Promise((resolve) => setTimeout(resolve, 310));
          chat.terminal.press(key);
          await chat.until(() => shown() !== before && /^─{20}/m.test(shown()));
        }
        await chat.until(() => shows.test(shown()));
        pictures.push(`== ${locale}, ${columns} columns\n${picture(chat)}\n`);
      }
    }
    const file = new URL(`../../../../golden/chat/${name}.txt`, import.meta.url);
    const now = pictures.join("\n");
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed panel is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}
