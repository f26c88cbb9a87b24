import { type LoadedConfig, resolveKey, resolveModel } from "../src/config/mod.ts";
import { Compaction, LateInstructions, loadSkills } from "../src/context/mod.ts";
import type { ControlledParts, Recorder } from "../src/control/mod.ts";
import { createProvider, type Provider } from "../src/provider/mod.ts";
import type { Workspace } from "../src/sandbox/mod.ts";
import { loadArchive, type SessionLog } from "../src/session/mod.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Place } from "./place.ts";
import { askServerWindow } from "./server_window.ts";
import { VERSION } from "./version.ts";

export interface RoomSources {
  readonly place: Place;
  readonly loaded: LoadedConfig;
  readonly provider: Provider;
  readonly recorder: Recorder;
  readonly log: SessionLog;
  readonly workspace: Workspace;
  readonly knowledge: Knowledge;
}

/** What happens between steps: instructions of folders that were touched, and room when the context fills up. */
export type RoomKeeping = Required<
  Pick<ControlledParts, "betweenSteps" | "onContextOverflow" | "compact" | "warm">
>;

export async function keepRoom(sources: RoomSources): Promise<RoomKeeping> {
  const { recorder } = sources;
  const window = new ContextWindow(sources);
  const compaction = await openCompaction(sources, () => window.tokens);
  const late = lateInstructions(sources);
  return {
    async betweenSteps(signal) {
      for (const content of late.take()) {
        await recorder.record({ type: "message.user", content, origin: "context" });
      }
      await compaction.betweenSteps(signal);
    },
    onContextOverflow: (signal) => compaction.onContextOverflow(signal),
    async compact(hint, signal) {
      await window.discover();
      return await compaction.compact(hint, signal);
    },
    warm: () => void window.discover(),
  };
}

async function openCompaction(sources: RoomSources, window: () => number): Promise<Compaction> {
  const { loaded, provider, recorder, log, knowledge } = sources;
  const { auto, ratio, strategy, prune, max_summary_tokens, summary_model } = loaded.config.compaction;
  const { entry } = resolveModel(loaded.config);
  const carry = knowledge.skills && (await loadSkills()).carriedSkill;
  return new Compaction({
    provider,
    conversation: recorder,
    settings: { auto, ratio, strategy, prune, maxSummaryTokens: max_summary_tokens },
    window,
    archive: async (messages) => (await loadArchive()).writeArchive(log.paths, messages, new Date()),
    sendsReasoning: entry.compat.reasoning_field !== undefined,
    ...(summary_model === "" ? {} : { summaryProvider: () => providerOf(loaded, summary_model) }),
    ...(carry ? { carry } : {}),
  });
}

async function providerOf(loaded: LoadedConfig, reference: string): Promise<Provider> {
  const { entry, model } = resolveModel(loaded.config, reference);
  const apiKey = resolveKey(entry, loaded.keys);
  return await createProvider({
    entry,
    model,
    version: VERSION,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

function lateInstructions({ place, loaded, recorder, workspace }: RoomSources): LateInstructions {
  return new LateInstructions({
    cwd: place.cwd,
    home: place.home,
    maxBytes: loaded.config.instructions_max_bytes || Infinity,
    hidden: (path) => workspace.hidden(path),
    messages: () => recorder.messages,
    onNotice: ({ path, problem }) => {
      void recorder.record({
        type: "notice",
        level: "warning",
        code: "instructions",
        text: `${path} ${problem}`,
      });
    },
  });
}

/** Tokens the model accepts: what the configuration declares, else what a server on this machine says of itself. */
class ContextWindow {
  tokens: number;
  readonly #sources: RoomSources;

  constructor(sources: RoomSources) {
    this.#sources = sources;
    this.tokens = sources.provider.model.contextWindow;
  }

  async discover(): Promise<void> {
    const { loaded, recorder } = this.#sources;
    if (this.tokens > 0) return;
    const found = await askServerWindow(loaded);
    if (!found) return;
    this.tokens = found.tokens;
    const text = `The server's context window is ${found.tokens} tokens (${found.source})`;
    await recorder.record({ type: "notice", level: "info", code: "window", text });
  }
}
