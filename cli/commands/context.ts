import { loadConfig } from "../../src/config/mod.ts";
import type { ContextReport } from "../../src/context/mod.ts";
import { emptyState, lastSession, loadEvents, projectDir, type SessionState } from "../../src/session/mod.ts";
import { type CliContext, fail } from "../context.ts";
import { contextReportOf, contextText } from "../context_report.ts";
import { gatherKnowledge } from "../knowledge.ts";
import { buildWorkspace } from "../parts.ts";
import { type Place, workingPlace } from "../place.ts";

interface ContextFlags {
  readonly json?: boolean;
  readonly continue?: boolean;
}

/** What a run would send here, by category: of a new conversation, or of the latest session. */
export async function context(this: CliContext, flags: ContextFlags): Promise<void> {
  try {
    const report = await reportOf(workingPlace(this), flags.continue ?? false);
    this.process.stdout.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : contextText(report));
  } catch (error) {
    fail(this, error);
  }
}

async function reportOf(place: Place, latest: boolean): Promise<ContextReport> {
  const loaded = await loadConfig(place);
  const state = latest ? latestState(place) : emptyState();
  const workspace = buildWorkspace(place, loaded.config);
  const knowledge = await gatherKnowledge({ place, loaded, workspace, messages: () => state.messages });
  return await contextReportOf({ loaded, knowledge, state });
}

function latestState({ home, cwd }: Place): SessionState {
  const last = lastSession(projectDir(home, cwd));
  return last ? loadEvents(last.path).state : emptyState();
}
