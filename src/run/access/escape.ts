import { type PreparedCall, subjectOf } from "../../core/mod.ts";
import type { PermissionGate } from "../../permission/mod.ts";
import type { Jail } from "../../sandbox/mod.ts";
import type { FailedCommand, SpawnPlan } from "../../tool/mod.ts";

export interface EscapeParts {
  readonly jail: Jail;
  readonly call: PreparedCall;
  readonly ask: PermissionGate["confirm"];
}

/**
 * Offers a person one run without the jail where that seems to be why a command failed. That it seems so is a
 * guess from the command's output, which the command may have forged: the answer alone decides.
 */
export async function offerEscape(
  { jail, call, ask }: EscapeParts,
  { argv, exitCode, output }: FailedCommand,
  signal: AbortSignal,
): Promise<SpawnPlan | string | undefined> {
  const denial = jail.denialOf({ exitCode, output });
  if (denial === undefined || denial.kind === "setup") return undefined;
  const question = {
    subject: subjectOf(call),
    reason:
      `seems to have been stopped by the jail (${JSON.stringify(denial.evidence)}) and would run once ` +
      "more from its beginning, not confined at all",
    source: "confinement",
    escape: { evidence: denial.evidence },
  } as const;
  const { decision, reason } = await ask(call, question, signal);
  if (decision === "allow") return jail.unconfined(argv);
  return (reason ?? "the user declined to run it without the jail").replace(/^blocked: /, "");
}
