import type { PreparedCall } from "../core/mod.ts";

export type DecisionSource =
  | "rule"
  | "mode"
  | "user"
  | "headless"
  | "plan"
  | "floor"
  | "confinement"
  | "trust"
  | "hook";

/** A call that cannot succeed: what the model reads, and one line for people. */
export interface Failure {
  readonly content: string;
  readonly summary: string;
}

/** The outcome for one call. `reason` is what the model (and the user) is told about a refusal. */
export interface Decision {
  readonly decision: "allow" | "deny";
  readonly source: DecisionSource;
  readonly rule?: string;
  readonly reason?: string;
  /** A person was asked, and did not allow it. */
  readonly asked?: true;
  /** An allowed command was taken apart and changes nothing: every part of it only reads. */
  readonly readsOnly?: true;
  /** The call would fail, so it was not asked about and does not run. */
  readonly failure?: Failure;
  /** The run must end here (`--on-ask fail`): nobody can answer and going on was not wanted. */
  readonly stop?: true;
}

/**
 * What a hook says about a call. `allow` answers only what no rule speaks of; `ask` counts like an ask rule.
 */
export interface HookWord {
  readonly word: "allow" | "ask";
  /** For people. */
  readonly reason: string;
}

/**
 * Judges every call before it runs.
 *
 * Contract: returns synchronously when no parser has to be loaded and nobody has to be asked, so that plain
 * reads cost nothing.
 */
export interface Gate {
  check(call: PreparedCall, signal: AbortSignal, hook?: HookWord): Decision | Promise<Decision>;
}
