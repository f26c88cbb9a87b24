import type { Toolbox } from "../../agent/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import { loadMcp } from "../../mcp/mod.ts";
import type { Decision, Gate, GateOptions, PermissionGate } from "../../permission/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import { lazy } from "../../util/lazy.ts";
import type { RunScope } from "../access/access_scope.ts";
import { buildGate } from "../access/gate.ts";
import { Modes } from "../access/modes.ts";
import type { QuestionParts } from "../plugins/server_questions.ts";
import type { RemotePlugins } from "../plugins/remote_plugins.ts";
import type { PluginParts, RunPlugins } from "../plugins/run_plugins.ts";
import type { AssemblyOptions } from "../run_options.ts";
import { type AdmitImages, imageAdmission, takesImages, withAdmission } from "../vision/admission.ts";
import { buildTools, type RunTools, toldAsker, type ToolParts } from "./tools.ts";

const NOBODY_ASKED: Decision = { decision: "deny", source: "headless", reason: "this run asks nobody" };

interface GuardedToolParts
  extends
    Omit<ToolParts, "asker" | "permissionMode" | "confirm" | "network" | "scope" | "textInLines" | "vision">,
    Required<Pick<GateOptions, "temporaryRules">> {
  readonly scope: RunScope;
  /** The session's model. */
  readonly provider: Provider;
  readonly remote: RemotePlugins | undefined;
}

/** How images get into the conversation. */
export interface ImageWays {
  /** Looks at the images of a message. */
  readonly admit: AdmitImages;
  /** The model takes images, or somebody describes them. */
  readonly vision: boolean;
}

/** The tools of a run, the gate that judges their calls, and the plugins that bring further ones. */
export interface GuardedTools {
  readonly tools: Omit<RunTools, "toolbox"> & {
    /** As the model calls them. */
    readonly toolbox: Toolbox;
    readonly images: ImageWays;
  };
  readonly gate: Gate & Partial<PermissionGate>;
  readonly modes: Modes;
  readonly plugins: RunPlugins | undefined;
}

const loadPlugins = lazy(() =>
  Promise.all([import("../plugins/run_plugins.ts"), import("../plugins/server_questions.ts"), loadMcp()])
);

/**
 * Begins to load what plugins need, where some are configured, beside what comes before them. Returns those
 * that the model's provider speaks to, which it has to know of.
 */
export async function expectPlugins(loaded: LoadedConfig): Promise<RemotePlugins | undefined> {
  const { config } = loaded;
  // Whoever opens them hears of an error.
  if (config.plugins.length > 0) loadPlugins().catch(() => {});
  if (!config.plugins.some(({ enabled, transport }) => enabled && transport === "provider")) return undefined;
  const { RemotePlugins } = await import("../plugins/remote_plugins.ts");
  return new RemotePlugins(loaded);
}

/** Builds tools and gate, which ask each other: the gate for details of a call, the jail for an answer. */
export async function openGuardedTools(
  options: AssemblyOptions,
  parts: GuardedToolParts,
): Promise<GuardedTools> {
  const { scope, recorder, temporaryRules } = parts;
  const permissionMode = () => gate.permissionMode ?? options.permissionMode ?? "workspace-write";
  const confirm: PermissionGate["confirm"] | undefined = options.approver && !options.gate
    ? async (...question) => await gate.confirm?.(...question) ?? NOBODY_ASKED
    : undefined;
  const network = {
    take: (callId: string) => gate.takeNetwork?.(callId),
    hosts: () => gate.grants?.hosts ?? new Set<string>(),
  };
  const { model } = parts.provider;
  const textInLines = model.toolMode === "pseudo";
  const vision = takesImages(model, parts.loaded);
  const asker = options.asker && toldAsker(options.asker, recorder);
  const tools = buildTools({ ...parts, asker, vision, textInLines, permissionMode, confirm, network });
  const plugins = await openPlugins(options, { ...parts, asker, guard: tools.guard });
  const gate: GuardedTools["gate"] = options.gate ??
    buildGate({ options, scope, recorder, tools, plugins, temporaryRules });
  await parts.remote?.connect(gate, parts.registry);
  const images = { vision, admit: imageAdmission(parts) };
  const toolbox = withAdmission(tools.checked, images.admit, parts.provider);
  return { tools: { ...tools, toolbox, images }, gate, modes: new Modes(gate, recorder), plugins };
}

async function openPlugins(
  { waitForPlugins = true }: AssemblyOptions,
  parts: Omit<PluginParts, "wait" | "questions"> & QuestionParts,
): Promise<RunPlugins | undefined> {
  const { loaded, provider } = parts;
  if (loaded.config.plugins.length === 0 || provider.model.toolMode === "none") return undefined;
  const [{ RunPlugins }, { serverQuestions }] = await loadPlugins();
  return await RunPlugins.open({ ...parts, wait: waitForPlugins, questions: serverQuestions(parts) });
}
