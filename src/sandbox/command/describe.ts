import type { Confinement } from "../../core/mod.ts";
import { realPath } from "../../path/real_path.ts";
import { HOME_SECRETS } from "../guarded.ts";
import type { JailScope } from "./plan.ts";

/** What the line about a jail is made of. */
export interface JailView {
  readonly backend: string;
  readonly scope: JailScope;
  /** The directory that the line calls "this project". */
  readonly project?: string | undefined;
  /** Commands have a `/tmp` of their own. */
  readonly privateTmp: boolean;
  /** Why the network cannot be confined; absent where it can. */
  readonly openNetwork?: string | undefined;
}

/** What is and what is not confined in a jail. */
export function jailConfinement({ backend, scope, project, privateTmp, openNetwork }: JailView): Confinement {
  const readOnly = scope.rootAccess === "read";
  const network = scope.network ?? "none";
  const forbidden = forbiddenPaths(scope);
  return {
    backend,
    ...(readOnly ? { readOnly } : {}),
    roots: readOnly ? [] : scope.roots.map((root) => root === project ? "" : root),
    privateTmp,
    network,
    ...(network === "open" || openNetwork === undefined ? {} : { openNetwork }),
    ...(forbidden === 0 ? {} : { forbidden }),
  };
}

/** The key files of the Reasonix home are always hidden, which nobody has to be told each time. */
function forbiddenPaths({ forbidRead = [], home }: JailScope): number {
  const keys = HOME_SECRETS.map((name) => realPath(`${home}/${name}`));
  return forbidRead.filter((path) => !keys.includes(path)).length;
}

const NETWORK = {
  none: "no network",
  filtered: "network only to the hosts of [sandbox] network_hosts",
  open: "network open",
} as const;

/** One line that says in English what is and what is not confined in a jail. */
export function describeJail(facts: Confinement): string {
  const { backend, readOnly, roots = [], privateTmp, network = "none", openNetwork } = facts;
  const { forbidden, ruled, capped } = facts;
  const tmp = privateTmp ? "a private /tmp" : "the temporary directories";
  const writes = `${roots.map((root) => `${root || "this project"}, `).join("")}${tmp} and package caches`;
  return [
    `Commands run in a jail (${backend}): ${
      readOnly ? "the workspace is read-only, they " : "they "
    }can write ${writes}`,
    openNetwork === undefined ? NETWORK[network] : `the network is NOT confined (${openNetwork})`,
    ...(forbidden ? [`${hidden(forbidden)} (forbid_read)`] : []),
    ...(ruled ? [`${hidden(ruled)} (Read rules)`] : []),
    ...(capped ? ["too much matches Read rules that deny: the rest stays visible to commands"] : []),
  ].join("; ");
}

function hidden(count: number): string {
  return `${count} ${count === 1 ? "path is" : "paths are"} hidden`;
}
