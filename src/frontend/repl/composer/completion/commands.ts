import type { CommandHost, SlashCommand } from "../../../../command/mod.ts";
import { oneLine } from "../../../../util/terminal_text.ts";
import type { CompletionSource } from "./completion.ts";

/** Names of commands for a `/` at the start of a draft. */
export function commandSource(commands: () => Promise<readonly SlashCommand[]>): CompletionSource {
  return {
    match(before) {
      const [, query] = /^\/([^\s/]*)$/.exec(before) ?? [];
      return query === undefined ? undefined : { from: 0, query, list: "", preselect: true };
    },
    async items() {
      const items = (await commands()).flatMap((command) => {
        const { name, aliases = [], argumentHint, brief } = command;
        const detail = oneLine(argumentHint === undefined ? brief : `${argumentHint}  ${brief}`);
        // An argument can follow: the menu goes on with what it can be.
        const more = argumentHint === undefined ? { sends: true } : { more: true };
        return [name, ...aliases].map((each, index) => ({
          label: each,
          detail,
          insert: `/${each}${argumentHint === undefined ? "" : " "}`,
          ...more,
          ...(index > 0 ? { last: true } : {}),
        }));
      });
      return { items };
    },
  };
}

/** Values for the arguments of a command that offers some. */
export function argumentSource(host: CommandHost): CompletionSource {
  return {
    match(before) {
      const [head, name, words] = /^\/([A-Za-z][\w:-]*) +((?:\S+ +)*)(?=\S*$)/.exec(before) ?? [];
      if (head === undefined || name === undefined) return undefined;
      const word = before.slice(head.length);
      const list = `${name} ${words}`.trimEnd();
      // What servers propose for an argument depends on how it begins.
      return name.startsWith("mcp__")
        ? { from: head.length, query: word, list: `${list} ${word}`, preselect: false, grows: true }
        : { from: head.length, query: word, list, preselect: false };
    },
    async items(list) {
      const [name = "", ...words] = list.split(/ +/);
      const commands = await host.commands();
      const command = commands.find((each) => each.name === name || each.aliases?.includes(name));
      const word = name.startsWith("mcp__") ? words.pop() ?? "" : "";
      const found = await command?.complete?.(host, { before: words, word }) ?? [];
      const items = found.map(({ value, detail, open, also }) => ({
        label: value,
        insert: value,
        ...(detail === undefined ? {} : { detail: oneLine(detail) }),
        ...(open ? { more: true } : {}),
        ...(also === undefined ? {} : { also }),
      }));
      return { items };
    },
  };
}
