import { SUBMIT_TOOL } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { EventSource, Recorder } from "../../control/mod.ts";
import type { Event, JsonSchema, ToolSchema } from "../../core/mod.ts";
import type { ToolMode } from "../../provider/mod.ts";
import { BUILTINS, type Tool, ToolRegistry } from "../../tool/mod.ts";
import { isRecord } from "../../util/json.ts";
import type { CollaborationMode } from "../access/gate.ts";
import type { AdaptedTools } from "../run_options.ts";

/** The tools that the model may call. */
export interface OfferedTools {
  /** Built-in tools offered on top of the usual ones unless the user named exactly which to offer. */
  readonly builtin: readonly string[];
  /** Tools that are not built in. */
  readonly own?: readonly Tool[];
  readonly toolMode?: ToolMode | undefined;
  readonly adapted?: AdaptedTools | undefined;
}

export function buildRegistry(
  config: Config,
  { builtin, own = [], toolMode, adapted }: OfferedTools,
): ToolRegistry {
  if (toolMode === "none") return new ToolRegistry([]);
  const { disabled, alias } = config.tools;
  const enabled = config.tools.enabled.length > 0 ? config.tools.enabled : ["*", ...builtin];
  const builtins = adapted ? BUILTINS.map((tool) => adapted[tool.name]?.(tool) ?? tool) : BUILTINS;
  return new ToolRegistry(builtins, config.agent.submit ? [SUBMIT_TOOL, ...own] : own, {
    enabled,
    disabled,
    alias: Object.fromEntries(
      Object.entries(alias).map(([name, { tool, arguments: args, parameters, description }]) => [
        name,
        { tool, args, parameters, description },
      ]),
    ),
  });
}

/**
 * Offers the tools of late use where a session that opens has a use for them, else once a job, a task in the
 * background, a plan or a goal begins.
 */
export function offerLateTools(
  { registry, recorder, extensions, modes: { collaboration } }: {
    readonly registry: ToolRegistry;
    readonly recorder: Recorder;
    readonly extensions: { add(extension: { readonly onEvent: EventSource }): void };
    readonly modes: { readonly collaboration: CollaborationMode };
  },
): void {
  const { prefix } = recorder.state;
  if (collaboration !== "normal" || prefix?.tools.some(({ name }) => registry.isLate(name))) {
    return registry.offerLate();
  }
  extensions.add({
    onEvent(event) {
      if (usesLateTools(event)) registry.offerLate();
      return undefined;
    },
  });
}

function usesLateTools(event: Event): boolean {
  switch (event.type) {
    case "job.change":
    case "plan.change":
    case "goal.change":
      return true;
    case "subagent.start":
      return event.background === true;
    case "mode.change":
      return event.collaboration === "plan" || event.collaboration === "goal";
    default:
      return false;
  }
}

/**
 * The tools of a system prompt that lists them: `name(argument, other?): what it does`. Those of MCP servers
 * come and go, and are only declared.
 */
export function toolList(config: Config, offered: OfferedTools): string {
  const lines = buildRegistry(config, offered).schemas().map(toolLine);
  return ["# Tools", ...lines].join("\n");
}

function toolLine({ name, description, parameters }: ToolSchema): string {
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  const names = Object.keys(propertiesOf(parameters))
    .map((parameter) => required.includes(parameter) ? parameter : `${parameter}?`);
  const [sentence = ""] = /^.*?[.!?](?=\s|$)/s.exec(description) ?? [description];
  return `- ${name}(${names.join(", ")}): ${sentence.replace(/\s+/g, " ")}`;
}

function propertiesOf({ properties }: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(properties) ? properties : {};
}
