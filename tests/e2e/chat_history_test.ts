/** The scrollback of a chat is its transcript: every line once, in order, of any length. */
import { assertEquals } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { mockConfig, withoutTimes } from "../support/program.ts";
import { EMPTY, onTerminal, openChat } from "../support/terminal_chat.ts";

/** Paragraphs of one line each, some wide, some colored, and the rows that they are shown in. */
function answer(turn: number, count: number): string[] {
  const lines = ["plain words", "**bold** and `code`", "汉字和 emoji 👩‍👩‍👧 · 한국어", "x".repeat(60)];
  return Array.from({ length: count }, (_, index) => `${turn}.${index} ${lines[index % lines.length]}`);
}

const shown = (line: string) => line.replaceAll(/\*\*|`/g, "");

/** The line as a terminal keeps it that gives each character of an emoji its own cells, or joins them. */
const plain = (line: string) => line.replaceAll("\u200d", "").trimEnd();

onTerminal(
  "the scrollback is the transcript, also after scrolling while lines arrived",
  async () => {
    const turns = [300, 5, 300].map((count, turn) => answer(turn + 1, count));
    const release = Promise.withResolvers<void>();
    const texts = turns.map((lines): Turn => ({ text: lines.join("\n\n") }));
    const [first, second, third] = texts as [Turn, Turn, Turn];
    await using server = startModelServer([
      first,
      { calls: [{ name: "bash", args: { command: "seq 30" } }] },
      second,
      { ...third, before: release.promise },
    ]);
    const allowed = '[permissions]\nallow = ["Bash(seq:*)"]';
    await using chat = await openChat(mockConfig(server.url, `${allowed}\n[sandbox]\nbash = "off"`), {
      columns: 70,
      rows: 24,
    });
    const { terminal } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("First question.");
    await terminal.shows("1.299");
    await terminal.shows(EMPTY);
    await chat.enter("Second question, with a command.");
    await terminal.shows("2.4 ");
    await terminal.shows(EMPTY);
    await chat.enter("Third question.");
    await server.received(4);
    // A person scrolls back while the answer streams.
    await terminal.scrollTo("top");
    release.resolve();
    await terminal.shows("3.299");
    await terminal.scrollTo("end");
    await terminal.shows(EMPTY);
    const history = withoutTimes(await terminal.history()).split("\n").map(plain);
    const rows = history.slice(
      history.indexOf("> First question."),
      history.findIndex((row) => row.startsWith(EMPTY)),
    );
    const call = ["", "✓ $ seq 30 · exit 0", ""];
    assertEquals(rows.filter((row) => !row.startsWith("  ")), [
      "> First question.",
      ...turns[0]?.flatMap((line) => ["", plain(shown(line))]) ?? [],
      "",
      "> Second question, with a command.",
      ...call,
      ...turns[1]?.flatMap((line) => ["", plain(shown(line))]).slice(1) ?? [],
      "",
      "> Third question.",
      ...turns[2]?.flatMap((line) => ["", plain(shown(line))]) ?? [],
      "",
    ]);
  },
);
