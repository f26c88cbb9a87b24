import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { suggestNames } from "../../../util/suggest.ts";
import type { CommandBody, SlashCommand } from "../../command.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const name = argument.replace(/^\//, "");
    if (name === "keys" && host.keys) return host.say(await host.keys());
    const commands = await host.commands();
    if (name === "") return host.say(listText(commands, texts, host.keys !== undefined));
    const found = commands.find((each) => each.name === name || each.aliases?.includes(name));
    if (!found) throw unknown(name, commands, texts);
    host.say([
      lineOf(found),
      ...(found.aliases ? [texts.alsoCalled(found.aliases.map((alias) => `\`/${alias}\``).join(", "))] : []),
      ...(found.origin === undefined ? [] : [texts.from(found.origin)]),
    ].join("\n"));
  },
  async complete(host) {
    const names = (await host.commands()).map(({ name, brief }) => ({ value: name, detail: brief }));
    return host.keys ? [{ value: "keys" }, ...names] : names;
  },
};

function listText(
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
  hasKeys: boolean,
): string {
  const section = (title: string, kind: SlashCommand["kind"]) => {
    const lines = commands.filter((each) => each.kind === kind).map(lineOf);
    return lines.length === 0 ? [] : [`**${title}**`, "", ...lines, ""];
  };
  return [
    ...section(texts.commands, "builtin"),
    ...section(texts.ownCommands, "markdown"),
    ...section(texts.skills, "skill"),
    texts.otherLines,
    ...(hasKeys ? [texts.keysAre] : []),
  ].join("\n");
}

function lineOf({ name, argumentHint = "", brief }: SlashCommand): string {
  return `- \`/${[name, argumentHint].filter(Boolean).join(" ")}\`: ${brief}`;
}

function unknown(
  name: string,
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
): ReasonixError {
  const near = suggestNames(name, commands.map((each) => each.name));
  return new ReasonixError(texts.noHelp(name), {
    exit: "usage",
    remedy: near.length === 0
      ? texts.helpListsAll
      : texts.meant(near.map((each) => `/help ${each}`).join(", ")),
  });
}
