import type { Config } from "../src/config/mod.ts";
import type { PermissionMode } from "../src/permission/mod.ts";
import type { Workspace } from "../src/sandbox/mod.ts";

/** How far the commands and file tools of a run reach. */
export interface Reach {
  /** What rules count from, and what the destructive-command check protects everything outside of. */
  readonly rooted: Workspace;
  /** What file tools reach; the same, or more. */
  readonly workspace: Workspace;
  /** Commands run without a jail, and file tools write outside the workspace too. */
  readonly full: boolean;
  /** What the user should know about it. */
  readonly notice?: string;
}

const MODE = "--permission-mode danger-full-access";

/** Full access is only ever asked for on the command line; what a file sets more strictly stays in force. */
export function accessOf(
  { sandbox, tools }: Pick<Config, "sandbox" | "tools">,
  mode: PermissionMode | undefined,
): Pick<Reach, "full" | "notice"> {
  if (mode !== "danger-full-access") return { full: false };
  const stays = sandbox.bash === "enforce"
    ? '[sandbox] bash = "enforce"'
    : tools.writes !== "allow"
    ? `[tools] writes = "${tools.writes}"`
    : undefined;
  return stays === undefined
    ? {
      full: true,
      notice: `Commands run unconfined (${MODE}): they read, write and connect as you do, and file tools ` +
        "write outside the workspace too",
    }
    : {
      full: false,
      notice: `Commands and file tools stay confined in spite of ${MODE}, because of ${stays}`,
    };
}
