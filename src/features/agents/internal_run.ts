import { resolveModel } from "../../config/mod.ts";
import type { AgentDefinition } from "../../context/mod.ts";
import type { Event } from "../../core/mod.ts";
import type { InternalRequest, InternalResult, RunContext } from "../../run/mod.ts";
import type { AgentRun } from "./agent_run.ts";
import type { ChildTask } from "./child_options.ts";

/** The agent and the options that a request stands for. Throws ReasonixError for an unknown model. */
export function internalTask(
  { options }: RunContext,
  { steps = 0, overrides = {} }: InternalRequest,
): Pick<ChildTask, "agent" | "readOnly" | "system" | "unattended" | "provider"> {
  const { model, provider, tools, temperature, system = "", readOnly = false } = overrides;
  if (model !== undefined) resolveModel(options.loaded.config, model);
  const agent: AgentDefinition = {
    name: "internal",
    description: "",
    prompt: "",
    readOnly,
    scope: "builtin",
    ...(steps === 0 ? { tools: [] } : { maxSteps: steps, ...(tools ? { tools } : {}) }),
    ...(model === undefined ? {} : { model }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  return { agent, readOnly, system, unattended: true, ...(provider ? { provider } : {}) };
}

/** What comes back of a run that has ended. */
export function internalResult(
  run: AgentRun,
  events: readonly Event[],
  { output = "final", capture }: InternalRequest,
): InternalResult {
  const { outcome, report } = run;
  const texts = events.flatMap((event) =>
    event.type === "message.end" && event.step > 0 && event.content !== "" ? [event.content] : []
  );
  const text = output === "none" ? "" : output === "full" ? texts.join("\n\n") : report.answer;
  return {
    text,
    outcome: outcome ?? {
      reason: report.state === "aborted" ? "interrupted" : "failed",
      detail: report.problem ?? report.state,
      answer: report.answer,
      steps: report.steps,
      usage: run.spending.usage,
      durationMs: report.durationMs,
    },
    ...(capture === "raw" ? { events } : {}),
  };
}
