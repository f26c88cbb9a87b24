import { errorMessage } from "../core/mod.ts";
import { failure, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

/** Runs tools. `execute` rejects only for an abort, and then soon; everything else is a result. */
export interface ToolHost extends AsyncDisposable {
  warm(): void;
  execute(tool: Tool, args: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

/** Time for a tool to clean up after an abort before the wait for it ends. */
export const ABORT_GRACE_MS = 180;

/**
 * Runs tools in this process. An abort ends the wait, though not a tool that never yields to the event loop.
 */
export class LocalToolHost implements ToolHost {
  warm(): void {}

  async execute(tool: Tool, args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    const { signal } = context;
    signal.throwIfAborted();
    const { promise: given, reject } = Promise.withResolvers<never>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const aborted = () => timer = setTimeout(() => reject(signal.reason), ABORT_GRACE_MS);
    signal.addEventListener("abort", aborted, { once: true });
    try {
      return await Promise.race([tool.execute(args, context), given]);
    } catch (error) {
      signal.throwIfAborted();
      return failure(`${tool.name} failed: ${errorMessage(error)}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
