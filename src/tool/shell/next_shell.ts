import { isDirectory } from "../../path/probe.ts";
import type { CommandJail, ToolContext } from "../tool.ts";
import { findShell } from "./find_shell.ts";

/** What decides how the shell of the next command is started. */
export interface NextShellSources extends Pick<ToolContext, "cwd" | "settings" | "services"> {
  readonly jail: Pick<CommandJail, "ahead" | "confined">;
}

/**
 * Has the shell of the next command wait for it, in the jail of that moment and where the last command left
 * off. What cannot be prepared is left to the command, which says why it cannot run.
 */
export function prepareShell({ cwd, settings, services, jail }: NextShellSources, inMs?: number): void {
  const { shell: memory } = services ?? {};
  const { waiting } = findShell(settings.shell, searchPath());
  if (!memory?.spare || !waiting) return;
  memory.spare.prepare(() => {
    const folder = memory.cwd !== undefined && isDirectory(memory.cwd) ? memory.cwd : cwd;
    const plan = jail.ahead?.({ cwd: folder })(waiting(jail.confined === true));
    return plan && { plan, cwd: folder, guard: memory.guard };
  }, inMs);
}

export function searchPath(): string {
  return Deno.env.get("PATH") ?? "";
}
