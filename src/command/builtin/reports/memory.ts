import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import type { MemoryEntry, MemoryPort } from "../../../tool/mod.ts";
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
    const [isArchive, archived] = /^archive(?:\s+(\S+))?$/.exec(argument) ?? [];
    if (isArchive !== undefined) return host.say(archiveText(await memory.archive(), archived, texts));
    if (argument !== "") {
      const { name, description, text, scope, updated } = await memory.read(argument);
      return host.say(`**${name}** (${texts.scopes[scope]}, ${updated}): ${description}\n\n${text}`);
    }
    const count = (await memory.archive()).length;
    const hint = [texts.memoryHint, ...(count > 0 ? [texts.archiveHint(count)] : [])].join("\n\n");
    const lines = (await memory.list()).map((fact) =>
      `- \`${fact.name}\` (${texts.scopes[fact.scope]}): ${oneLine(fact.description, 160)}`
    );
    if (lines.length > 0) return host.say([...lines, "", hint].join("\n"));
    host.say([texts.noMemory, ...(count > 0 ? [texts.archiveHint(count)] : [])].join("\n\n"));
  },
  async complete(host) {
    const facts = await factNames(host);
    const isArchived = (await (await memoryOf(host)).archive()).length > 0;
    return [
      ...facts,
      ...(facts.length > 0 ? [{ value: "forget" }] : []),
      ...(isArchived ? [{ value: "archive" }] : []),
    ];
  },
  async completeNext(host, { before: [verb, ...more] }) {
    if (more.length > 0) return [];
    if (verb === "archive") return entries(await (await memoryOf(host)).archive());
    return verb === "forget" ? factNames(host) : [];
  },
};

/** The list of forgotten facts, or all versions of one. */
function archiveText(
  facts: Awaited<ReturnType<MemoryPort["archive"]>>,
  name: string | undefined,
  texts: Texts["report_commands"],
): string {
  if (facts.length === 0) return texts.archiveEmpty;
  if (name === undefined) {
    return facts.map((fact) =>
      `- \`${fact.name}\` (${texts.scopes[fact.scope]}, ${texts.archivedOn(fact.archivedOn)}): ${
        oneLine(fact.description, 160)
      }`
    ).join("\n");
  }
  const found = facts.filter((fact) => fact.name === name);
  if (found.length === 0) {
    throw new ReasonixError(texts.notArchived(name), { exit: "usage", remedy: texts.archiveRemedy });
  }
  return found.map((fact) =>
    `**${fact.name}** (${texts.scopes[fact.scope]}, ${
      texts.archivedOn(fact.archivedOn)
    }): ${fact.description}\n\n` +
    fact.text
  ).join("\n\n");
}

async function factNames(host: CommandHost): Promise<ArgumentValue[]> {
  return entries(await (await memoryOf(host)).list());
}

function entries(facts: readonly MemoryEntry[]): ArgumentValue[] {
  return facts.map(({ name, description }) => ({ value: name, detail: oneLine(description, 60) }));
}

async function memoryOf(host: CommandHost): Promise<MemoryPort> {
  const { memory } = (await host.session()).inputs.ports;
  if (memory) return await memory();
  throw new ReasonixError((await loadTexts("report_commands", host.locale)).memoryOff);
}
