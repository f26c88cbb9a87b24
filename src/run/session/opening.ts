import type { LoadedConfig } from "../../config/mod.ts";
import { openConversation, type Recorder, type WantedPrefix } from "../../control/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import { repair } from "../../session/mod.ts";
import type { ToolRegistry } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import type { Modes } from "../access/gate.ts";
import type { PromptInputs } from "../context/prompt_inputs.ts";
import type { RunPlugins } from "../mcp/run_plugins.ts";
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
export function opener(parts: OpenerDeps): () => Promise<void> {
  return lazy(async () => {
    const { recorder, modes, extensions } = parts;
    offerLateTools(parts);
    await recordOpening(recorder, parts);
    await modes.open();
    extensions.opened();
  });
}

/**
 * Records the first events of this process: the head of a new session, or what a crash left open in an old
 * one, and the prefix.
 */
export async function recordOpening(recorder: Recorder, parts: OpeningDeps): Promise<void> {
  const { session } = parts;
  if (session.head && session.state.lastSeq === 0) await recorder.record(session.head);
  for (const event of repair(session.state)) await recorder.record(event);
  for (const notice of session.takeNotices?.() ?? []) await recorder.record(notice);
  await parts.plugins?.settle();
  const reset = await openConversation(recorder, wantedPrefix(parts));
  if (reset === "model") await recordOtherVendorParts(recorder, parts.provider);
}

/** The head of the conversation as this run would begin it. */
function wantedPrefix(parts: OpeningDeps): WantedPrefix {
  const { inputs, registry, provider, plugins } = parts;
  return {
    system: inputs.system,
    tools: registry.schemas(),
    model: provider.model.id,
    provider: provider.model.provider,
    toolMode: provider.model.toolMode,
    context: [...inputs.opening(), plugins?.servers.instructions()].filter((text) => text !== undefined),
  };
}
