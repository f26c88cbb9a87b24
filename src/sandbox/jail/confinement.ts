import type { AlwaysOnProtection, Confinement } from "../../core/mod.ts";
import { realPath } from "../../path/real_path.ts";
import type { JailScope } from "./backend.ts";
import { HOME_SECRETS } from "../files/workspace.ts";

/**
 * A layer of defense that does not depend on the jail; the notice at the start, `doctor` and the README use
 * it.
 */
interface Layer {
  readonly id: AlwaysOnProtection;
  readonly name: string;
  readonly meaning: string;
  /** It also applies with `--permission-mode danger-full-access`. */
  readonly fullAccess: boolean;
}

const ALWAYS_ON: readonly Layer[] = [
  {
    id: "denyRules",
    name: "deny rules",
    meaning: "what a deny rule names is refused, to tools and as far as a command line shows it",
    fullAccess: true,
  },
  {
    id: "destructive",
    name: "the check for destructive commands",
    meaning: "destructive commands need a person's word each time, and are refused without a person",
    fullAccess: true,
  },
  {
    id: "askRules",
    name: "ask rules and protected paths",
    meaning: "ask rules ask, and so does a change of files that other programs run or obey",
    fullAccess: false,
  },
  {
    id: "workspace",
    name: "the workspace limit of file tools",
    meaning: "file tools write in the workspace, allow_write and --add-dir only",
    fullAccess: false,
  },
  {
    id: "forbidRead",
    name: "forbid_read and the Reasonix home for file tools",
    meaning: "file tools read neither forbid_read nor key files, and change nothing in the Reasonix home",
    fullAccess: true,
  },
  {
    id: "environment",
    name: "the cleaned environment",
    meaning: "commands get no secrets of the environment",
    fullAccess: true,
  },
  {
    id: "trust",
    name: "trust",
    meaning: "what a project brings to be run does nothing until it is trusted",
    fullAccess: true,
  },
];

/** The protections without a jail, or in full access, with a line in English about each. */
export function alwaysOnProtections(
  fullAccess: boolean,
): { readonly id: AlwaysOnProtection; readonly text: string }[] {
  return standing(fullAccess).map(({ id, name, meaning }) => ({ id, text: `${name}: ${meaning}` }));
}

function standing(fullAccess: boolean): Layer[] {
  return ALWAYS_ON.filter((layer) => !fullAccess || layer.fullAccess);
}

/** Commands without a jail, and the reason. In full access file tools are not confined either. */
export function noConfinement(why: string, full = false): Confinement {
  return { why, standing: standing(full).map(({ id }) => id), ...(full ? { full } : {}) };
}

/** One line in English. */
export function describeConfinement(facts: Confinement): string {
  if (facts.backend !== undefined) return describeJail(facts);
  const { why = "", full = false } = facts;
  const holding = `still in force: ${standing(full).map(({ name }) => name).join(", ")}`;
  return full
    ? `Commands run unconfined (${why}): they read, write and connect as you do, and file tools write outside ` +
      `the workspace too; ${holding}`
    : `Commands are not confined (${why}): they read, write and connect as you do; ${holding}`;
}

interface JailView {
  readonly backend: string;
  readonly scope: JailScope;
  readonly project?: string | undefined;
  readonly privateTmp: boolean;
  /** Why the network cannot be confined; absent where it can. */
  readonly openNetwork?: string | undefined;
}

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

/** The key files of the Reasonix home are always hidden, so they are not counted. */
function forbiddenPaths({ forbidRead = [], home }: JailScope): number {
  const keys = HOME_SECRETS.map((name) => realPath(`${home}/${name}`));
  return forbidRead.filter((path) => !keys.includes(path)).length;
}

const NETWORK = {
  none: "no network",
  filtered: "network only to the hosts of [sandbox] network_hosts",
  open: "network open",
} as const;

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
