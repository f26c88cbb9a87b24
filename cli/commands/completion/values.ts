import {
  listSettings,
  loadConfig,
  type LoadedConfig,
  modelReferences,
  PRESETS,
} from "../../../src/config/mod.ts";
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

async function fromConfig(read: (loaded: LoadedConfig) => readonly string[]): Promise<readonly string[]> {
  try {
    const { cwd, home, env } = runPaths(processContext());
    return read(await loadConfig({ cwd, home, env }));
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
