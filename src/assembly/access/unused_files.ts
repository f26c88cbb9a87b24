import { exists } from "../../path/probe.ts";
import { projectDir } from "../../session/mod.ts";
import type { RunPaths } from "../run_paths.ts";

/** What projects bring for other agents and this version does not use. */
const UNUSED: readonly string[] = [
  ".mcp.json",
  ".claude/settings.json",
  ".claude/commands",
  ".claude/agents",
  ".claude/rules",
  ".claude/hooks",
  "CLAUDE.local.md",
];

/** Names such files of the project, once and again when there are others; undefined when nothing is new. */
export function unusedFilesNotice({ home, cwd }: RunPaths): string | undefined {
  const found = UNUSED.filter((name) => exists(`${cwd}/${name}`));
  if (found.length === 0) return undefined;
  const text =
    `This project brings ${found.join(", ")}, which this version does not use (permission rules in ` +
    "them are not in force; see reasonix docs not-yet)";
  const directory = projectDir(`${home}/cache`, cwd);
  const file = `${directory}/unused`;
  try {
    if (exists(file) && Deno.readTextFileSync(file) === text) return undefined;
    Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(file, text, { mode: 0o600 });
  } catch {
    // What cannot be remembered is said again.
  }
  return text;
}
