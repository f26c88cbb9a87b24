import type { RuleSet } from "../rule/mod.ts";

interface GrantChange {
  readonly granted: boolean;
  readonly rule: string;
  readonly origin: string;
}

const SESSION = "granted for this session";

/**
 * The grants of a person while a session runs, for its gate and for those of the agents that work for it:
 * each takes over what changed before it judges a call.
 */
export class SessionGrants {
  /** Calls that were granted for the session as they are. */
  readonly exact = new Set<string>();
  /** Hosts that commands may reach until the session ends. */
  readonly hosts = new Set<string>();
  /** Names of MCP tools that only read, as the user said. */
  readonly trusted: Set<string>;
  readonly #rules = new Set<string>();
  readonly #changes: GrantChange[] = [];

  constructor(trusted: Set<string> = new Set()) {
    this.trusted = trusted;
  }

  get rules(): readonly string[] {
    return [...this.#rules];
  }

  allow(rule: string): void {
    if (this.#rules.has(rule)) return;
    this.#rules.add(rule);
    this.#changes.push({ granted: true, rule, origin: SESSION });
  }

  revoke(rule: string): void {
    if (this.#rules.delete(rule)) this.#changes.push({ granted: false, rule, origin: SESSION });
  }

  /** A rule was saved, which counts from now on as it will in the next session. */
  saved(rule: string): void {
    this.#changes.push({ granted: true, rule, origin: "saved by the user" });
  }

  /** Brings rules up to date that know the first `from` changes; returns how many they know then. */
  apply(rules: RuleSet, from: number): number {
    for (const { granted, rule, origin } of this.#changes.slice(from)) {
      if (granted) rules.grant(rule, origin);
      else rules.revoke(rule, origin);
    }
    return this.#changes.length;
  }
}
