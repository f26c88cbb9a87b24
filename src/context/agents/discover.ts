import { contains } from "../../path/contains.ts";
import { sortedEntries } from "../../path/probe.ts";
import type { TrustItem } from "../../trust/mod.ts";
import type { SkillRoot } from "../skills/roots.ts";
import type { AgentDefinition, AgentFiles, AgentWarning } from "./agent.ts";
import { readAgent } from "./read_agent.ts";

const MAX_FILES = 100;
const MAX_BYTES = 256 * 1024;

/** Reads the agents below these roots, strongest first; those of a project count once they are trusted. */
export async function discoverAgents(
  roots: readonly SkillRoot[],
  isTrusted: (item: TrustItem) => Promise<boolean>,
): Promise<AgentFiles> {
  const found = new Map<string, AgentDefinition>();
  const untrusted: AgentDefinition[] = [];
  const warnings: AgentWarning[] = [];
  for (const root of roots) {
    for (const file of agentFiles(root, warnings)) {
      const agent = await fileAgent(file, root, warnings);
      if (!agent || found.has(agent.name)) continue;
      if (agent.scope === "project" && !await isTrusted(agentTrustItem(agent))) untrusted.push(agent);
      else found.set(agent.name, agent);
    }
  }
  return { agents: sorted([...found.values()]), warnings, untrusted: sorted(untrusted) };
}

/** Makes the trust item of an agent of the project: its file as it is. */
export function agentTrustItem(
  { name, description, file = "", readOnly, tools, model }: AgentDefinition,
): TrustItem {
  return {
    kind: "agent",
    name,
    definition: { file },
    files: [file],
    place: { file },
    lines: [
      `for: ${description}`,
      readOnly ? "it only reads" : `its tools: ${tools?.join(", ") ?? "those of the run"}`,
      ...(model === undefined ? [] : [`its model: ${model}`]),
    ],
  };
}

function sorted(agents: readonly AgentDefinition[]): AgentDefinition[] {
  return [...agents].sort((a, b) => a.name < b.name ? -1 : 1);
}

async function fileAgent(
  file: string,
  { scope }: SkillRoot,
  warnings: AgentWarning[],
): Promise<AgentDefinition | undefined> {
  const warn = (line: number, text: string) => void warnings.push({ path: file, line, text });
  try {
    const { isFile, size } = await Deno.stat(file);
    if (!isFile || size > MAX_BYTES) {
      warn(1, "left out: it is no text file of at most 256 KiB");
      return undefined;
    }
    return readAgent({ file, text: await Deno.readTextFile(file), scope }, warn);
  } catch (error) {
    warn(1, `could not be read: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function agentFiles(root: SkillRoot, warnings: AgentWarning[]): string[] {
  const fence = root.within === undefined ? undefined : Deno.realPathSync(root.within);
  if (fence !== undefined && !staysInside(root.path, fence)) {
    warnings.push({ path: root.path, line: 1, text: "left out: it is a link that leads out of the project" });
    return [];
  }
  const files = sortedEntries(root.path).filter(({ name }) => /^[^.].*\.md$/i.test(name));
  if (files.length > MAX_FILES) {
    warnings.push({ path: root.path, line: 1, text: `only its first ${MAX_FILES} agents are read` });
  }
  return files.slice(0, MAX_FILES).flatMap((entry) => {
    const path = `${root.path}/${entry.name}`;
    if (entry.isDirectory) return [];
    if (!entry.isSymlink || fence === undefined || staysInside(path, fence)) return [path];
    warnings.push({ path, line: 1, text: "left out: it is a link that leads out of the project" });
    return [];
  });
}

function staysInside(path: string, root: string): boolean {
  try {
    return contains(root, Deno.realPathSync(path));
  } catch {
    return false;
  }
}
