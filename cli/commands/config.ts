import { argument, type CommandGroup, entry, flag, JSON_FLAG, option, optional } from "../command.ts";
import { IMPORT_WORDS } from "../import_flags.ts";
import { openConfig } from "../terminal/open.ts";
import { runPaths } from "../terminal/process.ts";
import {
  cacheDirectory,
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
  userConfigFile,
} from "../../src/config/mod.ts";
import { errorMessage, message, usageError } from "../../src/core/mod.ts";
import { rowsText } from "../../src/reports/mod.ts";
import { projectDir } from "../../src/session/mod.ts";

/** The model of chats and of runs, and the setting that decides. */
function modelLines(loaded: LoadedConfig): string {
  const { default_model, agent_model } = loaded.config;
  const usual = default_model === "" ? "the first provider" : "default_model";
  const rows = [
    ["chat", modelName(loaded), usual],
    ["run, SDKs", modelName(nonInteractive(loaded)), agent_model === "" ? usual : "agent_model"],
  ];
  return rows.map(([use, model, from]) => `# model of ${use}: ${model} (${from}; --model goes before it)\n`)
    .join("");
}

function modelName({ config }: LoadedConfig): string {
  try {
    const { entry, model } = resolveModel(config);
    return `${entry.name}/${model}`;
  } catch (error) {
    return errorMessage(error);
  }
}

export const configCommands: CommandGroup = {
  commands: {
    show: entry("Print the settings in force", {
      flags: {
        json: JSON_FLAG,
        origin: flag("Show where each value comes from"),
        preset: option("Apply this preset", "name", { complete: "presets" }),
      },
      async run({ json, origin: hasOrigin, preset }) {
        const { loaded } = await openConfig(this, { preset, warn: true });
        const settings = listSettings(loaded);
        const { stdout } = this.process;
        if (json) {
          const row = ({ key, value, from }: typeof settings[number]) =>
            hasOrigin ? { key, value, origin: from } : { key, value };
          return stdout.json(settings.map(row));
        }
        const lines = settings.map(({ key, value, from }) =>
          `${key} = ${JSON.stringify(value)}${hasOrigin ? `  # ${originText(from)}` : ""}\n`
        );
        stdout.write(lines.join("") + modelLines(loaded));
      },
    }),
    path: entry("Print where the files are", {
      run() {
        const paths = runPaths(this);
        const { cwd, home } = paths;
        this.process.stdout.write(rowsText([
          ["project config", projectConfigFile(cwd)],
          ["user config", userConfigFile(paths)],
          ["project MCP", mcpJsonFile(cwd)],
          ["user MCP", mcpJsonFile(home)],
          ["keys", `${home}/.env`],
          ["home", home],
          ["sessions", `${projectDir(home, cwd)}/sessions`],
          ["cache", cacheDirectory(paths)],
        ]));
      },
    }),
    get: entry("Print one value", {
      args: [argument("Key, such as agent.max_steps", "key", "settings")],
      async run(_flags, key) {
        const value = getConfigValue((await openConfig(this, { warn: true })).loaded, key);
        this.process.stdout.write(`${typeof value === "string" ? value : JSON.stringify(value ?? null)}\n`);
      },
    }),
    set: entry("Change one value, keeping comments", {
      flags: { local: flag("Write ./reasonix.toml instead of your user config") },
      args: [argument("Key", "key", "settings"), argument("TOML value", "value")],
      async run({ local: shared = false }, key, text) {
        const paths = runPaths(this);
        const file = shared ? projectConfigFile(paths.cwd) : userConfigFile(paths);
        if (shared && isUserOnly(key)) {
          throw usageError(
            message`Cannot set ${key} in ${file}: only your own file can`,
            message`leave --local out`,
          );
        }
        await setConfigValue(file, key, parseConfigValue(key, text), { shared });
        this.process.stdout.write(`${key} is set in ${file}\n`);
      },
    }),
    import: entry("Import settings of another agent", {
      ...IMPORT_WORDS,
      async run(flags, agent) {
        await (await import("../import_settings.ts")).importFrom(this, flags, agent);
      },
    }),
    // The switch of earlier versions, in the user's file.
    "memory-v5": entry("Learn from commands that failed in earlier turns: off, on or status", {
      args: [optional(argument("off, on or status (default: status)", "mode"))],
      async run(_flags, mode = "status") {
        const { stdout } = this.process;
        const wanted = mode.toLowerCase();
        if (wanted === "on" || wanted === "off") {
          const file = userConfigFile(runPaths(this));
          await setConfigValue(file, "agent.memory_compiler.enabled", wanted === "on");
          stdout.write(`memory-v5 set to ${wanted}\n`);
        } else if (wanted === "status") {
          const { agent } = (await openConfig(this, { warn: true })).loaded.config;
          stdout.write(`memory-v5: ${agent.memory_compiler.enabled ? "on" : "off"}\n`);
        } else {
          throw usageError(
            message`Cannot set memory-v5 to ${JSON.stringify(mode)}`,
            message`write reasonix config memory-v5 off, on or status`,
          );
        }
      },
    }),
    presets: entry("List presets, or print one", {
      args: [optional(argument("Preset to print", "name", "presets"))],
      async run(_flags, name?: string) {
        const all = PRESETS.map(({ name, summary }) => [name, summary] as const);
        this.process.stdout.write(name === undefined ? rowsText(all) : await presetText(name));
      },
    }),
  },
};
