import { NO_USAGE, type ToolCall } from "../core/mod.ts";
import { runCall } from "./dispatch.ts";
import { stopped, type TurnOutcome } from "./outcome.ts";
import type { AgentDeps } from "./ports.ts";

/** The tool that runs command lines. */
const SHELL_TOOL = "bash";

/**
 * Runs a command line that the user typed, as a turn without the model: judged, confined, bounded and undone
 * like a call of the model. What the model reads of it with the next turn is the line as a message of the
 * user, and command, exit code and output as a message in its own place.
 *
 * Contract: as `runTurn`.
 */
export async function runShellTurn(
  parts: AgentDeps,
  command: string,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { conversation, provider, checkpointer } = parts;
  const now = parts.now ?? performance.now.bind(performance);
  const started = now();
  const turn = conversation.nextTurn;
  const call: ToolCall = { id: `shell-${turn}`, name: SHELL_TOOL, arguments: JSON.stringify({ command }) };
  checkpointer?.begin(turn);
  await conversation.record({ type: "turn.start", turn });
  await conversation.record({ type: "message.user", content: `!${command}`, origin: "user" });
  const end = await runCall(parts, call, signal);
  await conversation.record(end);
  const durationMs = Math.max(0, Math.round(now() - started - conversation.waitedForPerson(started)));
  const content = report(command, end);
  await conversation.record({ type: "message.end", step: 0, model: provider.model.id, content, durationMs });
  const outcome: TurnOutcome = {
    ...(signal.aborted ? stopped(signal) : { reason: "done" }),
    answer: end.content,
    steps: 0,
    usage: NO_USAGE,
    durationMs,
  };
  await conversation.record({ type: "turn.end", turn, ...outcome });
  await Promise.all([conversation.sync(), checkpointer?.end()]);
  return outcome;
}

interface CommandEnd {
  readonly content: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
}

function report(command: string, { content, exitCode, signal }: CommandEnd): string {
  const end = exitCode === undefined ? "" : `Exit code: ${exitCode}${signal ? ` (${signal})` : ""}\n`;
  return `The user ran this command: ${command}\n${end}Output:\n${content}`;
}
