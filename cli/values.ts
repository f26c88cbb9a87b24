import { loadConfig, modelReferences, PRESETS } from "../src/config/mod.ts";
import { listSessions, projectDir } from "../src/session/mod.ts";
import { processContext } from "./context.ts";
import { workingPlace } from "./place.ts";

/** Values of this machine for shell completion. A broken configuration proposes nothing. */
export async function modelNames(): Promise<readonly string[]> {
  try {
    const { cwd, home, env } = workingPlace(processContext());
    return modelReferences((await loadConfig({ cwd, home, env })).config);
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
