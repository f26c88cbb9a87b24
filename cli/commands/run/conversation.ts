import { assemble, type Assembly, redactorOf } from "../../../src/assembly/mod.ts";
import type { Output, Printer, RunResult } from "../../../src/frontend/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { requireProvider } from "../../terminal/require_provider.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { loadRunConfig, type RunFlags, runOptions } from "./config.ts";
import { ControlChannel } from "./control_channel.ts";
import { Metrics } from "./metrics.ts";
import { RemoteApprover } from "./remote_approver.ts";
import { redacted, reportResult, resultOf } from "./result.ts";

interface ConversationParts {
  readonly out: Output;
  readonly printer: Printer;
  readonly signal: AbortSignal;
  readonly secrets: { redact: (text: string) => string };
}

/**
 * `--input-format stream-json`: a turn for each line of the user, until the input ends. Every turn prints its
 * result. Returns the exit code of the last.
 */
export async function converse(
  context: CliContext,
  flags: RunFlags,
  { out, printer, signal, secrets }: ConversationParts,
): Promise<number> {
  const channel = new ControlChannel(out, ["compact", "context"]);
  void channel.read(Deno.stdin.readable);
  // The first message comes after `initialize`, which has a part of the settings.
  let text = await channel.next(signal);
  if (text === undefined) return 0;
  const given = withSettings(flags, channel.settings);
  const paths = runPaths(context, given.dir);
  const loaded = await loadRunConfig(paths, given);
  secrets.redact = redactorOf(loaded);
  await requireProvider(loaded, "en");
  const approver = given.permissionPromptTool === "stdio" ? new RemoteApprover(channel) : undefined;
  const asking = approver ? { approver, amended: approver.amended } : {};
  await using assembly = await assemble({ ...runOptions(given), ...asking, paths, loaded });
  let exitCode = 0;
  let metrics = new Metrics();
  assembly.controller.subscribe((event) => {
    if (event.type === "tool.start") approver?.began(event.call);
    metrics.event(event);
    return printer.event(event);
  });
  for (; text !== undefined; text = await channel.next(signal)) {
    metrics = new Metrics();
    const turn = new AbortController();
    channel.interrupt = () => turn.abort("interrupted");
    const stopped = AbortSignal.any([signal, turn.signal]);
    const result = redacted(
      await turnResult(text, { assembly, printer, metrics, signal: stopped }),
      assembly,
    );
    await printer.result(result);
    exitCode = turn.signal.aborted ? 0 : result.exitCode;
  }
  return exitCode;
}

interface TurnParts extends Pick<ConversationParts, "printer" | "signal"> {
  readonly assembly: Assembly;
  readonly metrics: Metrics;
}

async function turnResult(text: string, parts: TurnParts): Promise<RunResult> {
  const { assembly, printer, metrics, signal } = parts;
  await printer.begin?.(await assembly.open());
  const line = await assembly.read(text);
  if (line.kind === "command") return reportResult(await line.run(signal), assembly);
  const skill = line.skill === undefined ? {} : { skill: line.skill };
  return resultOf(await assembly.run({ text, ...skill }, signal), assembly, metrics);
}

/** The flags with what `initialize` brought: system prompts are not on the command line. */
function withSettings(
  flags: RunFlags,
  { systemPrompt, appendSystemPrompt }: Record<string, unknown>,
): RunFlags {
  const own = Array.isArray(systemPrompt) ? systemPrompt.join("\n\n") : systemPrompt;
  return {
    ...flags,
    ...(typeof own === "string" ? { systemPrompt: own } : {}),
    ...(typeof appendSystemPrompt === "string" ? { appendSystemPrompt } : {}),
  };
}
