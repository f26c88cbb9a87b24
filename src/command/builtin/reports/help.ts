import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { suggestNames } from "../../../util/suggest.ts";
import { displayWidth, padDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import type { CommandBody, CommandHost, SlashCommand } from "../../command.ts";
import { commandsOf } from "../../markdown/mod.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const name = argument.replace(/^\//, "");
    if (name === "keys" && host.keys) return host.say(await host.keys());
    const commands = await host.commands();
    if (name === "" || name === "all") {
      const unused = await unusedLines(host, commands, texts);
      return host.say(
        [listText(commands, texts, { all: name === "all", hasKeys: host.keys !== undefined }), ...unused]
          .join(""),
        "plain",
      );
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
    return [{ value: "all" }, ...(host.keys ? [{ value: "keys" }] : []), ...names];
  },
};

/** Commands that most sessions use. */
const FIRST: readonly string[] = [
  "new",
  "resume",
  "compact",
  "undo",
  "diff",
  "context",
  "model",
  "mode",
  "plan",
  "permissions",
  "help",
  "quit",
];

type Group = keyof Texts["report_commands"]["groups"];

/** The other commands by what they are about; those that stand nowhere here come last. */
const GROUPS: readonly (readonly [Group, readonly string[]])[] = [
  ["session", ["clear", "fork", "rename", "rewind", "redo", "export", "copy"]],
  ["work", ["todo", "goal", "review", "verify", "init"]],
  ["reports", ["status", "cost", "doctor", "bug"]],
  ["extensions", ["mcp", "agents", "hooks", "skills", "memory"]],
  ["settings", ["effort", "sandbox", "settings", "theme", "lang"]],
];

function listText(
  commands: readonly SlashCommand[],
  texts: Texts["report_commands"],
  { all, hasKeys }: { readonly all: boolean; readonly hasKeys: boolean },
): string {
  const builtin = commands.filter(({ kind }) => kind === "builtin");
  const section = (title: string, shown: readonly SlashCommand[]) => {
    const aligned = shown[0]?.kind === "builtin" ? builtin : shown;
    const width = Math.max(...aligned.map(({ name }) => displayWidth(name))) + 1;
    return shown.length === 0 ? [] : [
      `${title}\n`,
      ...shown.map(({ name, brief }) => `  ${padDisplay(`/${name}`, width)}  ${terminalSafe(brief)}\n`),
      "\n",
    ];
  };
  const named = (names: readonly string[]) =>
    names.flatMap((name) => builtin.filter((each) => each.name === name));
  const grouped = new Set<string>([...FIRST, ...GROUPS.flatMap(([, names]) => names)]);
  const rest = builtin.filter(({ name }) => !grouped.has(name));
  const groups: (readonly [title: string, commands: readonly SlashCommand[]])[] = [
    ...GROUPS.map(([group, names], at) =>
      [texts.groups[group], [...named(names), ...(at === GROUPS.length - 1 ? rest : [])]] as const
    ),
    [texts.ownCommands, commands.filter(({ kind }) => kind === "markdown")],
    [texts.skills, commands.filter(({ kind }) => kind === "skill")],
    [texts.serverPrompts, commands.filter(({ kind }) => kind === "prompt")],
  ];
  const shown = groups.filter(([, { length }]) => length > 0);
  const width = Math.max(...shown.map(([title]) => displayWidth(title)));
  return [
    ...section(texts.groups.first, named(FIRST)),
    ...(all ? shown.flatMap(([title, each]) => section(title, each)) : [
      ...shown.map(([title, each]) =>
        `${padDisplay(title, width)}  ${each.map(({ name }) => `/${name}`).join(" ")}\n`
      ),
      "\n",
    ]),
    `${texts.otherLines}\n`,
    `${all ? texts.moreHelp : texts.allHelp}${hasKeys ? ` ${texts.keysAre}` : ""}\n`,
  ].join("");
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
  return lines.length === 0 ? [] : [`\n${texts.notUsed}\n`, ...lines.map((line) => `  ${line}\n`)];
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
