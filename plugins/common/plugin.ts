/** The contract between a plugin and the process that it runs in. */
import type { McpServer } from "@modelcontextprotocol/server";
import type * as z from "zod";

/** An entry of `[[providers]]` that the user granted, and the environment variable with its key. */
export type GrantedProvider = Readonly<Record<string, unknown>> & { readonly name: string };

/** Reports whether requests to a provider leave this machine. */
export function isRemote({ base_url: url }: GrantedProvider): boolean {
  const host = typeof url === "string" ? URL.parse(url)?.hostname : undefined;
  return host !== undefined && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);
}

/** What a plugin knows of its session. */
export interface PluginContext<Settings = unknown> {
  /** Checked `[plugins.settings]`. */
  readonly settings: Settings;
  /** Absolute path of the directory that the session works in. */
  readonly workspace: string;
  /** Absolute path of the only directory that the plugin may write to; created on first use. */
  readonly state: string;
  /** Absolute path of the Reasonix home, for files of the user such as prompts. */
  readonly home: string;
  /** Path rules for files that the session may not read, in the syntax of ignore files. */
  readonly hidden: readonly string[];
  /** `providers = […]` of the entry. */
  readonly providers: readonly GrantedProvider[];
  /** The module that this process started with, from which workers start. */
  readonly entry: string;
  /** Writes a line to the log of the host: standard error. */
  log(line: string): void;
}

/**
 * One plugin.
 *
 * Contract: `register` is called for each connection and does no work; heavy modules are imported by the
 * first call that needs them.
 */
export interface Plugin<Settings = unknown> {
  readonly settings: z.ZodType<Settings>;
  register(server: McpServer, context: PluginContext<Settings>): void;
  /** Commands of the list file; each resolves to an exit code, and writes its output to standard output. */
  readonly commands?: Readonly<
    Record<string, (args: readonly string[], context: PluginContext<Settings>) => Promise<number>>
  >;
}

/** A failure for the model or the user: one line, and the remedy. */
export class PluginError extends Error {
  override readonly name = "PluginError";
  constructor(message: string, readonly remedy?: string) {
    super(message);
  }

  get text(): string {
    return this.remedy === undefined ? this.message : `${this.message}; ${this.remedy}`;
  }
}
