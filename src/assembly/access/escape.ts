import { type PreparedCall, subjectOf } from "../../core/mod.ts";
import type { Confirmation, PermissionGate } from "../../permission/mod.ts";
import type { Jail } from "../../sandbox/mod.ts";
import type { CommandJail, FailedCommand, SpawnPlan } from "../../tool/mod.ts";

export interface EscapeParts {
  readonly jail: Jail;
  readonly call: PreparedCall;
  readonly ask: PermissionGate["confirm"];
  /** Hosts that the filter of the network refused to the command. */
  readonly refused: readonly string[];
  /** The same command with the network that the answer opened; undefined where it opened none. */
  readonly online: (argv: readonly string[], cwd: string) => Promise<SpawnPlan | undefined>;
}

/**
 * Offers a person one run with a network, or without the jail, where the jail seems to be why a command
 * failed. That it seems so is a guess from the command's output, which the command may have forged: the
 * answer alone decides.
 */
export async function offerEscape(
  { jail, call, ask, refused, online }: EscapeParts,
  { argv, cwd, exitCode, output }: FailedCommand,
  signal: AbortSignal,
): ReturnType<NonNullable<CommandJail["escape"]>> {
  const denial = refused.length > 0
    ? { kind: "network", evidence: `no connection to ${refused.join(", ")}`, host: undefined } as const
    : jail.denialOf({ exitCode, output });
  if (denial === undefined || denial.kind === "setup") return undefined;
  const { kind, evidence, host } = denial;
  const hosts = refused.length > 0 ? refused : host === undefined ? [] : [host];
  const question: Confirmation = {
    subject: subjectOf(call),
    reason: `seems to have been stopped by the sandbox (${JSON.stringify(evidence)}) and would run once ` +
      `more from its beginning, ${kind === "network" ? "with a network or " : ""}not confined at all`,
    source: "confinement",
    escape: { evidence, ...(kind === "network" ? { network: { hosts } } : {}) },
  };
  const { decision, reason } = await ask(call, question, signal);
  if (decision !== "allow") {
    return (reason ?? "the user declined to run it without the sandbox").replace(/^blocked: /, "");
  }
  const plan = await online(argv, cwd);
  return plan
    ? { plan, note: "the sandbox stopped this command; run again with a network, as the user allowed" }
    : {
      plan: jail.unconfined(argv),
      note: "the sandbox stopped this command; run again without it, as the user allowed",
    };
}
