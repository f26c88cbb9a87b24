/** Entries of the plugins that come with the program: listed, added with their settings, and removed. */
import {
  argument,
  type CommandGroup,
  entry,
  flag,
  type FlagsOf,
  JSON_FLAG,
  option,
  options,
} from "../../command.ts";
import { type BundleRow, bundleRows } from "./bundles.ts";
import { changedLines, writeChange } from "../../file_change.ts";
import { languageOf, textsFor } from "../../terminal/language.ts";
import { forReader } from "../../terminal/narrow.ts";
import { canAsk, openConfig } from "../../terminal/open.ts";
import { type CliContext, runPaths } from "../../terminal/process.ts";
import {
  listServers,
  loadConfig,
  type LoadedConfig,
  loadServerEdits,
  lookUpSecret,
  projectConfigFile,
  userConfigFile,
} from "../../../src/config/mod.ts";
import { loadRoughTokens } from "../../../src/context/mod.ts";
import { formatLocation, message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import { loadPluginStart, loadServerWork } from "../../../src/features/mod.ts";
import { loadTranslator, type Translator } from "../../../src/i18n/mod.ts";
import { pluginNameOf } from "../../../src/mcp/mod.ts";
import type { RunPaths } from "../../../src/run/mod.ts";
import { defined, isRecord, parseJson } from "../../../src/util/json.ts";
import { runProgram } from "../../../src/util/process.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import { type PluginInfo, PLUGINS } from "../../../plugins/plugins.ts";

const SCOPE = {
  project: flag("Use the file of this project"),
  user: flag("Use your own file (default)"),
};

const ADD_FLAGS = {
  set: options("Setting of the plugin, in place of a question", "key=value"),
  provider: options("Grant the plugin this entry of [[providers]]", "name"),
  preset: option("Preset that runs use; offline forbids web tools", "name", { complete: "presets" }),
  allowNetwork: flag("Add a plugin for the network although the preset is offline"),
  ...SCOPE,
};

const NAME = argument("Name of the plugin", "name", "plugins");

export const entryCommands: CommandGroup["commands"] = {
  list: entry("List the plugins: what they offer and may touch, their tools, whether they are set up", {
    description: "List the plugins that come with the program, and the installed bundles.",
    flags: { json: JSON_FLAG },
    async run({ json }) {
      const rows = await rowsOf(this);
      const bundles = await bundleRows(runPaths(this));
      const { stdout } = this.process;
      if (json) return stdout.json([...rows, ...bundles]);
      const translator = await loadTranslator(languageOf(this).locale);
      const texts = [
        ...rows.map((row) => rowText(row, translator)),
        ...bundles.map((row) => bundleText(row, translator)),
      ];
      stdout.write(forReader(terminalSafe(texts.join("\n"))));
    },
  }),
  add: entry("Set up a plugin: write its entry, and ask for the settings that it needs", {
    description: "Set up a plugin in your own configuration, or in that of this project.\n" +
      "  reasonix plugin add web --set search=brave\n" +
      "  reasonix plugin add rag --set indexes.docs.path=docs",
    flags: ADD_FLAGS,
    args: [NAME],
    run(flags, name) {
      return add(this, infoOf(name), flags);
    },
  }),
};

/** Removes the entry of a plugin; false where no file of the user or the project has one. */
export async function removeEntry(context: CliContext, name: string): Promise<boolean> {
  const info = PLUGINS.find((each) => each.name === name);
  const paths = runPaths(context);
  const { stdout } = context.process;
  const { removeServer } = await loadServerEdits();
  const found = info && entryOf(await loadConfig(paths), info);
  if (!found?.place) return false;
  const change = await removeServer(found.place.file, found.name);
  if (!change) return false;
  await writeChange(change, { shared: found.place.file === projectConfigFile(paths.cwd) });
  const { t } = await loadTranslator(languageOf(context).locale);
  stdout.write(forReader(`${t`Removed the plugin ${name} from ${change.path}`}\n`));
  stdout.exact(changedLines(context, change));
  return true;
}

function infoOf(name: string): PluginInfo {
  const info = PLUGINS.find((each) => each.name === name);
  if (info) return info;
  const names = PLUGINS.map((each) => each.name);
  const [near] = suggestNames(name, names, 1);
  throw usageError(
    message`There is no plugin ${JSON.stringify(name)}`,
    near ? message`did you mean ${near}?` : message`there are ${names.join(", ")}`,
  );
}

/** The entry that starts a plugin, also one of a project that needs trust, with its location. */
function entryOf(loaded: LoadedConfig, { name }: PluginInfo) {
  const used = loaded.config.plugins.find((each) => pluginNameOf(each) === name);
  const row = listServers(loaded).find((each) =>
    used ? each.name === used.name : each.name === name && each.state === "untrusted"
  );
  if (!row) return undefined;
  return { name: row.name, ...defined({ place: row.place }), isUntrusted: row.state === "untrusted" };
}

interface PluginRow {
  readonly name: string;
  readonly brief: string;
  readonly touches: string;
  readonly commands: readonly string[];
  readonly tools: readonly string[];
  /** Of all tools, as `reasonix context` counts them. */
  readonly tokens: number;
  /** The location of its entry; absent: it is not set up. */
  readonly entry?: string;
  /** Its entry waits for a trust decision. */
  readonly untrusted?: true;
  /** The reason of a failed start. */
  readonly problem?: string;
}

/** Plugins that are not known yet are started for their tools; those without an entry have no settings. */
async function rowsOf(context: CliContext): Promise<readonly PluginRow[]> {
  const own = (await openConfig(context)).loaded;
  const taken = own.config.plugins.map(({ name }) => name);
  const missing = PLUGINS.filter((info) => entryOf(own, info)?.isUntrusted !== false).map(({ name }) => ({
    name: taken.includes(name) ? `plugin-${name}` : name,
    command: "reasonix",
    args: ["plugin", name],
  }));
  const { paths, loaded } = await openConfig(context, { flags: { plugins: missing } });
  const plugins = loaded.config.plugins.filter((each) =>
    PLUGINS.some(({ name }) => name === pluginNameOf(each))
  )
    .map((each) => ({ ...each, enabled: true }));
  const [{ withServers }, { roughTokens }] = await Promise.all([loadServerWork(), loadRoughTokens()]);
  return await withServers({ paths, loaded, plugins }, async (servers) => {
    await servers.start(servers.unknown());
    const offers = servers.offers();
    return PLUGINS.map((info) => {
      const server = plugins.find((each) => pluginNameOf(each) === info.name)?.name;
      const tools = offers.filter((each) => each.server === server);
      const tokens = tools.map(({ name, info: { description, schema: parameters } }) =>
        PER_TOOL + roughTokens(JSON.stringify({ name, description, parameters }))
      );
      const { place, isUntrusted } = entryOf(own, info) ?? {};
      const status = servers.status.find((each) => each.name === server);
      return {
        name: info.name,
        brief: info.brief,
        touches: info.touches,
        commands: (info.commands ?? []).map(({ name, usage = "" }) => `${name} ${usage}`.trim()),
        tools: tools.map((each) => each.info.name),
        tokens: tokens.reduce((sum, each) => sum + each, 0),
        ...(place ? { entry: formatLocation(place) } : {}),
        ...(isUntrusted ? { untrusted: true } : {}),
        ...defined({ problem: status?.lastFailure }),
      };
    });
  });
}

/** Tokens around each tool, as in src/context/tokens.ts. */
const PER_TOOL = 8;

function rowText(row: PluginRow, translator: Translator): string {
  const { name, brief, touches, commands, tools, tokens, entry, untrusted, problem } = row;
  const { t } = translator;
  const place = entry === undefined ? t`not set up` : t`set up in ${entry}`;
  return [
    `${name}: ${phrase(translator, brief)}`,
    `  ${t`process: ${phrase(translator, touches)}`}`,
    `  ${tools.length > 0 ? t`tools: ${tools} (${tokens} tokens)` : t`no tools`}`,
    ...(commands.length > 0 ? [`  ${t`commands: ${commands}`}`] : []),
    `  ${untrusted ? t`${place}; needs \`reasonix trust\`` : place}`,
    ...(problem === undefined ? [] : [`  ${t`it has not started: ${problem}`}`]),
    "",
  ].join("\n");
}

function bundleText(row: BundleRow, { t }: Translator): string {
  const { name, brief, version, source, ref, commit, problem } = row;
  const origin = [version, source, ref, commit && `commit ${commit}`].filter(Boolean).join(" ");
  const facts = [
    [row.commands, t`commands: ${row.commands}`],
    [row.agents, t`agents: ${row.agents}`],
    [row.skills, t`skills: ${row.skills}`],
    [row.hooks, t`hooks: ${row.hooks}`],
    [row.servers, t`servers: ${row.servers}`],
  ] as const;
  return [
    brief === "" ? name : `${name}: ${brief}`,
    `  ${t`bundle: ${origin}`}`,
    ...facts.flatMap(([names, text]) => names.length === 0 ? [] : [`  ${text}`]),
    ...(problem === undefined ? [] : [`  ${problem}`]),
    "",
  ].join("\n");
}

/** A text of the list of plugins, which is data. */
function phrase(translator: Translator, english: string): string {
  return translator.text({ text: english, template: english, values: [] });
}

type AddFlags = FlagsOf<typeof ADD_FLAGS>;

async function add(context: CliContext, info: PluginInfo, flags: AddFlags): Promise<void> {
  const { name } = info;
  const paths = runPaths(context);
  const { project = false } = flags;
  if (project && flags.user) {
    throw usageError(message`Cannot add the plugin ${name}: --project and --user exclude each other`);
  }
  const loaded = await loadConfig({ ...paths, ...defined({ preset: flags.preset }) });
  const known = entryOf(loaded, info) ?? listServers(loaded).find((row) => row.name === name);
  if (known) {
    const where = known.place ? formatLocation(known.place) : name;
    throw usageError(
      message`Cannot add the plugin ${name}: there is an entry for it (${where})`,
      message`change it there, or: reasonix plugin remove ${known.name}`,
    );
  }
  const given = settingsOf(info, flags.set ?? []);
  const asked = await askedSettings(context, info, given, loaded);
  if (!asked) return;
  for (const [key, value] of asked) put(given, key, value);
  const [own] = project ? (info.userSettings ?? []).filter((key) => Object.hasOwn(given, key)) : [];
  if (own !== undefined) {
    throw usageError(
      message`Cannot add the plugin ${name} to this project: only your own file can set ${own}`,
      message`leave --project out`,
    );
  }
  refuseOffline(info, given, { paths, loaded, flags });
  const file = project ? projectConfigFile(paths.cwd) : userConfigFile(paths);
  await tryStart(info, given, { paths, loaded });
  const { addEntry } = await loadServerEdits();
  const change = await addEntry(file, {
    name,
    command: "reasonix",
    args: ["plugin", name],
    ...(flags.provider ? { providers: [...flags.provider] } : {}),
    ...(Object.keys(given).length > 0 ? { settings: given } : {}),
  });
  await writeChange(change, { shared: project });
  const { stdout } = context.process;
  const { t } = await loadTranslator(languageOf(context, loaded).locale);
  const say = (line: string) => stdout.write(forReader(`${line}\n`));
  say(t`Added the plugin ${name} to ${file}`);
  stdout.exact(changedLines(context, change));
  for (const variable of info.permissions(factsFor(paths, info, given)).env ?? []) {
    if (!/_proxy$/i.test(variable) && lookUpSecret(variable, loaded.keys) === undefined) {
      say(t`${variable} is not set yet: export it, or put it into ${loaded.keys.file}`);
    }
  }
  say(project ? t`It starts after \`reasonix trust\`` : t`Try it: reasonix mcp test ${name}`);
}

type Settings = Record<string, unknown>;

/** Settings of `--set key=value`; a value is JSON, or else a text. */
function settingsOf({ name }: PluginInfo, pairs: readonly string[]): Settings {
  const settings: Settings = {};
  for (const pair of pairs) {
    const [, key = "", value = ""] = /^([^=]+)=([^]*)$/.exec(pair) ?? [];
    if (!/^[\w-]+(?:\.[\w-]+)*$/.test(key)) {
      throw usageError(
        message`Cannot use --set ${pair}: it is no setting of the plugin ${name}`,
        message`write --set key=value`,
      );
    }
    put(settings, key, parseJson(value) ?? value);
  }
  return settings;
}

function put(settings: Settings, key: string, value: unknown): void {
  const path = key.split(".");
  const last = path.pop() ?? "";
  let table = settings;
  for (const part of path) {
    const found = table[part];
    table = isRecord(found) ? found : (table[part] = {}) as Settings;
  }
  table[last] = value;
}

function valueOf(settings: Settings, key: string): unknown {
  return key.split(".").reduce<unknown>((at, part) => isRecord(at) ? at[part] : undefined, settings);
}

/**
 * Asks for what the list of plugins says and `--set` has not given; nothing without a terminal. Undefined
 * where the user gives up.
 */
async function askedSettings(
  context: CliContext,
  { questions = [] }: PluginInfo,
  given: Settings,
  loaded: LoadedConfig,
): Promise<ReadonlyMap<string, string> | undefined> {
  const answers: Record<string, string> = {};
  const asked = new Map<string, string>();
  if (!canAsk()) return asked;
  const [setup, translator] = await Promise.all([
    textsFor("setup", context, loaded),
    loadTranslator(languageOf(context, loaded).locale),
  ]);
  const [{ terminalPrompts }, { Cancelled }] = await Promise.all([
    import("../../setup/terminal_prompts.ts"),
    import("../../setup/target.ts"),
  ]);
  const prompts = terminalPrompts(setup);
  try {
    for (const { key, text: english, choices, proposed, when } of questions) {
      const text = phrase(translator, english);
      const set = valueOf(given, key);
      if (set !== undefined) answers[key] = String(set);
      if (set !== undefined || when?.(answers) === false) continue;
      const proposal = proposed?.(answers);
      const answer = choices
        ? await prompts.pick(text, choices.map((value) => ({ value, label: value })))
        : await prompts.write({ message: text, ...(proposal === undefined ? {} : { proposed: proposal }) });
      if (answer === "" || answer === "none") continue;
      answers[key] = answer;
      asked.set(key, answer);
    }
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    prompts.cancelled(setup.nothingWritten);
    return undefined;
  }
  return asked;
}

function factsFor({ cwd, home }: RunPaths, { name }: PluginInfo, settings: Settings) {
  return { workspace: cwd, state: `${home}/plugins/${name}`, home, settings, providerHosts: [] };
}

interface Addition {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
}

/** The preset for machines without network forbids web tools; who adds one says so. */
function refuseOffline(
  info: PluginInfo,
  settings: Settings,
  { paths, loaded, flags }: Addition & { readonly flags: AddFlags },
): void {
  const { net = [] } = info.permissions(factsFor(paths, info, settings));
  const preset = loaded.layers.find(({ source, table: { sandbox } }) =>
    source === "preset" && isRecord(sandbox) && sandbox.network === false
  );
  if (!preset || flags.allowNetwork || (net !== true && net.length === 0)) return;
  throw new ReasonixError(
    message`Cannot add the plugin ${info.name}: it reaches the network, and the offline preset forbids web tools`,
    { exit: "blocked", remedy: message`choose another preset, or add --allow-network` },
  );
}

/** Starts the plugin once: what it refuses of its settings is not written. */
async function tryStart(info: PluginInfo, settings: Settings, { paths, loaded }: Addition): Promise<void> {
  const { pluginStart } = await loadPluginStart();
  const { command, args, env } = await pluginStart({ paths, loaded }, info, { settings });
  const { code, errors } = await runProgram([command, ...args], { env });
  if (code === 0) return;
  throw usageError(errors.trim() || message`Cannot start the plugin ${info.name}: it ended with ${code}`);
}
