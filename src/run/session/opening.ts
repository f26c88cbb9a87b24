import type { LoadedConfig } from "../../config/mod.ts";
import { openConversation, type Recorder, type WantedPrefix } from "../../control/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import { repair } from "../../session/mod.ts";
import type { ToolRegistry } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import type { Modes } from "../access/gate.ts";
import type { PromptInputs } from "../context/prompt_inputs.ts";
import type { RunPlugins } from "../run_features.ts";
import type { RunPaths } from "../run_options.ts";
import { offerLateTools } from "../tools/offered_tools.ts";
import type { TurnExtensions } from "../turn_extensions.ts";
import { recordOtherVendorParts, type RunSession } from "./session.ts";

export interface OpeningDeps {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  readonly inputs: PromptInputs;
  readonly registry: ToolRegistry;
  readonly provider: Provider;
  readonly session: Pick<RunSession, "head" | "state" | "takeNotices">;
  /** Absent where no plugin is configured. */
  readonly plugins?: RunPlugins | undefined;
}

interface OpenerDeps extends OpeningDeps {
  readonly recorder: Recorder;
  readonly modes: Modes;
  readonly extensions: TurnExtensions;
}

/** Opens the session at its first call: writes its first events, and notifies the extensions. */
export function opener(deps: OpenerDeps): () => Promise<void> {
  return lazy(async () => {
    const { recorder, modes, extensions } = deps;
    offerLateTools(deps);
    await recordOpening(recorder, deps);
    await modes.open();
    extensions.opened();
  });
}

/**
 * Records the first events of this process: the head of a new session, or what a crash left open in an old
 * one, and the prefix.
 */
export async function recordOpening(recorder: Recorder, deps: OpeningDeps): Promise<void> {
  const { session } = deps;
  if (session.head && session.state.lastSeq === 0) await recorder.record(session.head);
  for (const event of repair(session.state)) await recorder.record(event);
  for (const notice of session.takeNotices?.() ?? []) await recorder.record(notice);
  await deps.plugins?.settle();
  const reset = await openConversation(recorder, wantedPrefix(deps));
  if (reset === "model") await recordOtherVendorParts(recorder, deps.provider);
}

/** The head of the conversation as this run would begin it. */
function wantedPrefix(deps: OpeningDeps): WantedPrefix {
  const { inputs, registry, provider, plugins } = deps;
  return {
    system: inputs.system,
    tools: registry.schemas(),
    model: provider.model.id,
    provider: provider.model.provider,
    toolMode: provider.model.toolMode,
    context: [...inputs.opening(), plugins?.servers.instructions()].filter((text) => text !== undefined),
  };
}
