import {
  clausesOf,
  type EventOf,
  listOf,
  type LocalizedMessage,
  message,
  type Text,
} from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import { realPath } from "../../path/real_path.ts";
import type { JailScope } from "./backend.ts";
import { HOME_SECRETS } from "../files/workspace.ts";

/** The confinement of commands: what is and is not restricted. */
export type Confinement = NonNullable<EventOf<"notice">["confinement"]>;

/** A layer of defence that does not depend on the jail. */
interface Layer {
  readonly id: NonNullable<Confinement["standing"]>[number];
  readonly name: Text;
  /** Its meaning, for `doctor`. */
  readonly meaning: Text;
  /** It also applies with `--permission-mode danger-full-access`. */
  readonly fullAccess: boolean;
}

/** The notice at the start, `doctor` and the README name these layers. */
const ALWAYS_ON: readonly Layer[] = [
  {
    id: "denyRules",
    name: message`deny rules`,
    meaning: message`what a deny rule names is refused, to tools and as far as a command line shows it`,
    fullAccess: true,
  },
  {
    id: "destructive",
    name: message`the check for destructive commands`,
    meaning: message`destructive commands need a person's word each time, and are refused without a person`,
    fullAccess: true,
  },
  {
    id: "askRules",
    name: message`ask rules and protected paths`,
    meaning: message`ask rules ask, and so does a change of files that other programs run or obey`,
    fullAccess: false,
  },
  {
    id: "workspace",
    name: message`the workspace limit of file tools`,
    meaning: message`file tools write in the workspace, allow_write and --add-dir only`,
    fullAccess: false,
  },
  {
    id: "forbidRead",
    name: message`forbid_read and the Reasonix home for file tools`,
    meaning:
      message`file tools read neither forbid_read nor key files, and change nothing in the Reasonix home`,
    fullAccess: true,
  },
  {
    id: "environment",
    name: message`the cleaned environment`,
    meaning: message`commands get no secrets of the environment`,
    fullAccess: true,
  },
  {
    id: "trust",
    name: message`trust`,
    meaning: message`repository content that would execute does nothing until it is trusted`,
    fullAccess: true,
  },
];

/** Describes the layers that hold without a jail, or in full access. */
export function alwaysOnProtections(fullAccess: boolean): Text[] {
  return standing(fullAccess).map(({ name, meaning }) => message`${name}: ${meaning}`);
}

function standing(fullAccess: boolean): Layer[] {
  return ALWAYS_ON.filter((layer) => !fullAccess || layer.fullAccess);
}

/**
 * Commands without a jail: why, which container confines them, and which layers hold. In full access file
 * tools are not confined either.
 */
export function noConfinement(
  why: string,
  { full = false, container }: Pick<Confinement, "full" | "container"> = {},
): Confinement {
  const standings = standing(full).map(({ id }) => id);
  return { why, standing: standings, ...defined({ full: full || undefined, container }) };
}

/** Describes in one line what is and what is not confined around commands. */
export function describeConfinement(facts: Confinement): LocalizedMessage {
  if (facts.backend !== undefined) return describeJail(facts);
  const { why = "", full = false, container } = facts;
  return clausesOf([
    container !== undefined
      ? message`The container that the program runs in (${container}) confines commands, without a jail (${why}): they reach what its processes reach`
      : full
      ? message`Commands run unconfined (${why}): they read, write and connect as you do, and file tools write outside the workspace too`
      : message`Commands are not confined (${why}): they read, write and connect as you do`,
    message`still in force: ${standing(full).map(({ name }) => name)}`,
  ]);
}

/** The key files of the Reasonix home are always hidden, so they are not counted. */
export function forbiddenPaths({ forbidRead = [], home }: JailScope): number {
  const keys = HOME_SECRETS.map((name) => realPath(`${home}/${name}`));
  return forbidRead.filter((path) => !keys.includes(path)).length;
}

const NETWORK = {
  none: message`no network`,
  filtered: message`network only to the hosts of [sandbox] network_hosts`,
  open: message`network open`,
};

function describeJail(facts: Confinement): LocalizedMessage {
  const { backend = "", readOnly, roots = [], privateTmp, network = "none", openNetwork } = facts;
  const { forbidden, ruled, capped } = facts;
  const tmp = privateTmp ? message`a private /tmp` : message`the temporary directories`;
  const writable = listOf([...roots.map((root) => root || message`this project`), tmp]);
  return clausesOf([
    readOnly
      ? message`Commands run in a jail (${backend}): the workspace is read-only, they can write ${writable} and package caches`
      : message`Commands run in a jail (${backend}): they can write ${writable} and package caches`,
    openNetwork === undefined ? NETWORK[network] : message`the network is NOT confined (${openNetwork})`,
    ...(forbidden ? [hidden(forbidden, "forbid_read")] : []),
    ...(ruled ? [hidden(ruled, message`Read rules`)] : []),
    ...(capped ? [message`too much matches Read rules that deny: the rest stays visible to commands`] : []),
  ]);
}

function hidden(count: number, why: Text): Text {
  return count === 1 ? message`1 path is hidden (${why})` : message`${count} paths are hidden (${why})`;
}
