import { flagWord } from "../../command.ts";
import { BATCH_FLAG_NAMES, type RunFlags } from "../../run_flags.ts";
import { type AnswerSchema, loadAnswerSchema } from "../../../src/agent/mod.ts";
import {
  loadTrustedConfig,
  type RunOptions,
  type RunPaths,
  type TrustOptions,
} from "../../../src/run/mod.ts";
import {
  type Config,
  type ConfigInput,
  type ConfigProblem,
  type LoadedConfig,
  type LoadOptions,
  nonInteractive,
  type ProviderEntry,
  resolveModel,
} from "../../../src/config/mod.ts";
import { errorMessage, message, usageError } from "../../../src/core/mod.ts";
import { CLAUDE_MODES, isClaudeMode, type SdkHost, type SdkSettings } from "../../../src/frontend/mod.ts";
import { isAbsolute } from "../../../src/path/lexical.ts";
import { realDirectory } from "../../../src/path/real_path.ts";
import { isFault, readRule } from "../../../src/rule/mod.ts";
import { BUILTINS, toolsNamed } from "../../../src/tool/mod.ts";
import { defined, isRecord, parseJson } from "../../../src/util/json.ts";

/** Throws for flags that mean nothing without `--tasks`. */
export function requireTasks(flags: RunFlags): void {
  const alone = BATCH_FLAG_NAMES.find((name) => flags[name] !== undefined);
  if (alone === undefined) return;
  throw usageError(
    message`Cannot use ${flagWord(alone)} for one task`,
    message`give a file of tasks with --tasks FILE, or leave it out`,
  );
}

export function runOptions({ permissionMode, forkSession, tools: _tools, ...flags }: RunFlags): RunOptions {
  return {
    ...flags,
    ...(forkSession ? { copy: true } : {}),
    ...(permissionMode === undefined
      ? {}
      : isClaudeMode(permissionMode)
      ? { ...CLAUDE_MODES[permissionMode], ...(flags.onAsk ? { onAsk: flags.onAsk } : {}) }
      : { permissionMode }),
  };
}

/** The schema of the answers, if any. Throws a ReasonixError (usage). */
export async function answerSchemaOf(
  { jsonSchema }: Pick<RunFlags, "jsonSchema">,
): Promise<AnswerSchema | undefined> {
  if (jsonSchema === undefined) return undefined;
  const inline = jsonSchema.trimStart().startsWith("{");
  const schema = parseJson(inline ? jsonSchema : await readSchema(jsonSchema));
  const given = inline ? "" : ` in ${jsonSchema}`;
  if (!isRecord(schema)) {
    throw usageError(
      message`Cannot use the JSON Schema${given}: it is not a JSON object`,
      message`give --json-schema a JSON object, or a file with one`,
    );
  }
  return new (await loadAnswerSchema()).AnswerSchema(schema);
}

async function readSchema(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw usageError(
      message`Cannot read the JSON Schema ${path}: ${errorMessage(error)}`,
      message`give --json-schema a JSON object, or a file with one`,
    );
  }
}

interface ConfigFlags extends RunFlags, TrustOptions {
  /** A provider in addition to those of the files, or in place of its namesake. */
  readonly offered?: ProviderEntry | undefined;
  /** MCP servers of the client. */
  readonly servers?: LoadOptions["servers"] | undefined;
}

export async function loadNonInteractiveConfig(paths: RunPaths, flags: ConfigFlags): Promise<LoadedConfig> {
  return nonInteractive(await loadRunConfig(paths, flags));
}

/** The configuration of a run: files, preset, what its flags say, and what the user trusts of the project. */
export async function loadRunConfig(paths: RunPaths, flags: ConfigFlags): Promise<LoadedConfig> {
  const { preferModel } = flags;
  if (preferModel === undefined) return await configByFlags(paths, flags);
  const preferred = await configByFlags(paths, { ...flags, model: preferModel });
  if (isKnown(preferred.config)) return preferred;
  const usual = await configByFlags(paths, flags);
  const warning = {
    level: "warning",
    message: `No provider has the model "${preferModel}"; the default model is used`,
    remedy: `Add "${preferModel}" to the models of a provider to use it`,
  } as const;
  return { ...usual, warnings: [...usual.warnings, warning] };
}

function isKnown(config: Config): boolean {
  try {
    resolveModel(config);
    return true;
  } catch {
    return false;
  }
}

async function configByFlags(paths: RunPaths, flags: ConfigFlags): Promise<LoadedConfig> {
  const loaded = await loadTrustedConfig({
    ...paths,
    flags: flagLayer(paths, flags),
    ...(flags.preset === undefined ? {} : { preset: flags.preset }),
    ...(flags.servers === undefined ? {} : { servers: flags.servers }),
  }, flags);
  if (!flags.ignoreUntrusted || loaded.needsTrust.length === 0) return loaded;
  return { ...loaded, warnings: [...loaded.warnings, leftOutWarning(loaded)] };
}

/** Names what `--ignore-untrusted` leaves out of the project, and what of it is used all the same. */
function leftOutWarning({ needsTrust, trusted, projectProviders }: LoadedConfig): ConfigProblem {
  const listOf = (items: readonly { readonly kind: string; readonly name: string }[]) =>
    items.map(({ kind, name }) => `${kind} ${name}`).join(", ");
  const paired = projectProviders.filter(({ userEntry }) => userEntry !== undefined);
  const used = [...paired.map(({ name }) => ({ kind: "provider", name })), ...trusted];
  return {
    level: "warning",
    message: `--ignore-untrusted leaves out ${listOf(needsTrust)} of this project; ${
      used.length === 0 ? "nothing else of it waits for trust" : `used are ${listOf(used)}`
    }`,
    remedy: "look at what is left out with `reasonix trust`",
  };
}

function flagLayer(paths: RunPaths, flags: ConfigFlags): ConfigInput {
  const maxSteps = flags.maxSteps ?? flags.maxTurns;
  const maxCost = flags.maxCost ?? flags.maxBudgetUsd;
  const agent = {
    ...defined({
      max_steps: maxSteps,
      time_limit_seconds: flags.timeLimit,
      max_cost: maxCost,
      auto_plan: flags.autoPlan,
      system_prompt_file: flags.systemPromptFile,
    }),
    ...(flags.systemPrompt === undefined
      ? {}
      : { system_prompt: flags.systemPrompt, system_prompt_file: "" }),
  };
  const goal = {
    ...defined({ max_turns: flags.maxGoalTurns, time_limit_seconds: flags.timeLimit, max_cost: maxCost }),
  };
  const tools = {
    ...(flags.writes === undefined ? {} : { writes: flags.writes }),
    ...(flags.tools === undefined ? {} : { disabled: [...toolsLeftOut(flags.tools)] }),
  };
  const allow = [
    ...splitRules(flags.allowedTools ?? []),
    ...(flags.permissionMode === "acceptEdits" ? ["Edit"] : []),
  ];
  const permissions = {
    ...(allow.length > 0 ? { allow } : {}),
    ...(flags.disallowedTools ? { deny: denyRules(flags.disallowedTools) } : {}),
  };
  return {
    // The flag overrides every setting.
    ...(flags.model === undefined ? {} : { default_model: flags.model, agent_model: flags.model }),
    ...(flags.offered === undefined ? {} : { providers: [flags.offered] }),
    ...(Object.keys(goal).length > 0 ? { goal } : {}),
    ...(Object.keys(tools).length > 0 ? { tools } : {}),
    ...(flags.addDir
      ? { sandbox: { allow_write: flags.addDir.map((dir) => existingDirectory(paths, dir)) } }
      : {}),
    ...(Object.keys(agent).length > 0 ? { agent } : {}),
    ...(Object.keys(permissions).length > 0 ? { permissions } : {}),
  };
}

/** A rule that would deny nothing must not look as if it did. */
function denyRules(values: readonly string[]): string[] {
  return splitRules(values).map((text) => {
    const read = readRule(text);
    if (!isFault(read)) return text;
    throw usageError(read.message, message`correct --disallowed-tools: ${read.remedy}`);
  });
}

/** A directory that is not there could be made by another process first. */
function existingDirectory({ cwd }: RunPaths, dir: string): string {
  return realDirectory(isAbsolute(dir) ? dir : `${cwd}/${dir}`, `add ${dir} to the writable directories`);
}

/** Rules separated by commas or blanks; those inside parentheses belong to the rule. */
function splitRules(values: readonly string[]): string[] {
  return values.flatMap((value) => value.match(/(?:[^\s,()]|\([^)]*\)?)+/g) ?? []);
}

/** The built-in tools that a list of `--tools` leaves out; "default" leaves out none. */
function toolsLeftOut(list: string): readonly string[] {
  const named = list.split(/[\s,]+/).filter((name) => name !== "");
  if (named.includes("default")) return [];
  const wanted = named.flatMap(toolsNamed);
  return BUILTINS.map(({ name }) => name).filter((name) => !wanted.includes(name));
}

/** The run of a command line, as an SDK changes it. */
export function sdkHost(paths: RunPaths, flags: RunFlags): SdkHost {
  const { copy: _copy, forkSession: _fork, sessionId: _id, continue: _continue, ...later } = flags;
  const withSettings = ({ resume, ...settings }: SdkSettings): RunFlags => {
    const { preferModel, ...given } = resume === undefined ? flags : { ...later, resume };
    const preferred = settings.model === undefined && preferModel !== undefined ? { preferModel } : {};
    return { ...given, ...preferred, ...settings };
  };
  return {
    paths,
    permissionMode: flags.permissionMode,
    asks: flags.permissionPromptTool === "stdio",
    load: (settings) => loadNonInteractiveConfig(paths, withSettings(settings)),
    options: (settings) => runOptions(withSettings(settings)),
    schema: (settings) => answerSchemaOf(withSettings(settings)),
  };
}
