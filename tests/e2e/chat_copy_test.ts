/** Two chats on one session: the second one continues in a copy, or not at all. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, mockConfig, programFile } from "../support/program.ts";
import { type Chat, EMPTY, onTerminal, openChat } from "../support/terminal_chat.ts";
import { openTerminal, type Terminal } from "../support/tmux.ts";

/** A second terminal in the workspace of a chat, with the chat on the newest session, up to the question. */
async function openSecond({ world }: Chat): Promise<Terminal> {
  const terminal = await openTerminal(await programFile(), {
    cwd: world.dir,
    env: {
      REASONIX_HOME: world.home,
      HOME: world.home,
      LC_ALL: "C.UTF-8",
      REASONIX_LANG: "en",
      ...denoDir(),
    },
  });
  await terminal.type("clear; reasonix -c; echo left-with-$?");
  await terminal.press("Enter");
  await terminal.shows("has this session open. Continue in a copy?");
  // A panel that comes automatically takes no key at once.
  await new Promise((resolve) => setTimeout(resolve, 320));
  return terminal;
}

/** Returns the log of each session of the home. */
async function recorded({ world: { home } }: Chat): Promise<string[]> {
  const texts: string[] = [];
  for (const project of Deno.readDirSync(`${home}/projects`)) {
    const directory = `${home}/projects/${project.name}/sessions`;
    for (const { name } of Deno.readDirSync(directory)) {
      if (name.endsWith(".jsonl")) texts.push(await Deno.readTextFile(`${directory}/${name}`));
    }
  }
  return texts;
}

for (const answer of ["yes", "no"] as const) {
  onTerminal(`a chat on a session that another chat has open continues in a copy: ${answer}`, async () => {
    await using server = startModelServer([{ text: "Noted." }, { text: "Here." }, { text: "There." }], {
      check: { prefix: false },
    });
    await using chat = await openChat(mockConfig(server.url));
    await chat.terminal.shows(EMPTY);
    await chat.enter("the word is heron");
    await chat.terminal.shows("Noted.");
    await chat.terminal.shows(EMPTY);
    await using second = await openSecond(chat);
    const pid = await chat.pid();
    assertStringIncludes(await second.screen(), `Process ${pid} has this session open`);
    await second.press("Tab", answer === "yes" ? "y" : "n", "Enter");
    if (answer === "yes") await second.shows("> the word is heron");
    else await second.shows(`process ${pid} has it open`);
    await second.shows(EMPTY);
    if (answer === "no") {
      assertStringIncludes(await second.screen(), "no session is open");
      await second.type("/new");
      await second.press("Enter");
      await second.shows("mock-1 ·");
      await second.shows(EMPTY);
    }
    await second.type("only in the second");
    await second.press("Enter");
    await second.shows("Here.");
    // The first chat continues as if nothing had happened.
    await chat.enter("only at first");
    await chat.terminal.shows("There.");
    await chat.terminal.shows(EMPTY);
    const said = server.requests.map(({ json }) => JSON.stringify(json.messages));
    assertEquals(said.map((text) => [/heron/.test(text), /only in the second/.test(text)]), [
      [true, false],
      [answer === "yes", true],
      [true, false],
    ]);
    for (const terminal of [second, chat.terminal]) {
      await terminal.press("C-d");
      await terminal.shows("left-with-0");
    }
    const sessions = await recorded(chat);
    const who = (word: string) => sessions.map((text) => text.includes(word));
    assertEquals([sessions.length, who("only at first").filter(Boolean).length], [2, 1]);
    assertEquals(who("only in the second"), who("only at first").map((at) => !at));
  });
}
