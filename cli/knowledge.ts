import { type LoadedConfig, sourceOf } from "../src/config/mod.ts";
import {
  findSkills,
  type Instructions,
  loadInstructionGlobs,
  loadInstructions,
  loadSkills,
  type SkillActivation,
  type Skills,
  type SkillSet,
} from "../src/context/mod.ts";
import type { Message } from "../src/core/mod.ts";
import { memoryPort, openingMemory } from "../src/memory/mod.ts";
import { TrustStore, type Workspace } from "../src/sandbox/mod.ts";
import { loadHistory, projectDir } from "../src/session/mod.ts";
import type { HistoryPort, ToolServices } from "../src/tool/mod.ts";
import { systemText } from "./parts.ts";
import type { Place } from "./place.ts";

/** What a run knows beyond its conversation: standing instructions, skills, saved facts, earlier sessions. */
export interface Knowledge {
  readonly instructions: Instructions;
  readonly skillSet: SkillSet;
  /** Absent when there are no skills. */
  readonly skills?: Skills;
  /** Section of the system prompt that names the skills. */
  readonly catalogue?: string;
  /** The system prompt. */
  readonly system: string;
  /** Message that lists the saved facts; absent when there are none. */
  readonly memory?: string;
  readonly ports: Pick<ToolServices, "skills" | "memory" | "history">;
  /** Built-in tools that are offered on top of the usual ones. */
  readonly tools: readonly string[];
}

export interface KnowledgeSources {
  readonly place: Place;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  readonly messages: () => readonly Message[];
  readonly redact?: (text: string) => string;
  /** The user takes what the project brings as it is, for this run. */
  readonly trustProject?: boolean;
  readonly onSkill?: (activation: SkillActivation) => void;
}

/** Reads instruction files and looks for skills and facts. Where there are none, this costs a few stat calls. */
export async function gatherKnowledge(sources: KnowledgeSources): Promise<Knowledge> {
  const { place, loaded, redact } = sources;
  const project = projectDir(place.home, place.cwd);
  const instructions = await readInstructions(sources);
  const skillSet = await findSkillSet(place, loaded);
  const skills = skillSet.skills.length > 0 ? await activeSkills(sources, skillSet) : undefined;
  const catalogue = skills && (await loadSkills()).skillCatalogue(skillSet.skills);
  const memory = await openingMemory({ home: place.home, project });
  return {
    instructions,
    skillSet,
    system: systemText(loaded.config, instructions, catalogue),
    ports: {
      memory: memoryPort({ home: place.home, project, ...(redact ? { redact } : {}) }),
      history: historyPort(place),
      ...(skills ? { skills } : {}),
    },
    tools: ["history", "memory", "remember", "forget", ...(skills ? ["skill"] : [])],
    ...(skills ? { skills } : {}),
    ...(catalogue === undefined ? {} : { catalogue }),
    ...(memory === undefined ? {} : { memory }),
  };
}

async function readInstructions({ place, loaded, workspace }: KnowledgeSources): Promise<Instructions> {
  const { instructions, instructions_max_bytes } = loaded.config;
  const patterns = instructions.some((entry) => /[*?[{]/.test(entry));
  return loadInstructions({
    cwd: place.cwd,
    home: place.home,
    extra: patterns
      ? await (await loadInstructionGlobs()).expandInstructionGlobs(instructions)
      : instructions,
    maxBytes: instructions_max_bytes || Infinity,
    hidden: (path) => workspace.hidden(path),
  });
}

/** The skills of this folder. Of configured folders those count as the project's that nobody else named. */
export function findSkillSet(place: Place, loaded: LoadedConfig): Promise<SkillSet> {
  const { paths, excluded_paths, disabled_skills } = loaded.config.skills;
  const userHome = place.env("HOME") ?? place.env("USERPROFILE");
  const byUser = (_: string, i: number) =>
    ["user", "flag"].includes(sourceOf(loaded, `skills.paths[${i}]`).source);
  return findSkills({
    cwd: place.cwd,
    home: place.home,
    paths,
    projectPaths: paths.filter((path, i) => !byUser(path, i)),
    excluded: excluded_paths,
    disabled: disabled_skills,
    ...(userHome === undefined ? {} : { userHome }),
  });
}

async function activeSkills(sources: KnowledgeSources, set: SkillSet): Promise<Skills> {
  const { place, messages, trustProject, onSkill } = sources;
  const { Skills } = await loadSkills();
  const store = new TrustStore({ home: place.home, project: place.cwd });
  return new Skills({
    set,
    messages,
    isTrusted: async (item) => trustProject || (await store.inspect([item])).untrusted.length === 0,
    ...(onSkill ? { onActivate: onSkill } : {}),
  });
}

/** Search in earlier sessions; the current one counts, since parts of it may have been folded away. */
function historyPort({ home, cwd }: Place): HistoryPort {
  return {
    search: async (query) => await (await loadHistory()).searchHistory({ home, cwd, ...query }),
    around: async (place) => await (await loadHistory()).readAround({ home, ...place }),
  };
}
