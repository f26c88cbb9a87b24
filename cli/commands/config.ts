import {
  argument,
  type CommandGroup,
  entry,
  flag,
  type FlagsOf,
  JSON_FLAG,
  option,
  optional,
} from "../command.ts";
import { IMPORT_WORDS } from "../import_flags.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadTrustedConfig } from "../../src/run/mod.ts";
import {
  cacheDirectory,
  formatProblem,
  getConfigValue,
  isUserOnly,
  listSettings,
  type LoadedConfig,
  mcpJsonFile,
  nonInteractive,
  originText,
  parseConfigValue,
  PRESETS,
  presetText,
  projectConfigFile,
  resolveModel,
  setConfigValue,
  type Setting,
  userConfigFile,
} from "../../src/config/mod.ts";
import { errorMessage, usageError } from "../../src/core/mod.ts";
import { type Row, rowsText } from "../../src/reports/mod.ts";
import { projectDir } from "../../src/session/mod.ts";

const SHOW_FLAGS = {
  json: JSON_FLAG,
  origin: flag("Show where each value comes from"),
  preset: option("Apply this preset", "name", { complete: "presets" }),
};

async function show(this: CliContext, flags: FlagsOf<typeof SHOW_FLAGS>): Promise<void> {
  const loaded = await load(this, flags.preset);
  const settings = listSettings(loaded);
  if (flags.json) {
    const rows = settings.map((row) => ({
      key: row.key,
      value: row.value,
      ...(flags.origin ? { origin: row.from } : {}),
    }));
    this.process.stdout.json(rows);
    return;
  }
  this.process.stdout.write(settings.map((row) => line(row, flags.origin ?? false)).join(""));
  this.process.stdout.write(modelLines(loaded));
}

/** The model of chats and of runs, and the setting that decides. */
function modelLines(loaded: LoadedConfig): string {
  const { default_model, agent_model } = loaded.config;
  const usual = default_model === "" ? "the first provider" : "default_model";
  const rows = [
    ["chat", nameOf(loaded), usual],
    ["run, SDKs", nameOf(nonInteractive(loaded)), agent_model === "" ? usual : "agent_model"],
  ];
  return rows.map(([use, model, from]) => `# model of ${use}: ${model} (${from}; --model goes before it)\n`)
    .join("");
}

function nameOf({ config }: LoadedConfig): string {
  try {
    const { entry, model } = resolveModel(config);
    return `${entry.name}/${model}`;
  } catch (error) {
    return errorMessage(error);
  }
}

function line({ key, value, from: origin }: Setting, withOrigin: boolean): string {
  const text = JSON.stringify(value);
  return withOrigin ? `${key} = ${text}  # ${originText(origin)}\n` : `${key} = ${text}\n`;
}

async function load(context: CliContext, preset?: string): Promise<LoadedConfig> {
  const { cwd, home, env } = runPaths(context);
  const loaded = await loadTrustedConfig({ cwd, home, env, ...(preset === undefined ? {} : { preset }) }, {
    ignoreUntrusted: true,
  });
  for (const warning of loaded.warnings) {
    context.process.stderr.write(`! ${formatProblem(warning)}\n`);
  }
  return loaded;
}

function path(this: CliContext): void {
  const paths = runPaths(this);
  const { cwd, home } = paths;
  const rows: Row[] = [
    ["project config", projectConfigFile(cwd)],
    ["user config", userConfigFile(paths)],
    ["project MCP", mcpJsonFile(cwd)],
    ["user MCP", mcpJsonFile(home)],
    ["keys", `${home}/.env`],
    ["home", home],
    ["sessions", `${projectDir(home, cwd)}/sessions`],
    ["cache", cacheDirectory(paths)],
  ];
  this.process.stdout.write(rowsText(rows));
}

async function get(this: CliContext, _flags: unknown, key: string): Promise<void> {
  const value = getConfigValue(await load(this), key);
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  this.process.stdout.write(`${text}\n`);
}

async function set(
  this: CliContext,
  flags: { readonly local?: boolean },
  key: string,
  text: string,
): Promise<void> {
  const paths = runPaths(this);
  const shared = flags.local ?? false;
  const file = shared ? projectConfigFile(paths.cwd) : userConfigFile(paths);
  if (shared && isUserOnly(key)) {
    throw usageError(`Cannot set ${key} in ${file}: only your own file can`, "leave --local out");
  }
  await setConfigValue(file, key, parseConfigValue(key, text), { shared });
  this.process.stdout.write(`${key} is set in ${file}\n`);
}

/** `reasonix config memory-v5`: the switch of earlier versions, in the user's own file. */
async function memoryV5(this: CliContext, _flags: unknown, mode = "status"): Promise<void> {
  const wanted = mode.toLowerCase();
  if (wanted !== "on" && wanted !== "off" && wanted !== "status") {
    throw usageError(
      `Cannot set memory-v5 to ${JSON.stringify(mode)}`,
      "write reasonix config memory-v5 off, on or status",
    );
  }
  if (wanted !== "status") {
    await setConfigValue(userConfigFile(runPaths(this)), "agent.memory_compiler.enabled", wanted === "on");
    this.process.stdout.write(`memory-v5 set to ${wanted}\n`);
    return;
  }
  const { config } = await load(this);
  this.process.stdout.write(`memory-v5: ${config.agent.memory_compiler.enabled ? "on" : "off"}\n`);
}

async function presets(this: CliContext, _flags: unknown, name?: string): Promise<void> {
  this.process.stdout.write(
    name === undefined
      ? rowsText(PRESETS.map(({ name, summary }) => [name, summary]))
      : await presetText(name),
  );
}

const KEY = argument("Key, such as agent.max_steps", "key", "settings");

export const configCommands: CommandGroup = {
  commands: {
    show: entry("Print the settings in force", { flags: SHOW_FLAGS, run: show }),
    path: entry("Print where the files are", { run: path }),
    get: entry("Print one value", { args: [KEY], run: get }),
    set: entry("Change one value, keeping comments", {
      flags: { local: flag("Write ./reasonix.toml instead of your user config") },
      args: [argument("Key", "key", "settings"), argument("TOML value", "value")],
      run: set,
    }),
    import: entry("Import settings of another agent", {
      ...IMPORT_WORDS,
      async run(flags, agent) {
        await (await import("../import_settings.ts")).importFrom(this, flags, agent);
      },
    }),
    "memory-v5": entry("Learn from commands that failed in earlier turns: off, on or status", {
      args: [optional(argument("off, on or status (default: status)", "mode"))],
      run: memoryV5,
    }),
    presets: entry("List presets, or print one", {
      args: [optional(argument("Preset to print", "name", "presets"))],
      run: presets,
    }),
  },
};
