import type { Config, LoadedConfig } from "../../config/mod.ts";
import {
  type AgentFiles,
  agentRoots,
  environmentText,
  findSkills,
  type Instructions,
  loadAgents,
  loadInstructionGlobs,
  loadInstructions,
  loadSkills,
  type SkillActivation,
  type Skills,
  type SkillSet,
  systemPrompt,
} from "../../context/mod.ts";
import { errorMessage, type Message, message, ReasonixError } from "../../core/mod.ts";
import { loadMemory } from "../../memory/mod.ts";
import { isDirectory } from "../../path/probe.ts";
import type { ToolMode } from "../../provider/mod.ts";
import { deniedSubjects } from "../../rule/mod.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import { loadHistory, projectDir } from "../../session/mod.ts";
import { type HistoryPort, insteadOfWriting, type Tool, type ToolServices } from "../../tool/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { PLATFORM, type RunPaths } from "../run_options.ts";
import { toolList } from "../tools/toolbox.ts";
import { userHome } from "../../config/mod.ts";

interface ModelPrompt {
  /** The table that has it, such as `agent` or `providers.deepseek`. */
  readonly from: string;
  readonly text: string;
}

/** The model that prompts are looked up for. */
interface PromptedModel {
  readonly provider: string;
  readonly id: string;
}

/** The additional texts of the system prompt: of the agent, of the provider entry and of the model. */
export function supplementalPrompts(config: Config, model: PromptedModel): readonly ModelPrompt[] {
  const { entry, own } = levelsOf(config, model);
  return inOrder(model, [
    config.agent.supplemental_prompt,
    entry?.supplemental_prompt,
    own?.supplemental_prompt,
  ]);
}

/** The texts that follow every message of the user to a model, in the same order. */
export function turnPrompts(config: Config, model: PromptedModel): readonly ModelPrompt[] {
  const { entry, own } = levelsOf(config, model);
  return inOrder(model, [config.agent.turn_prompt, entry?.turn_prompt, own?.turn_prompt]);
}

/** Looks an entry up in the file: as it counts for a model, it has the texts of that model. */
function levelsOf({ providers }: Config, { provider, id }: PromptedModel) {
  const entry = providers.find(({ name }) => name === provider);
  return {
    entry,
    own: entry && Object.hasOwn(entry.model_settings, id) ? entry.model_settings[id] : undefined,
  };
}

/** Names the levels and leaves out what is empty or was said before. */
function inOrder(
  { provider, id }: PromptedModel,
  texts: readonly (string | undefined)[],
): readonly ModelPrompt[] {
  const tables = [
    "agent",
    `providers.${provider}`,
    `providers.${provider}.model_settings.${JSON.stringify(id)}`,
  ];
  const found = texts.map((text = "", at) => ({ from: tables[at] ?? "", text: text.trim() }));
  return found.filter(({ text }, at) => text !== "" && found.findIndex((each) => each.text === text) === at);
}

/**
 * The knowledge of a run beyond its conversation: standing instructions, skills, saved facts, earlier
 * sessions.
 */
export interface PromptInputs {
  readonly instructions: Instructions;
  readonly skillSet: SkillSet;
  readonly agents: AgentFiles;
  /** Absent when there are no skills. */
  readonly skills?: Skills;
  readonly catalogue?: string;
  readonly system: string;
  /** Texts of the user for that model, which are part of it. */
  readonly supplements: readonly ModelPrompt[];
  readonly systemOf: (model: SystemModel) => string;
  /** Messages with facts for the model, before the first one of the user. */
  readonly opening: () => readonly string[];
  /** The one of them that may be another one with the next turn: date, branch, directories. */
  readonly surroundings: () => readonly string[];
  readonly ports: Pick<ToolServices, "skills" | "memory" | "history">;
  /** Built-in tools that are offered on top of the usual ones. */
  readonly tools: readonly string[];
  /** Reports whether the user trusts an item of the project, as it is now or for this run. */
  readonly isTrusted: (item: TrustItem) => Promise<boolean>;
  readonly toolMode: ToolMode;
}

/** The properties of a model that the system prompt depends on. */
export interface SystemModel extends PromptedModel {
  readonly toolMode?: ToolMode;
}

interface PromptInputSources {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  readonly messages: () => readonly Message[];
  readonly redact?: (text: string) => string;
  /** The user trusts all repository content in this run. */
  readonly trustProject?: boolean;
  readonly appended?: string | undefined;
  readonly onSkill?: (activation: SkillActivation) => void;
  /** The model of the run. Without tools, the prompt mentions nothing that needs one. */
  readonly model: SystemModel;
  /** Turns that the run has for a task; default: 1. */
  readonly steps?: number | undefined;
  readonly ownTools?: readonly Tool[] | undefined;
}

/**
 * Reads instruction files and looks for skills and facts. Where there are none, this costs a few stat calls.
 */
export async function gatherPromptInputs(sources: PromptInputSources): Promise<PromptInputs> {
  const { paths, loaded, redact, model } = sources;
  const { toolMode = "official" } = model;
  const withoutTools = toolMode === "none";
  const project = projectDir(paths.home, paths.cwd);
  const instructions = await readInstructions(sources);
  const skillSet = await findSkillSet(paths, loaded);
  const skills = skillSet.skills.length > 0 && !withoutTools
    ? await activeSkills(sources, skillSet)
    : undefined;
  const catalogue = skills && offersSkills(loaded.config)
    ? (await loadSkills()).skillCatalogue(
      skillSet.skills,
    )
    : undefined;
  const isSaved = [paths.home, project].some((directory) => isDirectory(`${directory}/memory`));
  const memory = isSaved && !withoutTools
    ? await (await loadMemory()).openingMemory({ home: paths.home, project })
    : undefined;
  const tools = ["history", "memory", "remember", "forget", ...(skills ? ["skill"] : [])];
  const nonInteractive = (sources.steps ?? 1) > 1
    ? (await import("./non_interactive.ts")).agentModePrompt(loaded.config.tools.writes)
    : undefined;
  const heads = new Head(sources, { instructions, catalogue, memory, tools, nonInteractive });
  return {
    instructions,
    skillSet,
    agents: withoutTools ? NO_AGENTS : await findAgentFiles(paths, loaded, trustOf(sources)),
    system: heads.system(model),
    supplements: supplementalPrompts(loaded.config, model),
    systemOf: (other) => heads.system(other),
    opening: () => heads.opening(),
    surroundings: () => heads.surroundings(),
    ports: {
      memory: lazy(async () =>
        new (await loadMemory()).FactStore({ home: paths.home, project, ...(redact ? { redact } : {}) })
      ),
      history: historyPort(paths),
      ...(skills ? { skills } : {}),
    },
    isTrusted: trustOf(sources),
    toolMode,
    tools,
    ...(skills ? { skills } : {}),
    ...(catalogue === undefined ? {} : { catalogue }),
  };
}

async function readInstructions({ paths, loaded, workspace }: PromptInputSources): Promise<Instructions> {
  const { instructions, instructions_from, instructions_max_bytes } = loaded.config;
  const patterns = instructions.some((entry) => /[*?[{]/.test(entry));
  return loadInstructions({
    cwd: paths.cwd,
    home: paths.home,
    extra: patterns ? (await loadInstructionGlobs()).expandInstructionGlobs(instructions) : instructions,
    fromRoot: instructions_from === "root",
    maxBytes: instructions_max_bytes || Infinity,
    hidden: (path) => workspace.hidden(path),
  });
}

/**
 * Finds the skills of the working directory, of the configured directories and of the user. The model does
 * not know those that a rule denies, and no agent works on them.
 */
export async function findSkillSet(paths: RunPaths, loaded: LoadedConfig): Promise<SkillSet> {
  const { paths: configured, excluded_paths, disabled_skills } = loaded.config.skills;
  const found = await findSkills({
    cwd: paths.cwd,
    home: paths.home,
    paths: configured,
    excluded: excluded_paths,
    disabled: disabled_skills,
    bundles: loaded.bundles,
    userHome: userHome(paths.env),
  });
  const { deny } = loaded.config.permissions;
  if (found.skills.length === 0 || deny.length === 0) return found;
  const isDenied = deniedSubjects(deny, "skill");
  const skills = found.skills.map((skill) =>
    isDenied(skill.name) ? { ...skill, listed: false, runAs: "inline" as const } : skill
  );
  return { ...found, skills };
}

const NO_AGENTS: AgentFiles = { agents: [], warnings: [], untrusted: [] };

/** Finds the agents that files describe; those of the project after trust. */
export async function findAgentFiles(
  { cwd, home, env }: RunPaths,
  { bundles }: Pick<LoadedConfig, "bundles">,
  isTrusted: (item: TrustItem) => Promise<boolean>,
): Promise<AgentFiles> {
  const roots = agentRoots({ cwd, home, bundles, userHome: userHome(env) });
  return roots.length === 0 ? NO_AGENTS : await (await loadAgents()).discoverAgents(roots, isTrusted);
}

async function activeSkills(sources: PromptInputSources, set: SkillSet): Promise<Skills> {
  const { messages, onSkill } = sources;
  const { Skills } = await loadSkills();
  return new Skills({
    set,
    messages,
    isTrusted: trustOf(sources),
    ...(onSkill ? { onActivate: onSkill } : {}),
  });
}

function trustOf({ paths: { home, cwd }, trustProject }: PromptInputSources): PromptInputs["isTrusted"] {
  // Read again for each item: the user may decide in another terminal.
  return (item) => new TrustStore({ home, project: cwd, trustAll: trustProject }).isTrusted(item);
}

/** Search in earlier sessions; the current one counts, since parts of it may have been compacted. */
function historyPort({ home, cwd }: RunPaths): HistoryPort {
  return {
    search: async (query) => await (await loadHistory()).searchHistory({ home, cwd, ...query }),
    around: async (location) => await (await loadHistory()).readAround({ home, ...location }),
  };
}

/** Omits skills where the model cannot load them. */
function offersSkills({ tools: { enabled, disabled } }: Config): boolean {
  return (enabled.length === 0 || enabled.includes("skill")) && !disabled.includes("skill");
}

interface PromptPrefixInputs {
  readonly instructions: Instructions;
  readonly catalogue: string | undefined;
  readonly memory: string | undefined;
  readonly tools: readonly string[];
  readonly nonInteractive: string | undefined;
}

/** The beginning of a conversation: the system prompt, and the facts in it or behind it. */
class Head {
  readonly #sources: PromptInputSources;
  readonly #prefix: PromptPrefixInputs;

  constructor(sources: PromptInputSources, prefix: PromptPrefixInputs) {
    this.#sources = sources;
    this.#prefix = prefix;
  }

  get #config(): Config {
    return this.#sources.loaded.config;
  }

  get #isTold(): boolean {
    return this.#config.agent.environment === "message";
  }

  opening(): readonly string[] {
    return this.#isTold ? this.#facts(new Date()) : [];
  }

  surroundings(): readonly string[] {
    return this.#isTold ? [this.#environment(new Date())] : [];
  }

  #facts(now?: Date): readonly string[] {
    const { memory } = this.#prefix;
    return [this.#environment(now), ...(memory === undefined ? [] : [memory])];
  }

  #environment(now?: Date): string {
    const { paths: { cwd }, workspace: { roots } } = this.#sources;
    const { writes } = this.#config.tools;
    const files = writes === "allow" ? { writableRoots: roots } : {
      files: `not to be changed in this run, commands see them read-only; ${insteadOfWriting(writes)}`,
    };
    return environmentText({ cwd, platform: PLATFORM, ...(now ? { now } : {}), ...files });
  }

  system(model: SystemModel): string {
    const { appended, ownTools = [] } = this.#sources;
    const { instructions, catalogue, tools: builtin, nonInteractive } = this.#prefix;
    const { toolMode } = model;
    const withoutTools = toolMode === "none";
    const { system_prompt, system_prompt_file, reasoning_language, tool_list, environment } =
      this.#config.agent;
    const custom = system_prompt_file === "" ? system_prompt : readPrompt(system_prompt_file);
    return systemPrompt({
      instructions: instructions.files,
      reasoningLanguage: reasoning_language,
      ...(custom === "" ? {} : { custom }),
      // A model that is taught its tools as text has them listed already.
      ...(tool_list && (toolMode ?? "official") === "official"
        ? { tools: toolList(this.#config, { builtin, own: ownTools }) }
        : {}),
      facts: [
        ...(environment === "system" ? this.#facts() : []),
        ...(nonInteractive === undefined ? [] : [nonInteractive]),
      ],
      supplements: supplementalPrompts(this.#config, model).map(({ text }) => text),
      ...(withoutTools ? { withoutTools } : {}),
      ...(catalogue === undefined || withoutTools ? {} : { skills: catalogue }),
      ...(appended === undefined ? {} : { appended }),
    });
  }
}

function readPrompt(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    throw new ReasonixError(message`Cannot read the system prompt file ${file}: ${errorMessage(error)}`, {
      exit: "config",
      remedy: message`correct agent.system_prompt_file`,
    });
  }
}
