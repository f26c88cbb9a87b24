import type { AgentDeps, Limits, StopReason, Toolbox, TurnOutcome } from "../agent/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import type { CompactionHooks } from "../context/mod.ts";
import type { EventSource, Recorder } from "../control/mod.ts";
import type { ImagePart } from "../core/mod.ts";
import type { AttachedContent, ContentIntake, McpServers } from "../mcp/mod.ts";
import type { Gate, GateOptions, PermissionGate } from "../permission/mod.ts";
import type { ModelInfo, Provider, RemoteServers } from "../provider/mod.ts";
import type { Jail } from "../sandbox/mod.ts";
import type { Asker, ProcessGuard, Tool, ToolRegistry, ToolServices } from "../tool/mod.ts";
import type { RunScope, Warning } from "./access/access_scope.ts";
import type { AssemblyOptions, RunPaths, TurnInput } from "./run_options.ts";

/**
 * A feature that takes part in the turns of a run, such as a goal, a planner or hooks. Every function is
 * called in the order of the extensions.
 *
 * Contract: rejects only when the signal aborts, or with a `ReasonixError` that keeps the turn from
 * beginning.
 */
export interface TurnExtension extends Pick<AgentDeps, "reviewAnswer" | "beforeCall" | "afterCall"> {
  /** The session is open: its first events are written. */
  readonly opened?: () => void;
  /** Returns the input as the turn shall have it. */
  readonly before?: (input: TurnInput, signal: AbortSignal) => Promise<TurnInput>;
  /** The turn has ended: the input of one that follows automatically, from the first that has one. */
  readonly after?: (outcome: TurnOutcome, signal: AbortSignal) => Promise<TurnInput | undefined>;
  /** Bounds of the turn, in addition to those of the configuration. */
  readonly limits?: () => Limits;
  /** The turns ended without an outcome, such as for an input that is too long. */
  readonly failed?: (error: unknown) => Promise<void>;
  /** A slash command failed. */
  readonly commandFailed?: (error: unknown) => void;
  /** An event was recorded and shown; the event that follows from it. */
  readonly onEvent?: EventSource;
  /** The user interrupts, perhaps between two turns. */
  readonly interrupted?: (reason: StopReason) => void;
  readonly compaction?: CompactionHooks;
  /** The run is about to close. */
  readonly close?: () => Promise<void>;
}

/** Makes images fit the model that will read them, and describes or leaves out the others. */
export type AdmitImages = (
  images: readonly ImagePart[],
  model: ModelInfo,
  signal: AbortSignal,
) => Promise<AdmittedImages>;

export interface AdmittedImages {
  readonly images: readonly ImagePart[];
  /** For the model, one line or block for each image that needs one. */
  readonly notes: readonly string[];
}

/** The MCP servers that the model's provider calls. */
export interface RemotePlugins {
  /** The servers that one provider may call, tokens included. */
  servedBy(provider: string): RemoteServers;
  warnings(provider: Provider): readonly Warning[];
  /** Connects the gate, which decides about their calls. */
  connect(gate: Gate & Partial<PermissionGate>, registry: ToolRegistry): Promise<void>;
  /** Updates the tools that need no approval. */
  judge(): Promise<void>;
}

/** The MCP servers that a run starts. */
export interface RunPlugins extends Required<Pick<GateOptions, "trustedReadOnly" | "saveTrust">> {
  readonly servers: McpServers;
  /** Waits for servers that no run has met yet, before the first request of a session. */
  settle(): Promise<void>;
  /** Starts all servers while the model is thinking. */
  warm(): void;
  beforeTurn(): Promise<void>;
  betweenSteps(): Promise<void>;
  /** Returns a reader of `@server:uri`, which returns undefined for other words with a colon. */
  resourceReader(
    intake: ContentIntake,
  ): (server: string, uri: string) => Promise<AttachedContent> | undefined;
  close(): Promise<void>;
}

/** A language server of a run, by its name and its project. */
export interface LanguageServerState {
  readonly name: string;
  readonly root: string;
  readonly state: "idle" | "starting" | "ready" | "stopped" | "failed";
}

/** Language servers, which check edits. */
export interface LanguageSupport extends Pick<TurnExtension, "reviewAnswer" | "close"> {
  /** The service of the tools about names. */
  readonly services: Pick<ToolServices, "names">;
  /** Adds the errors that edits cause to their results. */
  toolbox(toolbox: Toolbox): Toolbox;
  /** The servers that were needed so far. */
  states(): readonly LanguageServerState[];
  /** Loads what checks the first edit. */
  warm(): Promise<unknown>;
}

export interface ScopedDeps {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly scope: RunScope;
}

export interface LanguageDeps extends ScopedDeps {
  readonly recorder: Recorder;
  readonly guard: ProcessGuard | undefined;
  readonly openJail: () => Promise<Jail>;
}

export interface PluginDeps extends Omit<ScopedDeps, "scope"> {
  readonly options: Pick<AssemblyOptions, "waitForPlugins">;
  readonly recorder: Recorder;
  readonly provider: Provider;
  readonly registry: ToolRegistry;
  readonly asker: Asker | undefined;
  readonly guard: ProcessGuard | undefined;
  readonly remote: RemotePlugins | undefined;
}

/** The features that act below the turns. Each member is cheap where the configuration does not use it. */
export interface BaseFeatures {
  remotePlugins(loaded: LoadedConfig): Promise<RemotePlugins | undefined>;
  plugins(deps: PluginDeps): Promise<RunPlugins | undefined>;
  languageTools(deps: ScopedDeps): Promise<readonly Tool[]>;
  languageSupport(deps: LanguageDeps): LanguageSupport | undefined;
  images(deps: Pick<LanguageDeps, "loaded" | "recorder">): AdmitImages;
}
