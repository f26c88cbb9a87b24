/** Files that the chat reads and writes: it overwrites none and reads none hidden from the model. */
import { say } from "../../../../support/agent_fixture.ts";
import {
  asked,
  decline,
  ended,
  filesOf,
  openApprovalChat,
  panel,
} from "../../../../support/approval_chat.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";

const exists = (path: string) => Deno.lstat(path).then(() => true, () => false);

Deno.test("an export overwrites nothing and follows no link", async () => {
  await using chat = await openApprovalChat([say("an answer")], { onDisk: true });
  chat.say("a question");
  await chat.until(() => ended(chat) === 1);
  const outside = `${chat.home}/made-by-link`;
  await Deno.symlink(outside, `${chat.cwd}/link.md`);
  await Deno.writeTextFile(`${chat.cwd}/mine.md`, "mine");
  await Deno.mkdir(`${chat.cwd}/directory.md`);
  for (const command of ["export", "bug"]) {
    for (const name of ["link.md", "mine.md", "directory.md"]) {
      chat.say(`/${command} ${name}`);
      await chat.shows(`Cannot write ${chat.cwd.slice(0, 20)}`);
      chat.terminal.press("ctrl+c");
      chat.terminal.press("ctrl+l");
      await chat.until(() => !chat.terminal.screen().some((row) => row.includes("Cannot write")));
    }
  }
  assertEquals(await exists(outside), false);
  assertEquals(await Deno.readTextFile(`${chat.cwd}/mine.md`), "mine");
  assertEquals(filesOf(chat), ["directory.md", "link.md", "mine.md"]);
});

Deno.test("files and images that rules deny are not attached under any name", async () => {
  await using chat = await openApprovalChat([say("1"), say("2")], {
    config: { sandbox: { bash: "off" }, permissions: { deny: ["Read(secret*)"], ask: ["Read(asked.txt)"] } },
  });
  const png = Uint8Array.fromBase64(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  );
  await Deno.writeTextFile(`${chat.cwd}/secret.txt`, "for no reader");
  await Deno.writeTextFile(`${chat.cwd}/asked.txt`, "for who may");
  await Deno.writeFile(`${chat.cwd}/secret.png`, png);
  await Deno.symlink("secret.txt", `${chat.cwd}/harmless.txt`);
  await Deno.symlink("secret.png", `${chat.cwd}/harmless.png`);
  chat.terminal.paste(`${chat.cwd}/harmless.png`);
  chat.terminal.type("see @secret.txt @./secret.txt @harmless.txt @asked.txt now");
  chat.terminal.press("escape", "enter");
  await panel(chat, 1);
  await decline(chat);
  await chat.until(() => ended(chat) === 1);
  const sent = JSON.stringify(chat.provider.requests[0]);
  for (const text of ["for no reader", "for who may", "iVBORw0KGgo"]) assert(!sent.includes(text), text);
  assertEquals(asked(chat), 1);
});

Deno.test("typed text is stored in private files", async () => {
  await using chat = await openApprovalChat([say("1")], { onDisk: true });
  chat.say("typed words");
  await chat.until(() => ended(chat) === 1);
  chat.terminal.press("ctrl+d");
  await chat.left;
  const open: string[] = [];
  const visit = (directory: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(directory)) {
      const path = `${directory}/${name}`;
      if (isDirectory) visit(path);
      const { mode } = Deno.statSync(path);
      const isPrivate = isDirectory || ((mode ?? 0) & 0o077) === 0;
      if (!isPrivate) open.push(path);
      if (directory === chat.home && isDirectory && ((mode ?? 0) & 0o077) !== 0) open.push(path);
    }
  };
  visit(chat.home);
  assertEquals(open, []);
  assert(await exists(`${chat.home}/projects`));
});
