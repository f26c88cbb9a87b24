/** A person in the full-screen view: the real program on a terminal, from a task to `kill -9` and back. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import {
  finishEvent,
  type Part,
  type RecordedRequest,
  startModelServer,
  textEvent,
  type Turn,
} from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

/** The delay before a question takes keys; it is longer after typing. */
const PAUSE_MS = 1100;
/** The message with nothing in it, and the status line below it. */
const READY = /> Ask for something[^\n]*\n[^\n]*Tab panels/;

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** The rows of the conversation, from the first message on, in a view that is as wide as the terminal. */
function conversation(screen: string): string[] {
  const rows = screen.split("\n").map((row) => row.trimEnd());
  const from = rows.findIndex((row) => row.startsWith("> Write"));
  const to = rows.findIndex((row, at) => at > from && /^─+$|^> Ask for something/.test(row));
  const shown = rows.slice(from, to);
  while (shown.at(-1) === "") shown.pop();
  return shown;
}

onTerminal("a task in the full-screen view, from a diff to kill -9", async () => {
  const middle = Promise.withResolvers<void>();
  const answer = ({ json }: RecordedRequest): Turn => {
    const last = json.messages.at(-1);
    if (last.role !== "user") return { text: "That was **the work**: 完成." };
    const text = JSON.stringify(last.content);
    if (text.includes("Write")) {
      return { calls: [{ name: "write_file", args: { path: "文档/hello.txt", content: "hello\n世界\n" } }] };
    }
    if (text.includes("edit")) {
      return {
        calls: [
          { name: "read_file", args: { path: "missing.txt" } },
          { name: "edit_file", args: { path: "文档/hello.txt", old_string: "hello", new_string: "你好" } },
        ],
      };
    }
    const lines = (from: number) =>
      Array.from({ length: 8 }, (_, at): Part => textEvent(`- line ${from + at} 漢字\n`));
    return { stream: [...lines(1), middle.promise, ...lines(9), finishEvent()] };
  };
  await using server = startModelServer([], { fallback: answer, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url), { columns: 120, rows: 40, args: "--tui" });
  const { terminal, world } = chat;
  const ready = () => shownSoon(terminal, (screen) => READY.test(screen));
  await ready();

  await chat.enter("Write a file.");
  await terminal.shows("Allow write_file?");
  assertStringIncludes(await terminal.screen(), "2 + 世界");
  await pause();
  await terminal.press("y");
  await terminal.shows("That was the work: 完成.");
  await ready();

  // The diff in Files, then the next change, and approval of what it shows.
  await terminal.press("Tab", "Tab");
  await shownSoon(terminal, (screen) => /│› new \+2 −0 {2}文档\/hello\.txt[\s\S]*│2 \+ 世界/.test(screen));
  await terminal.press("Escape");
  await ready();
  await chat.enter("Now edit it.");
  await terminal.shows("Allow edit_file?");
  await terminal.shows("1 + 你好");
  await pause();
  await terminal.press("y");
  await shownSoon(terminal, (screen) => READY.test(screen) && /│› \S+ \+3 −1 {2}文档/.test(screen));
  assertEquals(await world.read("文档/hello.txt"), "你好\n世界\n");

  // The log, then only its errors.
  await terminal.press("BTab");
  await shownSoon(terminal, (screen) => screen.includes("─ Log · 5 entries"));
  await terminal.press("l", "l");
  const errors = await shownSoon(terminal, (screen) => screen.includes("Log · errors · 1 entry"));
  assert(/› \d\d:\d\d:\d\d ✗ read missing\.txt/.test(errors), errors);
  await terminal.press("Escape");
  await ready();

  // In the middle of an answer to the scrollback and back.
  await terminal.resize(80, 60);
  await chat.enter("Explain more.");
  await terminal.shows("line 7 漢字");
  await chat.enter("/view");
  await shownSoon(terminal, (screen) => !screen.includes("─ Files") && screen.includes("line 7 漢字"));
  assertEquals(await terminal.ask("#{alternate_on}"), "0");
  await chat.enter("/view");
  await shownSoon(terminal, (screen) => screen.includes("─ Files") && screen.includes("line 7 漢字"));
  assertEquals(await terminal.ask("#{alternate_on}"), "1");
  middle.resolve();
  await terminal.shows("line 16 漢字");
  const full = conversation(await ready());
  assertEquals(full.filter((row) => row === "- line 7 漢字"), ["- line 7 漢字"]);

  await chat.enter("/view");
  await shownSoon(terminal, (screen) => screen.includes("line 16 漢字") && !screen.includes("─ Files"));
  assertEquals(conversation(await terminal.history()), full, "both views have the same rows");

  await chat.kill();
  await chat.enter("reasonix --tui -c; echo left-with-$?");
  await shownSoon(terminal, (screen) => READY.test(screen) && screen.includes("line 16 漢字"));
  const resumed = conversation(await terminal.screen());
  assertEquals(full.filter((row) => row.startsWith("· you allowed")).length, 2);
  assertEquals(resumed, full, "a resumed session has the same");
  await chat.enter("Explain more.");
  await shownSoon(terminal, (screen) => READY.test(screen) && screen.split("line 16 漢字").length === 3);
  assertEquals(server.violations, []);
});
