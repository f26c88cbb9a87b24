import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { MemoryPort } from "../../../tool/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { ArgumentValue, CommandBody, CommandHost } from "../../command.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const memory = await memoryOf(host);
    const [, name] = /^forget\s+(\S+)$/.exec(argument) ?? [];
    if (name !== undefined) {
      const { archived } = await memory.forget(name);
      return host.say(texts.forgotten(name, archived));
    }
    if (argument !== "") {
      const { name, description, text, scope, updated } = await memory.read(argument);
      return host.say(`**${name}** (${texts.scopes[scope]}, ${updated}): ${description}\n\n${text}`);
    }
    const lines = (await memory.list()).map((fact) =>
      `- \`${fact.name}\` (${texts.scopes[fact.scope]}): ${oneLine(fact.description, 160)}`
    );
    host.say(lines.length === 0 ? texts.noMemory : [...lines, "", texts.memoryHint].join("\n"));
  },
  async complete(host) {
    const facts = await factNames(host);
    return facts.length === 0 ? [] : [...facts, { value: "forget" }];
  },
  completeNext: (host, { before: [verb, ...more] }) =>
    verb === "forget" && more.length === 0 ? factNames(host) : [],
};

async function factNames(host: CommandHost): Promise<ArgumentValue[]> {
  const facts = await (await memoryOf(host)).list();
  return facts.map(({ name, description }) => ({ value: name, detail: oneLine(description, 60) }));
}

async function memoryOf(host: CommandHost): Promise<MemoryPort> {
  const { memory } = (await host.session()).inputs.ports;
  if (memory) return await memory();
  throw new ReasonixError((await loadTexts("report_commands", host.locale)).memoryOff);
}
