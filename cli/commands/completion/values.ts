import type { Proposal, ValueKind } from "../../command.ts";
import { SCRIPTS } from "./completion.ts";
import { processContext, runPaths } from "../../terminal/process.ts";
import { loadServerWork } from "../../../src/features/mod.ts";
import { findSkillSet } from "../../../src/run/mod.ts";
import { allCommands } from "../../../src/command/mod.ts";
import {
  listServers,
  listSettings,
  loadConfig,
  type LoadedConfig,
  modelReferences,
  PRESETS,
} from "../../../src/config/mod.ts";
import { listSessions, projectDir } from "../../../src/session/mod.ts";
import { sortedEntries } from "../../../src/path/probe.ts";

interface Typed {
  readonly current: string;
  readonly before: readonly string[];
}

/** Values of this machine for shell completion. A broken configuration proposes nothing. */
export const VALUES: Readonly<Record<ValueKind, (typed: Typed) => Promise<readonly Proposal[]>>> = {
  bundles: () => fromConfig(({ config }) => words(Object.keys(config.bundles))),
  models: () => fromConfig(({ config }) => words(modelReferences(config))),
  plugins,
  pluginCommands: async ({ before: [_group, name, ...more] }) => {
    const { PLUGINS } = await import("../../../plugins/plugins.ts");
    const commands = PLUGINS.find((each) => each.name === name)?.commands ?? [];
    return more.some((word) => word !== "--")
      ? []
      : commands.map(({ name, brief }) => ({ word: name, brief }));
  },
  removable: async (typed) => [...await VALUES.bundles(typed), ...await plugins()],
  presets: () => Promise.resolve(words(PRESETS.map(({ name }) => name))),
  settings: () => fromConfig((loaded) => words(listSettings(loaded).map(({ key }) => key))),
  servers: () => fromConfig(serverNames),
  // The server, then one of its tools.
  serverTools: ({ before: [_group, _command, server, ...more] }) =>
    more.length > 0
      ? Promise.resolve([])
      : fromConfig((loaded) => server === undefined ? serverNames(loaded) : toolNames(server, loaded)),
  shells: () => Promise.resolve(words(Object.keys(SCRIPTS))),
  sessions() {
    const { cwd, home } = runPaths(processContext());
    return Promise.resolve(words(listSessions(projectDir(home, cwd), { limit: 50 }).map(({ id }) => id)));
  },
  async task({ current }) {
    if (current.startsWith("@")) return references(current.slice(1));
    // With a second slash it is a path.
    return current.startsWith("/") && !current.includes("/", 1) ? await fromConfig(slashNames) : [];
  },
};

async function plugins(): Promise<readonly Proposal[]> {
  const { PLUGINS } = await import("../../../plugins/plugins.ts");
  return PLUGINS.map(({ name, brief }) => ({ word: name, brief }));
}

function words(values: readonly string[]): readonly Proposal[] {
  return values.map((word) => ({ word }));
}

function serverNames(loaded: LoadedConfig): readonly Proposal[] {
  return words([...new Set(listServers(loaded).map(({ name }) => name))]);
}

/** Tools that a server offered last; it is not started. */
async function toolNames(server: string, loaded: LoadedConfig): Promise<readonly Proposal[]> {
  const { withServers } = await loadServerWork();
  return await withServers(
    { paths: runPaths(processContext()), loaded },
    (servers) =>
      Promise.resolve(
        words(servers.offers().filter((tool) => tool.server === server).map(({ info }) => info.name)),
      ),
  );
}

async function slashNames(loaded: LoadedConfig): Promise<readonly Proposal[]> {
  const { skills } = await findSkillSet(runPaths(processContext()), loaded);
  return [
    ...(await allCommands({ headless: true })).map(({ name, brief }) => ({ word: `/${name}`, brief })),
    ...skills.filter(({ slash }) => slash).map(({ name, description }) => ({
      word: `/${name}`,
      brief: description,
    })),
  ];
}

/** Entries of the directory that a reference has come to, as references; directories end with a slash. */
function references(typed: string): readonly Proposal[] {
  const directory = typed.slice(0, typed.lastIndexOf("/") + 1);
  const { cwd } = runPaths(processContext());
  return sortedEntries(directory.startsWith("/") ? directory : `${cwd}/${directory}`)
    .filter(({ name }) => !name.startsWith(".") || typed.slice(directory.length).startsWith("."))
    .map(({ name, isDirectory }) => ({ word: `@${directory}${name}${isDirectory ? "/" : ""}` }))
    .sort((a, b) => a.word < b.word ? -1 : 1);
}

async function fromConfig(
  read: (loaded: LoadedConfig) => readonly Proposal[] | Promise<readonly Proposal[]>,
): Promise<readonly Proposal[]> {
  try {
    const { cwd, home, env } = runPaths(processContext());
    return await read(await loadConfig({ cwd, home, env }));
  } catch {
    return [];
  }
}
