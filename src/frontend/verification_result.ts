import type { EventOf } from "../core/mod.ts";

/** The last time that the changes of a turn were tested. */
export interface VerificationResult {
  readonly state: "passed" | "failed" | "not_verified";
  /** Why it is not verified, or what fails. */
  readonly reason?: string;
  readonly commands: readonly Pick<
    EventOf<"verification">,
    "command" | "outcome" | "exitCode" | "text" | "durationMs"
  >[];
}

/** As machines read it. */
export function verificationFields({ commands, ...rest }: VerificationResult): Record<string, unknown> {
  return {
    ...rest,
    commands: commands.map(({ command, outcome, exitCode, durationMs }) => ({
      command,
      outcome,
      exit_code: exitCode ?? null,
      duration_ms: durationMs,
    })),
  };
}

/** The last round of the commands that test what a run changed. */
export class LastVerification {
  #commands: EventOf<"verification">[] = [];

  add(event: EventOf<"verification">): void {
    // Without files it belongs to a goal, whose result has its checks.
    if (!event.files) return;
    if (event.round !== this.#commands[0]?.round) this.#commands = [];
    this.#commands = [...this.#commands.filter(({ command }) => command !== event.command), event];
  }

  get result(): VerificationResult | undefined {
    const commands = this.#commands;
    const failed = commands.find(({ outcome }) => outcome === "failed" || outcome === "timeout");
    const skipped = commands.filter(({ outcome }) => outcome === "skipped");
    if (failed) {
      const { command, exitCode } = failed;
      const how = exitCode === undefined ? "no end in time" : `exit code ${exitCode}`;
      return { state: "failed", reason: `\`${command}\` failed (${how})`, commands };
    }
    if (skipped.length > 0) {
      return { state: "not_verified", reason: skipped.map(({ text = "" }) => text).join("; "), commands };
    }
    return commands.length > 0 ? { state: "passed", commands } : undefined;
  }
}

/** The answer with an honest word behind it where nothing says that what was changed works. */
export function honestAnswer(answer: string, verification: VerificationResult | undefined): string {
  if (!verification || verification.state === "passed") return answer;
  const gap = answer === "" ? "" : "\n\n";
  return `${answer.trimEnd()}${gap}Not verified: ${verification.reason ?? ""}`;
}
