/** The chat asks the person about project content in every approval mode. */
import { startModelServer } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat } from "../support/terminal_chat.ts";

onTerminal("no approval mode answers the trust prompt instead of the person", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." }, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url), {
    args: "--help > /dev/null; printf '[tools.shell]\\npath = \"./sh\"\\n' > reasonix.toml; " +
      "reasonix chat --permission-mode bypassPermissions",
  });
  const { terminal } = chat;
  await terminal.shows("./sh");
  await terminal.shows("continue without it");
  await chat.answer("Enter");
  await terminal.shows(EMPTY);
  await terminal.shows("mock-1 · yolo");
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
});
