/** A full disk: clear messages, and nothing is lost while the chat is open. */
import { say } from "../../../../support/agent_fixture.ts";
import { ended, openApprovalChat, pause } from "../../../../support/approval_chat.ts";
import { assertEquals, assertStringIncludes } from "../../../../support/assert.ts";

Deno.test("a session is kept during a full disk, not closed by mistake, and saved later", async () => {
  const home = Promise.withResolvers<string>();
  await using chat = await openApprovalChat([say("one"), say("two")], {
    onDisk: true,
    // Nothing can be made below a file.
    beforeOpen: async () => await Deno.writeTextFile(`${await home.promise}/projects`, ""),
  });
  home.resolve(chat.home);
  const clear = () => chat.terminal.press("ctrl+c");
  chat.say("first words");
  await chat.until(() => ended(chat) === 1);
  await chat.shows("The session continues in memory");
  for (const line of ["/export export.md", "/fork"]) {
    chat.say(line);
    await chat.until(() =>
      chat.terminal.text().join("\n").split("is not on the disk").length > (line === "/fork" ? 2 : 1)
    );
    clear();
  }
  chat.say("/new");
  await chat.shows("Leave this session and lose it?");
  // Enter alone never selects an irreversible action.
  await pause();
  chat.terminal.press("enter");
  await chat.until(() => !chat.terminal.screen().some((row) => row.includes("lose it?")));
  clear();
  chat.say("# fact");
  await chat.shows("Cannot save");
  clear();
  assertEquals(chat.opened.length, 1);
  await Deno.remove(`${chat.home}/projects`);
  chat.say("second words");
  await chat.until(() => ended(chat) === 2);
  await chat.shows("is on disk again; nothing is missing");
  chat.say("/export export.md");
  await chat.shows("The session is in");
  const text = await Deno.readTextFile(`${chat.cwd}/export.md`);
  for (const words of ["first words", "one", "second words", "two"]) assertStringIncludes(text, words);
});
