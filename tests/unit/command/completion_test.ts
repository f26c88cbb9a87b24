/** Values that can follow the name of a command are offered word by word. */
import { LOCALES } from "../../../src/i18n/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { CommandFixture } from "../../support/command_fixture.ts";
import { pluginToml } from "../../support/mcp/config.ts";

/** Commands whose argument is free text, a file name, or a number of something that does not exist yet. */
const FREE = ["new", "rename", "compact", "export", "init", "review", "bug"];

/** A session with some of everything. */
async function furnished(locale: (typeof LOCALES)[number]): Promise<CommandFixture> {
  const chat = await CommandFixture.open({
    locale,
    config: `${pluginToml("docs")}\n[permissions]\nallow = ["Bash(go test *)", "Bash(go vet)"]\n`,
    replies: [[
      { type: "text", text: "Do this:\n\n```sh\nls\n```\n" },
      { type: "done", reason: "stop" },
    ]],
  });
  await chat.type("hello");
  const memory = await (await chat.session()).inputs.ports.memory?.();
  await memory?.remember({ name: "tabs", description: "Tabs, not blanks", text: "Use tabs.", kind: "user" });
  return chat;
}

async function values(chat: CommandFixture, line: string): Promise<string[]> {
  const [name = "", ...before] = line.split(" ");
  const command = (await chat.commands()).find((each) => each.name === name);
  return (await command?.complete?.(chat, { before, word: "" }) ?? []).map(({ value }) => value);
}

Deno.test("every command with a fixed set of arguments completes them, without duplicate lists", async () => {
  for (const locale of LOCALES) {
    await using chat = await furnished(locale);
    for (const { name, argumentHint, kind } of await chat.commands()) {
      if (kind !== "builtin") continue;
      const first = await values(chat, name);
      // What there is none of in this session: changes of files, other sessions.
      const isEmpty = argumentHint === undefined || FREE.includes(name) || ["diff", "resume"].includes(name);
      assertEquals(first.length > 0, !isEmpty, name);
      assertEquals(new Set(first).size, first.length, name);
      for (const value of first) {
        assert(!value.includes(" "), `/${name} ${value} is more than one word`);
        const next = await values(chat, `${name} ${value}`);
        assert(next.length === 0 || next.join() !== first.join(), `/${name} ${value} offers the same again`);
      }
    }
  }
});

Deno.test("words after the first one complete, too", async () => {
  await using chat = await furnished("en");
  const cases: [string, readonly string[]][] = [
    ["permissions allow", ["Bash(", "Edit(", "Read(", "Mcp("]],
    ["permissions remove", ["Bash(go test *)", "Bash(go vet)"]],
    ["permissions remove Bash(go", ["test *)", "vet)"]],
    ["permissions remove Bash(npm", []],
    ["mcp restart", ["docs"]],
    ["mcp login", ["docs"]],
    ["mcp docs", []],
    ["mcp restart docs", []],
    ["memory forget", ["tabs"]],
    ["memory tabs", []],
    ["rewind 0", ["both", "code", "conversation"]],
    ["settings sandbox.bash", ["enforce", "auto", "off"]],
    ["settings sandbox.bash off", []],
    ["settings language", []],
    ["effort high", []],
    ["theme dark", []],
  ];
  for (const [line, expected] of cases) {
    assertEquals((await values(chat, line)).toSorted(), expected.toSorted(), line);
  }
});
