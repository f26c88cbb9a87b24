import { message, usageError } from "../core/mod.ts";
import { suggestNames } from "../util/suggest.ts";

export interface Preset {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly default: string }>;
}

export const PRESETS: readonly Preset[] = [
  {
    name: "ra",
    summary: "One tool call per step, five tools, the oldest part dropped when the context is full",
    load: () => import("./presets/ra.toml", { with: { type: "text" } }),
  },
  {
    name: "offline",
    summary: "For machines without internet: every dangerous command asks, short tool names, todo lists",
    load: () => import("./presets/offline.toml", { with: { type: "text" } }),
  },
  {
    name: "memex",
    summary: "Non-interactive steps: file tools show what they would write",
    load: () => import("./presets/memex.toml", { with: { type: "text" } }),
  },
];

export async function presetText(name: string): Promise<string> {
  const preset = PRESETS.find((candidate) => candidate.name === name);
  if (preset) return (await preset.load()).default;
  const names = PRESETS.map((candidate) => candidate.name);
  const near = suggestNames(name, names, 1)[0];
  throw usageError(
    message`Unknown preset "${name}"`,
    near ? message`did you mean "${near}"?` : message`choose one of ${names.join(", ")}`,
  );
}
