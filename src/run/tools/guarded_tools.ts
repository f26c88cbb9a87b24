import type { Gate, PermissionGate } from "../../permission/mod.ts";
import { buildGate } from "../access/gate.ts";
import { Modes } from "../access/modes.ts";
import type { PluginParts, QuestionParts, RunPlugins } from "../mcp/run_plugins.ts";
import { loadPlugins, type RunBase } from "../run_base.ts";
import type { AssemblyOptions } from "../run_options.ts";
import { type AdmitImages, imageAdmission, takesImages, withAdmission } from "../images/admission.ts";
import { buildTools, type RunTools } from "./tools.ts";

/** How images get into the conversation. */
export interface ImageWays {
  /** Looks at the images of a message. */
  readonly admit: AdmitImages;
  /** The model takes images, or somebody describes them. */
  readonly vision: boolean;
}

/** The tools of a run, the gate that judges their calls, and the plugins that bring further ones. */
export interface GuardedTools {
  readonly tools: RunTools & { readonly images: ImageWays };
  readonly gate: Gate & Partial<PermissionGate>;
  readonly modes: Modes;
  readonly plugins: RunPlugins | undefined;
}

/** Builds the tools, then the gate that judges their calls, which their jail asks. */
export async function openGuardedTools(parts: RunBase): Promise<GuardedTools> {
  const { options, scope, recorder, skillRules } = parts;
  const { parent } = options;
  const { permissionMode } = options;
  const attended = options.approver !== undefined && !options.gate;
  const { model } = parts.provider;
  const textInLines = model.toolMode === "pseudo";
  const vision = takesImages(model, parts.loaded);
  const tools = buildTools({ ...parts, parent, vision, textInLines, permissionMode, attended });
  const plugins = await openPlugins(options, { ...parts, guard: tools.guard });
  const gate: GuardedTools["gate"] = options.gate ??
    buildGate({ options, scope, recorder, tools, plugins, temporaryRules: skillRules.current });
  tools.judgedBy(gate);
  await parts.remote?.connect(gate, parts.registry);
  const images = { vision, admit: imageAdmission(parts) };
  const toolbox: RunTools["toolbox"] = (features) =>
    withAdmission(tools.toolbox(features), images.admit, parts.provider);
  return { tools: { ...tools, toolbox, images }, gate, modes: new Modes(gate, recorder), plugins };
}

async function openPlugins(
  { waitForPlugins = true }: AssemblyOptions,
  parts: Omit<PluginParts, "wait" | "questions"> & QuestionParts,
): Promise<RunPlugins | undefined> {
  const { loaded, provider } = parts;
  if (loaded.config.plugins.length === 0 || provider.model.toolMode === "none") return undefined;
  const [{ RunPlugins, serverQuestions }] = await loadPlugins();
  return await RunPlugins.open({ ...parts, wait: waitForPlugins, questions: serverQuestions(parts) });
}
