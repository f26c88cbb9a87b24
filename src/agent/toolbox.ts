import type { PreparedCall, ToolCall } from "../core/mod.ts";
import type { Tool, ToolContext, ToolRegistry, ToolResult } from "../tool/mod.ts";
import type { Toolbox } from "./ports.ts";

/** The context that every call of a conversation shares. */
export type SharedContext = Omit<ToolContext, "callId" | "signal" | "progress" | "jail">;

export interface ToolboxOptions {
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
