import { errorMessage, isAbort, type PreparedCall, textOf } from "../../core/mod.ts";
import { BUILTINS, type BuiltinTool, preparedCall } from "../../tool/mod.ts";
import type { Gate } from "../../permission/mod.ts";
import type { Modes } from "../access/gate.ts";
import type { SandboxSession } from "../access/sandbox_session.ts";
import type { SharedContext } from "./toolbox.ts";

/**
 * A command line that runs for the user outside of the conversation, such as a check of a goal: in the
 * jail, without secrets, in the working directory of the session wherever the model's shell is.
 */
export interface UserCommand {
  readonly line: string;
  /** Seconds after which it is ended; 0: no limit. */
  readonly timeoutSeconds: number;
}

export interface UserCommandResult {
  readonly outcome: "passed" | "failed" | "timeout";
  readonly exitCode?: number;
  /** The bounded output, with the reason of a failure. */
  readonly text: string;
  readonly durationMs: number;
}

/**
 * Contract: rejects only when the signal aborts, with nothing left running; what cannot be run has failed.
 */
export type UserCommandRunner = (command: UserCommand, signal: AbortSignal) => Promise<UserCommandResult>;

export interface UserCommandDeps {
  readonly context: SharedContext;
  readonly jail: Pick<SandboxSession, "current">;
}

function shellTool(): BuiltinTool {
  const shell = BUILTINS.find(({ name }) => name === "bash");
  if (!shell) throw new TypeError("Cannot run a command: there is no shell tool");
  return shell;
}

/** Returns the call of the shell tool that a command line is. */
function userCommandCall(line: string): PreparedCall {
  const args = { command: line };
  const id = `own-${crypto.randomUUID().slice(0, 8)}`;
  return preparedCall({ id, name: "bash", arguments: JSON.stringify(args) }, shellTool(), args);
}

/**
 * Returns why a command of the user may not run; undefined when it may. There is no prompt for it; the deny
 * rules still apply.
 */
export async function refusalOf(
  command: string,
  { gate, modes }: { readonly gate: Gate; readonly modes: Pick<Modes, "userCommand"> },
  signal: AbortSignal,
): Promise<string | undefined> {
  modes.userCommand = true;
  try {
    const decision = await gate.check(userCommandCall(command), signal);
    if (decision.decision === "allow") return undefined;
    return `blocked: ${textOf(decision.reason ?? "refused by the permission rules")}`;
  } finally {
    modes.userCommand = false;
  }
}

/** Runs the command with the shell tool, whose limits, guard and output it shares, and not its directory. */
export async function runUserCommand(
  { line, timeoutSeconds }: UserCommand,
  signal: AbortSignal,
  { context, jail }: UserCommandDeps,
): Promise<UserCommandResult> {
  const started = performance.now();
  const call = userCommandCall(line);
  const { services, settings } = context;
  const guard = services?.shell?.guard;
  try {
    const { wrap } = await jail.current(call);
    const result = await shellTool().execute(call.args, {
      ...context,
      callId: call.call.id,
      signal,
      progress() {},
      jail: { wrap },
      settings: { ...settings, bashTimeoutSeconds: timeoutSeconds },
      services: { ...(guard ? { shell: { guard } } : {}) },
    });
    const { content, exitCode, isError, summary } = result;
    return {
      outcome: textOf(summary) === "timed out" ? "timeout" : isError ? "failed" : "passed",
      ...(exitCode === undefined ? {} : { exitCode }),
      text: content,
      durationMs: Math.round(performance.now() - started),
    };
  } catch (error) {
    if (signal.aborted || isAbort(error)) throw error;
    const text = errorMessage(error);
    return { outcome: "failed", text, durationMs: Math.round(performance.now() - started) };
  }
}
