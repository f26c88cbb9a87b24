import { isDirectory } from "../../path/probe.ts";
import type { CommandJail, ToolContext } from "../tool.ts";
import { findShell } from "./find_shell.ts";

/** What decides how the shell of the next command is started. */
export interface NextShellSources extends Pick<ToolContext, "cwd" | "settings" | "services"> {
  readonly jail: CommandJail;
}

/**
 * Has the shell of the next command wait for it, in the jail of this moment and where the last command left
 * off. What cannot be prepared is left to the command, which says why it cannot run.
 */
export function prepareShell({ cwd, settings, services, jail }: NextShellSources): void {
  const { guard, spare, cwd: left } = services?.shell ?? {};
  try {
    const { waiting } = findShell(settings.shell, searchPath());
    if (!spare || !waiting || !jail.ahead) return;
    spare.prepare(() => {
      const folder = left !== undefined && isDirectory(left) ? left : cwd;
      const plan = jail.ahead?.({ cwd: folder })(waiting(jail.confined === true));
      return plan && { plan, cwd: folder, guard };
    });
  } catch {
    // No shell, or a jail that cannot be made just now.
  }
}

export function searchPath(): string {
  return Deno.env.get("PATH") ?? "";
}
