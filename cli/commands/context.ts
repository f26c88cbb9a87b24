import { command, flag, type FlagsOf, JSON_FLAG } from "../command.ts";
import { textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadServerWork } from "../../src/features/mod.ts";
import {
  buildWorkspace,
  chosenModel,
  contextReportOf,
  contextText,
  gatherPromptInputs,
  loadTrustedConfig,
  type RunPaths,
} from "../../src/run/mod.ts";
import type { ContextReport } from "../../src/context/mod.ts";
import { emptyState, lastSession, loadEvents, projectDir, type SessionState } from "../../src/session/mod.ts";

const FLAGS = {
  json: JSON_FLAG,
  continue: flag("Show the latest session, not a new one"),
  exact: flag("Ask the server to count the next request"),
};

type ContextFlags = FlagsOf<typeof FLAGS>;

/** Shows what a run would send here, by category: of a new conversation, or of the latest session. */
async function context(this: CliContext, flags: ContextFlags): Promise<void> {
  const report = await reportOf(runPaths(this), flags);
  if (flags.json) return void this.process.stdout.json(report);
  const { contextReport } = await textsFor("report_commands", this);
  this.process.stdout.write(contextText(report, contextReport));
}

async function reportOf(
  paths: RunPaths,
  { continue: latest = false, exact = false }: ContextFlags,
): Promise<ContextReport> {
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const state = latest ? latestState(paths) : emptyState();
  const workspace = buildWorkspace(paths, loaded.config);
  const inputs = await gatherPromptInputs({
    paths,
    loaded,
    workspace,
    messages: () => state.messages,
    model: chosenModel(loaded),
  });
  if (loaded.config.plugins.length === 0) return await contextReportOf({ loaded, inputs, state, exact });
  const { withServers } = await loadServerWork();
  // Nothing is started: what was listed last counts.
  return await withServers(
    { paths, loaded },
    (servers) => contextReportOf({ loaded, inputs, state, servers, exact }),
  );
}

function latestState({ home, cwd }: RunPaths): SessionState {
  const last = lastSession(projectDir(home, cwd));
  return last ? loadEvents(last.path).state : emptyState();
}

export const contextCommand = command({ flags: FLAGS, run: context });
