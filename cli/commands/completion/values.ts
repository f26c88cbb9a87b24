import {
  listServers,
  listSettings,
  loadConfig,
  type LoadedConfig,
  modelReferences,
  PRESETS,
} from "../../../src/config/mod.ts";
import { findSkillSet, loadServerWork } from "../../../src/assembly/mod.ts";
import { allCommands } from "../../../src/command/mod.ts";
import { listSessions, projectDir } from "../../../src/session/mod.ts";
import { processContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

/** Values of this machine for shell completion. A broken configuration proposes nothing. */
export function modelNames(): Promise<readonly string[]> {
  return fromConfig(({ config }) => modelReferences(config));
}

export function configKeys(): Promise<readonly string[]> {
  return fromConfig((loaded) => listSettings(loaded).map((setting) => setting.key));
}

/** Names of MCP servers that some file describes. */
export function serverNames(): Promise<readonly string[]> {
  return fromConfig((loaded) => [...new Set(listServers(loaded).map(({ name }) => name))]);
}

/** Tools that a server offered last; it is not started. */
export function toolNames(server: string): Promise<readonly string[]> {
  return fromConfig(async (loaded) => {
    const { withServers } = await loadServerWork();
    return await withServers(
      { paths: runPaths(processContext()), loaded },
      (servers) =>
        Promise.resolve(
          servers.offers().filter((tool) => tool.server === server).map(({ info }) => info.name),
        ),
    );
  });
}

/** Names that a task can begin with: commands of the program and skills. */
export function slashNames(): Promise<readonly Named[]> {
  return fromConfig(async (loaded) => {
    const { skills } = await findSkillSet(runPaths(processContext()), loaded);
    return [
      ...(await allCommands({ headless: true })).map(({ name, brief }) => ({ word: `/${name}`, brief })),
      ...skills.filter(({ slash }) => slash).map(({ name, description }) => ({
        word: `/${name}`,
        brief: description,
      })),
    ];
  });
}

/** A word with what it means. */
interface Named {
  readonly word: string;
  readonly brief: string;
}

/** Entries of the directory that a reference has come to, as references; directories end with a slash. */
export function references(typed: string): readonly { readonly word: string }[] {
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  const { cwd } = runPaths(processContext());
  try {
    const entries = [...Deno.readDirSync(folder.startsWith("/") ? folder : `${cwd}/${folder}`)];
    return entries.filter(({ name }) => !name.startsWith(".") || typed.slice(folder.length).startsWith("."))
      .map(({ name, isDirectory }) => ({ word: `@${folder}${name}${isDirectory ? "/" : ""}` }))
      .sort((a, b) => a.word < b.word ? -1 : 1);
  } catch {
    return [];
  }
}

async function fromConfig<T>(
  read: (loaded: LoadedConfig) => readonly T[] | Promise<readonly T[]>,
): Promise<readonly T[]> {
  try {
    const { cwd, home, env } = runPaths(processContext());
    return await read(await loadConfig({ cwd, home, env }));
  } catch {
    return [];
  }
}

export function presetNames(): readonly string[] {
  return PRESETS.map((preset) => preset.name);
}

export function sessionIds(): readonly string[] {
  const { cwd, home } = runPaths(processContext());
  return listSessions(projectDir(home, cwd), { limit: 50 }).map((session) => session.id);
}
