import { SUBMIT_TOOL, type Toolbox } from "../../agent/mod.ts";
import type { Config, LoadedConfig } from "../../config/mod.ts";
import type { EventSource, Recorder } from "../../control/mod.ts";
import type { Event, PreparedCall, ToolCall, ToolSchema } from "../../core/mod.ts";
import type { ModelInfo, ToolMode } from "../../provider/mod.ts";
import { BUILTINS, type Tool, type ToolContext, ToolRegistry, type ToolResult } from "../../tool/mod.ts";
import { mapValues, recordOf } from "../../util/json.ts";
import type { CollaborationMode } from "../access/gate.ts";
import type { AdmitImages } from "../run_features.ts";
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
    alias: mapValues(
      alias,
      ({ tool, arguments: args, parameters, description }) => ({ tool, args, parameters, description }),
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
  const names = Object.keys(recordOf(parameters.properties))
    .map((parameter) => required.includes(parameter) ? parameter : `${parameter}?`);
  const [sentence = ""] = /^.*?[.!?](?=\s|$)/s.exec(description) ?? [description];
  return `- ${name}(${names.join(", ")}): ${sentence.replace(/\s+/g, " ")}`;
}

/** The context that every call of a conversation shares. */
export type SharedContext = Omit<ToolContext, "callId" | "signal" | "progress" | "jail">;

interface ToolboxOptions {
  readonly registry: ToolRegistry;
  readonly context: SharedContext;
  /** The command jail; asked for when the first call that may start a process comes. */
  readonly jail: (call: PreparedCall) => ToolContext["jail"] | Promise<ToolContext["jail"]>;
  /** Runs a call somewhere else (a worker); absent: here. */
  readonly execute?: (call: PreparedCall, tool: Tool, context: ToolContext) => Promise<ToolResult>;
}

/** Tools of a registry, run with one shared context. */
export class RegistryToolbox implements Toolbox {
  readonly #options: ToolboxOptions;

  constructor(options: ToolboxOptions) {
    this.#options = options;
  }

  prepare(call: ToolCall): PreparedCall | string | Promise<PreparedCall | string> {
    return this.#options.registry.prepare(call);
  }

  async execute(
    call: PreparedCall,
    signal: AbortSignal,
    progress: (text: string) => void,
  ): Promise<ToolResult> {
    const { registry, context, jail, execute } = this.#options;
    const tool = registry.get(call.tool);
    if (!tool) {
      throw new TypeError(`Cannot run ${call.tool}: the registry that prepared the call has no such tool`);
    }
    const whole: ToolContext = {
      ...context,
      callId: call.call.id,
      signal,
      progress,
      jail: call.writes || call.delegates || call.family === "Mcp" ? NO_PROCESS : await jail(call),
    };
    return await (execute ? execute(call, tool, whole) : tool.execute(call.args, whole));
  }

  /** Returns the failure of a call that cannot begin, as its tool says. */
  async check(call: PreparedCall, signal: AbortSignal): Promise<ToolResult | undefined> {
    const { registry, context } = this.#options;
    const own = { callId: call.call.id, signal, progress: () => {}, jail: NO_PROCESS };
    return await registry.get(call.tool)?.check?.(call.args, { ...context, ...own });
  }

  /** Works out what a call of a file tool would change, and writes nothing. */
  async preview(call: PreparedCall, signal: AbortSignal): Promise<ToolResult> {
    const { context } = this.#options;
    const settings = { ...context.settings, writes: "dry-run" } as const;
    const dry = new RegistryToolbox({ ...this.#options, context: { ...context, settings } });
    return await dry.execute(call, signal, () => {});
  }
}

/**
 * Tools that read, or name the files they write, and those of servers, start no command of the model's
 * choosing: they never wait for the jail's probe.
 */
const NO_PROCESS: ToolContext["jail"] = {
  wrap(argv) {
    throw new TypeError(`Cannot run ${argv[0] ?? "a command"} from a tool that works on files`);
  },
};

/** Tools whose images are looked at before the model gets them, which may be another one by then. */
export function withAdmission(
  toolbox: Toolbox,
  admit: AdmitImages,
  provider: { readonly model: ModelInfo },
): Toolbox {
  return {
    prepare: (call, signal) => toolbox.prepare(call, signal),
    async execute(call, signal, progress) {
      const result = await toolbox.execute(call, signal, progress);
      if (!result.images?.length) return result;
      const { images, notes } = await admit(result.images, provider.model, signal);
      const { images: _given, ...rest } = result;
      const content = [result.content, ...notes].filter((text) => text !== "").join("\n");
      return { ...rest, content, ...(images.length > 0 ? { images } : {}) };
    },
  };
}

/** Reports whether the model reads images, or `vision_model` describes them. */
export function takesImages({ vision }: ModelInfo, { config }: Pick<LoadedConfig, "config">): boolean {
  return vision || config.vision_model !== "";
}
