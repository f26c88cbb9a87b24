import type { PreparedCall } from "../../core/mod.ts";
import { processFlags, type Workspace } from "../../sandbox/mod.ts";
import {
  loadProcessHost,
  LocalToolHost,
  type ProcessGuard,
  type Tool,
  type ToolContext,
  type ToolHost,
  type ToolResult,
} from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";

export interface ToolHostSources {
  readonly workspace: Workspace;
  /** Directory for full outputs. */
  readonly outputDir: string;
  readonly guard: ProcessGuard | undefined;
  readonly tell: (text: string) => void;
}

/**
 * The place where the tools of a run execute. Tools that change files run in a process of their own, which
 * may write to the workspace and do nothing else: no network, no programs, no environment. It is started when
 * a reply begins to call one of them, and ends when none was called for a while. Tools that only read stay
 * here, where a call takes half the time; searches have killable processes of their own, commands the jail.
 */
export class RunToolHost {
  readonly #sources: ToolHostSources;
  readonly #local = new LocalToolHost();
  #opened = false;
  #closed = false;
  #writers = lazy(() => this.#open());

  constructor(sources: ToolHostSources) {
    this.#sources = sources;
  }

  readonly execute = async (call: PreparedCall, tool: Tool, context: ToolContext): Promise<ToolResult> => {
    const host = call.runsIn === "worker" ? await this.#writers() : this.#local;
    return await host.execute(tool, call.args, context);
  };

  /**
   * Starts the process that a call of this tool needs, while the arguments arrive. Resolves when it was
   * started, at the latest.
   */
  readonly prewarm = async (tool: Pick<Tool, "runsIn">): Promise<void> => {
    if (tool.runsIn !== "worker" || this.#closed) return;
    // Whoever runs the call hears of an error.
    await this.#writers().then((host) => host.warm()).catch(() => {});
  };

  /** The workspace has another root: the next call gets a process that may write there. */
  async restart(): Promise<void> {
    const writers = this.#writers;
    this.#writers = lazy(() => this.#open());
    if (this.#opened) await (await writers())[Symbol.asyncDispose]();
    this.#opened = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#opened) await (await this.#writers())[Symbol.asyncDispose]();
  }

  async #open(): Promise<ToolHost> {
    this.#opened = true;
    const { ProcessToolHost, selfCommand, TOOL_ROLE } = await loadProcessHost();
    const { workspace, outputDir, guard, tell } = this.#sources;
    return new ProcessToolHost({
      command: selfCommand({
        role: TOOL_ROLE,
        module: import.meta.url,
        sourceEntry: new URL("./worker_entry.ts", import.meta.url),
        flags: processFlags({
          writable: [...workspace.roots, outputDir],
          keep: [`${workspace.options.home}/config.toml`],
          forbidRead: workspace.forbidden,
        }),
      }),
      data: { ...workspace.options, roots: workspace.roots },
      onProblem: tell,
      ...(guard ? { guard } : {}),
    });
  }
}
