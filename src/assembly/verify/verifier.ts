import type { Stop } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { type NewEventOf, ReasonixError, type Sayings } from "../../core/mod.ts";
import type { JoinedRun } from "../joined_run.ts";
import type { Verification } from "../turns/turn_parts.ts";
import { filesFor, type VerifyCommand, type VerifyResult } from "./verify_command.ts";
import { VerifyRunner } from "./verify_round.ts";
import { verifyCommands, VerifyTrust } from "./verify_trust.ts";

/** Changed files that the model is told of. */
const NAMED = 20;

/** Tests what a turn changed, and tells the model what fails. */
export class Verifier implements Verification {
  readonly #workflow: Config["workflow"];
  readonly #recorder: Recorder;
  readonly #cwd: string;
  readonly #modes: JoinedRun["assembly"]["modes"];
  readonly #changed: () => Promise<readonly string[]>;
  readonly #trust: VerifyTrust;
  readonly #runner: VerifyRunner;
  #round = 0;

  constructor({ assembly, options, gate, tools: { runCommand } }: JoinedRun) {
    const { loaded: { config: { workflow, language } }, paths, modes, controller: { recorder } } = assembly;
    const { asker, trustProject, ignoreUntrusted } = options;
    this.#workflow = workflow;
    this.#recorder = recorder;
    this.#cwd = paths.cwd;
    this.#modes = modes;
    this.#changed = () => assembly.changedFiles();
    this.#trust = new VerifyTrust({ paths, language, asker, trustProject, ignoreUntrusted });
    const timeoutMs = workflow.test_timeout_ms;
    this.#runner = new VerifyRunner({ recorder, gate, modes, cwd: paths.cwd, timeoutMs, runCommand });
    recorder.subscribe(({ type }) => {
      if (type === "turn.start") this.#round = 0;
    });
  }

  /** A turn begins; what the project says is looked at where all of it is trusted unseen. */
  async begin(): Promise<void> {
    await this.#trust.remember();
  }

  /** Returns what goes back to the model, or how the turn ends; undefined: its answer stands. */
  async review(signal: AbortSignal): Promise<string | Stop | undefined> {
    try {
      const commands = await verifyCommands(this.#workflow, this.#cwd);
      if (commands.length === 0) return undefined;
      const changed = await this.#changed();
      const asked = commands.filter((command) => filesFor(command, changed).length > 0);
      if (asked.length === 0) return undefined;
      this.#round += 1;
      return await this.#judge(await this.#run(asked, { changed, narrow: true }, signal), changed);
    } catch (error) {
      // The loop says how a turn ends that was stopped.
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  /**
   * Runs every command there is, as the user asks for it. Throws a ReasonixError (usage) where there is none.
   */
  async byHand(signal: AbortSignal): Promise<readonly VerifyResult[]> {
    const commands = await verifyCommands(this.#workflow, this.#cwd);
    if (commands.length === 0) {
      throw new ReasonixError("There is nothing to verify with: no command is configured or was found", {
        exit: "usage",
        said: [["verifyNothing"], ["verifyConfigure"]],
        remedy: "set [workflow] verify_commands; see docs/verification.md",
      });
    }
    this.#round += 1;
    return await this.#run(commands, { changed: [], narrow: false }, signal);
  }

  async #run(
    commands: readonly VerifyCommand[],
    { changed, narrow }: { readonly changed: readonly string[]; readonly narrow: boolean },
    signal: AbortSignal,
  ): Promise<readonly VerifyResult[]> {
    const { trusted, skipped } = await this.#trust.sort(commands, changed, signal);
    const round = { round: this.#round, changed, narrow };
    const results: VerifyResult[] = [];
    for (const each of skipped) results.push(await this.#runner.skip(each, round));
    return [...results, ...await this.#runner.run(trusted, round, signal)];
  }

  async #judge(results: readonly VerifyResult[], changed: readonly string[]) {
    const failed = results.filter(({ outcome }) => outcome === "failed" || outcome === "timeout");
    const [first] = failed;
    if (first) return await this.#failed(first, failed, changed);
    const skipped = results.filter(({ outcome }) => outcome === "skipped");
    if (skipped.length > 0) {
      const why = skipped.map(({ text }) => text).join("; ");
      const reasons = skipped.flatMap(({ said }) => said ? [said] : []);
      await this.#tell("warning", `Not verified: ${why}`, [["notVerified"], ...reasons]);
      return undefined;
    }
    const names = results.map(({ line }) => line).join(", ");
    await this.#tell("info", `Verified: ${names}`, [["verified", names]]);
    return undefined;
  }

  async #failed(
    first: VerifyResult,
    failed: readonly VerifyResult[],
    changed: readonly string[],
  ): Promise<string | Stop | undefined> {
    const { max_rounds: most } = this.#workflow;
    const how = howEnded(first, this.#workflow.test_timeout_ms);
    if (this.#round <= most) {
      const [round, rounds] = [String(this.#round), String(most)];
      const text =
        `Verification ${round} of ${rounds}: \`${first.line}\` failed (${how}); the model is notified`;
      await this.#tell("info", text, [["verifyFailed", first.line, how, round, rounds]]);
      return this.#report(failed, changed);
    }
    const detail = `Not verified: \`${first.line}\` still fails (${how})`;
    const said: Sayings = [["verifyGaveUp", first.line, how]];
    // A goal goes on with what failed in its next turn.
    if (this.#modes.collaboration === "goal") {
      await this.#tell("warning", detail, said);
      return undefined;
    }
    return { reason: "failed", detail, said };
  }

  /** What the model is told. */
  #report(failed: readonly VerifyResult[], changed: readonly string[]): string {
    const more = changed.length > NAMED ? ` and ${changed.length - NAMED} more` : "";
    const parts = failed.map((result) =>
      `$ ${result.line}\n[${howEnded(result, this.#workflow.test_timeout_ms)}]\n${result.text}`
    );
    return [
      "<verification>",
      `These commands test the files of this turn (${changed.slice(0, NAMED).join(", ")}${more}) and failed:`,
      ...parts,
      "Mend what your changes broke, then answer again; the commands will run once more. Do not weaken " +
      "tests or commands to get them passed. If a failure has another cause, say so in your answer.",
      "</verification>",
    ].join("\n\n");
  }

  async #tell(level: NewEventOf<"notice">["level"], text: string, said: Sayings): Promise<void> {
    await this.#recorder.record({ type: "notice", level, code: "verification", text, said });
  }
}

function howEnded({ outcome, exitCode }: VerifyResult, timeoutMs: number): string {
  return outcome === "timeout" ? `no end after ${timeoutMs / 1000} s` : `exit code ${exitCode ?? "unknown"}`;
}
