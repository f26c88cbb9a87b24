import type { EventOf } from "./event.ts";

/**
 * Reasons as codes with the words that vary in them. Models and logs get an English text, which is next to
 * them; people get the one of their language.
 */

/** The effect of a destructive command; `deedText` makes a sentence of it. */
export type Deed = readonly [code: DeedCode, ...words: string[]];

export type DeedCode =
  | "deletes"
  | "deletesFound"
  | "deletesRemote"
  | "movesAway"
  | "changesBelow"
  | "rsyncRemoves"
  | "rsyncDeletesOn"
  | "rsyncDeletesIn"
  | "overwritesDevice"
  | "rewritesRemote"
  | "cleans"
  | "cleansAll"
  | "changesDisk"
  | "erasesDisk"
  | "overwritesDisk"
  | "erasesPool"
  | "stopsComputer"
  | "killsOfUser"
  | "killsEverything"
  | "killsOwn"
  | "forkBomb"
  | "hidden"
  | "unseen"
  | "unreadable"
  | "configured"
  | "strictProgram"
  | "strictOverwrite";

/** A directory or its contents. */
export type KnownLocation = "root" | "home" | "workspace" | "holdsHome" | "holdsWorkspace" | "outside";

/** The target of the effect. */
export type HitLocation = KnownLocation | `everything:${KnownLocation}` | "unknown" | "manyNames";

/** The kind of a protected path. */
export type ProtectedKind = "git" | "opened" | "project" | "start" | "agents" | "programs" | "own" | "holder";

/** The reason a call needs approval. `detail` is a finding about the command line in English. */
export type AskReason =
  | { readonly code: "noRule" }
  | { readonly code: "redirects" }
  | { readonly code: "unclear"; readonly detail: string }
  | { readonly code: "unreadable"; readonly detail: string }
  | { readonly code: "rule"; readonly rule: string; readonly origin?: string | undefined }
  | { readonly code: "mayBeRuled"; readonly rule: string; readonly detail: string }
  | { readonly code: "protected"; readonly what: ProtectedKind }
  | { readonly code: "alwaysAsk"; readonly detail: string }
  | { readonly code: "trust"; readonly tool: string; readonly inPlan: boolean };

/** The confinement of commands: what is and is not restricted. */
export type Confinement = NonNullable<EventOf<"notice">["confinement"]>;

/** A layer of defence that does not depend on the jail. */
export type AlwaysOnProtection = NonNullable<Confinement["standing"]>[number];
