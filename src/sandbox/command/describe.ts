import { realPath } from "../../path/real_path.ts";
import { HOME_SECRETS } from "../guarded.ts";
import type { JailScope } from "./plan.ts";

const NETWORK = {
  none: "no network",
  filtered: "network only to the hosts of [sandbox] network_hosts",
  open: "network open",
} as const;

/** The facts that the line about a jail tells. */
export interface JailFacts {
  readonly backend: string;
  readonly scope: JailScope;
  /** The directory that the line calls "this project". */
  readonly project?: string | undefined;
  /** Commands have a `/tmp` of their own. */
  readonly privateTmp: boolean;
  /** Why the network cannot be confined; absent where it can. */
  readonly openNetwork?: string | undefined;
}

/** One line that says what is and what is not confined in a jail. */
export function describeJail({ backend, scope, project, privateTmp, openNetwork }: JailFacts): string {
  const reads = scope.rootAccess === "read";
  const roots = reads ? [] : scope.roots.map((root) => root === project ? "this project" : root);
  const tmp = privateTmp ? "a private /tmp" : "the temporary directories";
  const writes = `${roots.map((root) => `${root}, `).join("")}${tmp} and package caches`;
  const network = scope.network !== "open" && openNetwork !== undefined
    ? `the network is NOT confined (${openNetwork})`
    : NETWORK[scope.network];
  return [
    `Commands run in a jail (${backend}): ${
      reads ? "the workspace is read-only, they " : "they "
    }can write ${writes}`,
    network,
    ...hiddenPaths(scope),
  ].join("; ");
}

/** The key files of the Reasonix home are always hidden, which nobody has to be told each time. */
function hiddenPaths({ forbidRead = [], home }: JailScope): string[] {
  const keys = HOME_SECRETS.map((name) => realPath(`${home}/${name}`));
  const count = forbidRead.filter((path) => !keys.includes(path)).length;
  if (count === 0) return [];
  return [`${count} ${count === 1 ? "path is" : "paths are"} hidden (forbid_read)`];
}
