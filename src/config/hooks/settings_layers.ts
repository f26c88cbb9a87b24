import { join } from "../../path/lexical.ts";
import { exists } from "../../path/probe.ts";
import type { Layer } from "../load/layer.ts";
import type { ConfigProblem } from "../problem.ts";

/** The hooks of all files `settings.json`, the weaker first. */
export interface SettingsLayers {
  readonly user: readonly Layer[];
  readonly project: readonly Layer[];
}

export const NO_SETTINGS: SettingsLayers = { user: [], project: [] };

interface SettingsContext {
  readonly home: string;
  readonly cwd: string;
  /** The files of Claude Code count, too. */
  readonly claude: boolean;
}

/** Reads the files that are there; a look at each place where none is. */
export async function settingsLayers(
  { home, cwd, claude }: SettingsContext,
  problems: ConfigProblem[],
): Promise<SettingsLayers> {
  const shared = { source: "project", shared: true } as const;
  const files = [
    { source: "user", file: join(home, "settings.json") } as const,
    ...(claude
      ? [".claude/settings.json", ".claude/settings.local.json"].map((name) => ({
        ...shared,
        file: join(cwd, name),
      }))
      : []),
    { source: "project", file: join(cwd, ".reasonix/settings.json") } as const,
  ].filter(({ file }) => exists(file));
  if (files.length === 0) return NO_SETTINGS;
  const { readSettingsHooks } = await import("./settings_hooks.ts");
  const layers: Layer[] = [];
  for (const file of files) {
    const layer = await readSettingsHooks(file, problems);
    if (layer) layers.push(layer);
  }
  return {
    user: layers.filter(({ source }) => source === "user"),
    project: layers.filter(({ source }) => source === "project"),
  };
}
