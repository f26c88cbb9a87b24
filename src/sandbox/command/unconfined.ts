/**
 * A layer of defence that does not depend on the jail. Data: the notice at the start, `doctor` and the README
 * say the same.
 */
interface StandingLayer {
  readonly name: string;
  /** Its meaning, for `doctor`. */
  readonly meaning: string;
  /** Says whether it also stands in `--permission-mode danger-full-access`. */
  readonly fullAccess: boolean;
}

const STANDING: readonly StandingLayer[] = [
  {
    name: "deny rules",
    meaning: "what a deny rule names is refused, to tools and as far as a command line shows it",
    fullAccess: true,
  },
  {
    name: "the check for destructive commands",
    meaning: "destructive commands need a person's word each time, and are refused without a person",
    fullAccess: true,
  },
  {
    name: "ask rules and protected paths",
    meaning: "ask rules ask, and so does a change of files that other programs run or obey",
    fullAccess: false,
  },
  {
    name: "the workspace limit of file tools",
    meaning: "file tools write in the workspace, allow_write and --add-dir only",
    fullAccess: false,
  },
  {
    name: "forbid_read and the Reasonix home for file tools",
    meaning: "file tools read neither forbid_read nor key files, and change nothing in the Reasonix home",
    fullAccess: true,
  },
  {
    name: "the cleaned environment",
    meaning: "commands get no secrets of the environment",
    fullAccess: true,
  },
  {
    name: "trust",
    meaning: "what a project brings to be run does nothing until it is trusted",
    fullAccess: true,
  },
];

/** Returns what still stands without a jail, or in full access, one line each. */
export function standingLayers(fullAccess: boolean): string[] {
  return STANDING.filter((layer) => !fullAccess || layer.fullAccess).map(({ name, meaning }) =>
    `${name}: ${meaning}`
  );
}

/** One line about commands without a jail: why, and what still stands. */
export function describeUnconfined(why: string): string {
  return `Commands are not confined (${why}): they read, write and connect as you do; ${holding(false)}`;
}

/** The same for full access, in which file tools are not confined either. */
export function describeFullAccess(why: string): string {
  return `Commands run unconfined (${why}): they read, write and connect as you do, and file tools write outside ` +
    `the workspace too; ${holding(true)}`;
}

function holding(fullAccess: boolean): string {
  const names = STANDING.filter((layer) => !fullAccess || layer.fullAccess).map(({ name }) => name);
  return `still in force: ${names.join(", ")}`;
}
