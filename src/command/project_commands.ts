import type { Assembly } from "../run/mod.ts";
import { loadSkills } from "../context/mod.ts";
import { lazy } from "../util/lazy.ts";
import { oneLine } from "../util/terminal_text.ts";
import type { SlashCommand } from "./command.ts";

type OpenSession = (() => Promise<Assembly>) | undefined;

const loadPrompts = lazy(() => import("./prompts.ts"));
const loadMarkdown = lazy(() => import("./markdown/markdown_commands.ts"));

/**
 * Commands of the project and the user: Markdown files, then skills that a line may begin with, then prompts
 * of MCP servers; of two with one name the first counts. A session that cannot be opened has none.
 */
export async function projectCommands(session: OpenSession): Promise<readonly SlashCommand[]> {
  const assembly = await session?.().catch(() => undefined);
  if (!assembly) return [];
  const { commandsOf, slashCommand } = await loadMarkdown();
  const files = commandsOf(assembly).commands.map(slashCommand);
  const names = new Set(files.map(({ name }) => name));
  const prompts = assembly.servers ? (await loadPrompts()).promptCommands(assembly, assembly.servers) : [];
  const more = [...skillCommands(assembly.inputs), ...prompts].filter(({ name }) => !names.has(name));
  return [...files, ...more];
}

/** Waits until it is known what the MCP server offers that a name belongs to. */
export async function meetServer(name: string, session: OpenSession): Promise<void> {
  const assembly = await session?.().catch(() => undefined);
  await assembly?.servers?.meet(name);
}

/** The command file of a name that cannot be used, if there is one. */
export async function unusedFile(name: string, session: OpenSession): Promise<{ text: string } | undefined> {
  const assembly = await session?.().catch(() => undefined);
  if (!assembly) return undefined;
  const { commandsOf } = await loadMarkdown();
  return commandsOf(assembly).unused.find((file) => file.name === name);
}

function skillCommands(inputs: Assembly["inputs"]): SlashCommand[] {
  const skills = inputs.skills?.set.skills.filter(({ slash }) => slash) ?? [];
  return skills.map(({ name, description, argumentHint, file }) => ({
    name,
    brief: oneLine(description, 160),
    kind: "skill",
    origin: file,
    ...(argumentHint === undefined ? {} : { argumentHint }),
    async run(host, argument) {
      const text = `/${name} ${argument}`.trim();
      const skill = inputs.skills && await (await loadSkills()).resolveSlash(text, inputs.skills);
      host.send(text, skill ? { skill: skill.context } : {});
    },
  }));
}
