import { listSettings, loadConfig, type LoadedConfig, modelReferences, PRESETS } from "../src/config/mod.ts";
import { listSessions, projectDir } from "../src/session/mod.ts";
import { processContext } from "./context.ts";
import { workingPlace } from "./place.ts";

/** Values of this machine for shell completion. A broken configuration proposes nothing. */
export function modelNames(): Promise<readonly string[]> {
  return fromConfig(({ config }) => modelReferences(config));
}

export function configKeys(): Promise<readonly string[]> {
  return fromConfig((loaded) => listSettings(loaded).map((setting) => setting.key));
}

async function fromConfig(read: (loaded: LoadedConfig) => readonly string[]): Promise<readonly string[]> {
  try {
    const { cwd, home, env } = workingPlace(processContext());
    return read(await loadConfig({ cwd, home, env }));
  } catch {
    return [];
  }
}

export function presetNames(): readonly string[] {
  return PRESETS.map((preset) => preset.name);
}

export function sessionIds(): readonly string[] {
  const { cwd, home } = workingPlace(processContext());
  return listSessions(projectDir(home, cwd), { limit: 50 }).map((session) => session.id);
}
