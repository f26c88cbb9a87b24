import type { RunFlags } from "../../config.ts";

/** Flags that are about the batch, or that each task gets its own of. */
const OWN = new Set([
  "tasks",
  "jobs",
  "worktree",
  "results",
  "fresh",
  "dir",
  "model",
  "maxCost",
  "maxBudgetUsd",
  "outputFormat",
  "quiet",
  "noColor",
  "verbose",
  "showThinking",
]);

/** The flags of a batch as words for the run of each of its tasks. */
export function flagWords(flags: RunFlags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (OWN.has(name) || value === undefined) return [];
    const word = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (value === false) return [`--no-${word}`];
    const flag = `--${word}`;
    if (value === true) return [flag];
    return (Array.isArray(value) ? value : [value]).map((each) => `${flag}=${each}`);
  });
}
