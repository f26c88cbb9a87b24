import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { suggestNames } from "../../../util/suggest.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import type { CommandBody, CommandHost, SlashCommand } from "../../command.ts";
import { commandsOf } from "../../markdown/mod.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const name = argument.replace(/^\//, "");
    if (name === "keys" && host.keys) return host.say(await host.keys());
    const commands = await host.commands();
    if (name === "") {
      const unused = await unusedLines(host, commands, texts);
      return host.say([listText(commands, texts, host.keys !== undefined), ...unused].join("\n"));
    }
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
    ...section(texts.serverPrompts, "prompt"),
    texts.otherLines,
    ...(hasKeys ? [texts.keysAre] : []),
  ].join("\n");
}

/** Command files that are passed over, with the reason. */
async function unusedLines(
  host: CommandHost,
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
): Promise<string[]> {
  const assembly = await host.session().catch(() => undefined);
  if (!assembly) return [];
  const found = commandsOf(assembly);
  const own = new Set(
    commands.filter(({ kind }) => kind === "builtin").flatMap(({ name, aliases = [] }) => [name, ...aliases]),
  );
  const lines = [
    ...found.commands.filter(({ name }) => own.has(name)).map(({ file, name }) =>
      texts.builtinWins(terminalSafe(file), name)
    ),
    ...found.unused.map(({ text }) => terminalSafe(text)),
  ];
  return lines.length === 0 ? [] : ["", `**${texts.notUsed}**`, "", ...lines.map((line) => `- ${line}`)];
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
