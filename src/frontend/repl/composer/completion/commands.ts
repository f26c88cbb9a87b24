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

/** Values for the argument of a command that offers some. */
export function argumentSource(host: CommandHost): CompletionSource {
  return {
    match(before) {
      const [head, name] = /^\/([A-Za-z][\w:-]*) +(?=\S*$)/.exec(before) ?? [];
      if (head === undefined || name === undefined) return undefined;
      return { from: head.length, query: before.slice(head.length), list: name, preselect: false };
    },
    async items(name) {
      const commands = await host.commands();
      const command = commands.find((each) => each.name === name || each.aliases?.includes(name));
      const found = await command?.complete?.(host) ?? [];
      const items = found.map(({ value, detail }) => ({
        label: value,
        insert: value,
        ...(detail === undefined ? {} : { detail: oneLine(detail) }),
      }));
      return { items };
    },
  };
}
