import { message } from "../../../core/mod.ts";
import type { AgentPort, AgentReport, AgentTask } from "../../services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { keepEnds, spillPath } from "../../truncation.ts";
import { saveFile } from "../../../util/atomic_write.ts";

/** The answer of an agent may be long: it replaces all that the agent has read. */
const CAPS = { maxBytes: 30_000 };
const MAX_WAIT_SECONDS = 300;

export function task(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return begin({ agent: "general", ...args }, context, false);
}

export function readOnlyTask(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return begin({ agent: "explore", ...args }, context, true);
}

async function begin(
  args: Record<string, unknown>,
  context: ToolContext,
  readOnly: boolean,
): Promise<ToolResult> {
  const { agent, prompt, description, background, isolation, resume } = args;
  const wanted: AgentTask = {
    agent: String(agent),
    prompt: String(prompt),
    readOnly,
    callId: context.callId,
    ...(typeof description === "string" ? { description } : {}),
    ...(background === true ? { background } : {}),
    ...(isolation === "worktree" ? { isolation } : {}),
    ...(typeof resume === "string" ? { resume } : {}),
  };
  return await withAgents(context, (port) => port.run(wanted, context.signal));
}

export async function taskOutput(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const seconds = typeof args.wait_seconds === "number" ? Math.min(args.wait_seconds, MAX_WAIT_SECONDS) : 0;
  return await withAgents(context, (port) => port.output(String(args.id), seconds * 1000, context.signal));
}

export async function taskStop(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return await withAgents(context, (port) => port.stop(String(args.id)));
}

async function withAgents(
  context: ToolContext,
  ask: (port: AgentPort) => Promise<AgentReport | string>,
): Promise<ToolResult> {
  const port = await context.services?.agents?.();
  if (!port) return failure("Cannot use another agent: there is none here", "do the work yourself");
  const report = await ask(port);
  if (typeof report === "string") return failure(report);
  return await resultOf(report, context);
}

async function resultOf(report: AgentReport, context: ToolContext): Promise<ToolResult> {
  const { agent, state, answer, notes, problem } = report;
  const facts = factsOf(report);
  const head = state === "error" || state === "aborted"
    ? [
      `error: the agent ${agent} did not finish: ${problem ?? state}`,
      ...(answer ? ["Its last words:"] : []),
    ]
    : [];
  const whole = [...head, ...(answer === "" ? [] : [answer])].join("\n");
  const { text, truncated } = await kept(whole, context);
  const lines = [text, ...notes, `[${facts}; resume continues it]`].filter((line) => line !== "");
  return {
    content: lines.join("\n"),
    summary: state === "running" ? message`runs as ${report.id}` : facts,
    ...(head.length > 0 ? { isError: true } : {}),
    ...(truncated ? { truncated } : {}),
  };
}

async function kept(text: string, context: ToolContext) {
  if (text.length * 3 <= CAPS.maxBytes) return keepEnds(text, CAPS);
  const fullText = spillPath(context);
  const cut = keepEnds(text, CAPS, { fullText });
  if (cut.truncated) await saveFile(fullText, text, { mode: 0o600 });
  return cut;
}

/** Such as "explore · 5 steps · 12.0 s · 0.0123 USD · id 20261122-101500-a1b2". */
function factsOf({ id, agent, state, steps, cost, durationMs }: AgentReport): string {
  const taken = steps === 1 ? "1 step" : `${steps} steps`;
  return [
    state === "running" ? `${agent} is still working` : agent,
    taken,
    `${(durationMs / 1000).toFixed(1)} s`,
    ...(cost ? [`${Number(cost.amount.toFixed(6))} ${cost.currency}`] : []),
    `id ${id}`,
  ].join(" · ");
}
