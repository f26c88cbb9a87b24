import { type Limits, SUBMIT_TOOL } from "../src/agent/mod.ts";
import {
  type Config,
  type LoadedConfig,
  type ProviderEntry,
  resolveKey,
  resolveModel,
  sourceOf,
} from "../src/config/mod.ts";
import { type Instructions, systemPrompt } from "../src/context/mod.ts";
import type { Recorder } from "../src/control/mod.ts";
import { errorMessage, ReasonixError } from "../src/core/mod.ts";
import {
  createGate,
  type GateOptions,
  isProblem,
  parseRule,
  type PermissionGate,
} from "../src/permission/mod.ts";
import { type CreateOptions, createProvider, type Provider } from "../src/provider/mod.ts";
import { createWorkspace, type Jail, type Workspace } from "../src/sandbox/mod.ts";
import { BUILTINS, ToolRegistry, type ToolSettings } from "../src/tool/mod.ts";
import type { RunFlags } from "./run_flags.ts";
import { gateOptions } from "./gate_options.ts";
import type { Place } from "./place.ts";
import { accessOf, type Reach } from "./reach.ts";
import { VERSION } from "./version.ts";

export const PLATFORM = `${Deno.build.os} ${Deno.build.arch}`;

export async function buildProvider(place: Place, flags: RunFlags, loaded: LoadedConfig): Promise<Provider> {
  const untrusted = loaded.needsTrust.filter((item) => item.kind === "provider").map((item) => item.name);
  const { default_model, providers, agent } = loaded.config;
  const named = providers.some(({ name }) => name === default_model);
  const { entry: configured, model } = await placed(
    loaded,
    named ? providerKey(default_model) : "default_model",
    () => resolveModel(loaded.config, "", untrusted),
  );
  const entry = withAgentSettings(configured, agent);
  const apiKey = resolveKey(entry, loaded.keys);
  const options: CreateOptions = {
    entry,
    model,
    version: VERSION,
    values: {
      workspace: place.cwd,
      home: place.home,
      date: new Date().toISOString().slice(0, 10),
      platform: PLATFORM,
    },
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(flags.effort === undefined ? {} : { effort: flags.effort }),
    ...(flags.record === undefined ? {} : { record: { file: flags.record } }),
  };
  const provider = await placed(loaded, providerKey(entry.name), () => createProvider(options));
  if (agent.max_cost > 0 && !provider.model.price) throw unknownPrice(provider);
  return provider;
}

function providerKey(name: string): string {
  return `providers.${JSON.stringify(name)}`;
}

/** What only shows when a setting is put to use still names the place it was set at. */
async function placed<T>(loaded: LoadedConfig, key: string, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (!(error instanceof ReasonixError) || error.exit !== "config" || error.place) throw error;
    const { file, line, column } = sourceOf(loaded, key);
    if (file === undefined || line === undefined || column === undefined) throw error;
    const { message, exit, remedy, cause } = error;
    throw new ReasonixError(message, {
      exit,
      place: { file, line, column },
      cause,
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
}

/** What the whole agent is set to holds where the entry says nothing of its own. */
function withAgentSettings(entry: ProviderEntry, agent: Config["agent"]): ProviderEntry {
  return {
    ...entry,
    ...(agent.temperature === undefined ? {} : { temperature: entry.temperature ?? agent.temperature }),
    // The model is told that only one call of a message will be executed.
    ...(agent.max_calls_per_step === 1 ? { compat: { parallel_tool_calls: false, ...entry.compat } } : {}),
  };
}

function unknownPrice(provider: Provider): ReasonixError {
  return new ReasonixError(
    `Cannot limit the cost: the price of ${provider.model.provider}/${provider.model.id} is unknown`,
    {
      exit: "config",
      remedy: "add price = { input = …, output = … } to its provider entry, or leave --max-cost out",
    },
  );
}

/** `further` are folders that file tools may write to besides those of the configuration. */
export function buildWorkspace(place: Place, config: Config, further: readonly string[] = []): Workspace {
  const { sandbox } = config;
  const userHome = place.env("HOME") ?? place.env("USERPROFILE");
  return createWorkspace({
    cwd: place.cwd,
    home: place.home,
    roots: [sandbox.workspace_root || place.cwd, ...sandbox.allow_write, ...further],
    forbidRead: sandbox.forbid_read,
    denyRead: readDenials(config),
    ...(userHome === undefined ? {} : { userHome }),
  });
}

/** What permission rules refuse to read: neither commands nor searches should see it. */
function readDenials({ permissions }: Config): string[] {
  return permissions.deny.flatMap((text) => {
    const rule = parseRule({ text }, "deny");
    return !isProblem(rule) && rule.family === "Read" && rule.spec?.kind === "glob" ? [rule.spec.raw] : [];
  });
}

/** How far a run reaches, by its configuration and its `--permission-mode`. */
export function buildReach(place: Place, config: Config, mode: RunFlags["permissionMode"]): Reach {
  const rooted = buildWorkspace(place, config);
  const access = accessOf(config, mode);
  return { ...access, rooted, workspace: access.full ? buildWorkspace(place, config, ["/"]) : rooted };
}

export interface GateParts {
  readonly place: Place;
  readonly flags: RunFlags;
  readonly loaded: LoadedConfig;
  readonly reach: Reach;
  readonly recorder: Recorder;
  readonly tools: {
    readonly shellFolder: () => string | undefined;
    readonly openJail: () => Promise<Jail>;
  };
}

/** The permission gate of a run without a person in front of it. */
export function buildGate({ place, flags, loaded, reach, recorder, tools }: GateParts): PermissionGate {
  const { onAsk, permissionMode } = flags;
  const record: GateOptions["record"] = (event) => recorder.record(event);
  return createGate(gateOptions({ place, loaded, reach, ...tools, onAsk, permissionMode, record }));
}

/** The tools of a run; `offered` are further built-in ones unless the user named exactly which to offer. */
export function buildRegistry(config: Config, offered: readonly string[] = []): ToolRegistry {
  const { disabled, alias } = config.tools;
  const enabled = config.tools.enabled.length > 0 ? config.tools.enabled : ["*", ...offered];
  return new ToolRegistry(BUILTINS, config.agent.submit ? [SUBMIT_TOOL] : [], {
    enabled,
    disabled,
    alias: Object.fromEntries(
      Object.entries(alias).map(([name, { tool, arguments: args }]) => [name, { tool, args }]),
    ),
  });
}

export function toolSettings(config: Config, vision: boolean): ToolSettings {
  const { bash_timeout_seconds, min_free_disk_mb, shell, ensure_trailing_newline, writes } = config.tools;
  return {
    bashTimeoutSeconds: bash_timeout_seconds,
    minFreeDiskMb: min_free_disk_mb,
    shell: { prefer: shell.prefer, ...(shell.path === undefined ? {} : { path: shell.path }) },
    ensureTrailingNewline: ensure_trailing_newline,
    writes,
    vision,
  };
}

export function limitsOf(config: Config): Limits {
  const { max_steps, time_limit_seconds, max_cost } = config.agent;
  return {
    ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
    ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
    ...(max_cost > 0 ? { cost: max_cost } : {}),
  };
}

export function systemText(config: Config, instructions: Instructions, skills?: string): string {
  const { system_prompt, system_prompt_file, reasoning_language } = config.agent;
  const custom = system_prompt_file === "" ? system_prompt : readPrompt(system_prompt_file);
  return systemPrompt({
    instructions: instructions.files,
    reasoningLanguage: reasoning_language,
    ...(custom === "" ? {} : { custom }),
    ...(skills === undefined ? {} : { skills }),
  });
}

function readPrompt(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    throw new ReasonixError(`Cannot read the system prompt file ${file}: ${errorMessage(error)}`, {
      exit: "config",
      remedy: "correct agent.system_prompt_file",
    });
  }
}
