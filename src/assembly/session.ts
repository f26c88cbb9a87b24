import { type Config, knownSecrets, type LoadedConfig } from "../config/mod.ts";
import { environmentText } from "../context/mod.ts";
import { openConversation, type Recorder, type WantedPrefix } from "../control/mod.ts";
import { ReasonixError } from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Workspace } from "../sandbox/mod.ts";
import { findSession, lastSession, loadManage, projectDir, repair, SessionLog } from "../session/mod.ts";
import { insteadOfWriting, type ToolRegistry, type WritePolicy } from "../tool/mod.ts";
import { createRedactor } from "../util/redact.ts";
import { VERSION } from "../util/version.ts";
import type { RunAccess } from "./access_scope.ts";
import type { PromptInputs } from "./prompt_inputs.ts";
import { PLATFORM } from "./provider.ts";
import type { RunOptions } from "./run_options.ts";
import type { RunPaths } from "./run_paths.ts";

interface OpenedSession {
  readonly log: SessionLog;
  /** Takes known secrets out of what is kept. */
  readonly redact: (text: string) => string;
}

/** The session a run writes to: a new one, or the one its flags name (or a copy of that). */
export async function openSession(
  paths: RunPaths,
  options: Pick<RunOptions, "continue" | "resume" | "copy">,
  { config, keys }: LoadedConfig,
): Promise<OpenedSession> {
  const redact = createRedactor(knownSecrets(config.providers, keys));
  const path = chosenSession(paths, options);
  if (path !== undefined) {
    if (!options.copy) return { log: SessionLog.open(path, { redact }), redact };
    const { copySession } = await loadManage();
    return { log: SessionLog.open(copySession(path, { version: VERSION }).path, { redact }), redact };
  }
  if (options.copy) {
    throw new ReasonixError("Cannot copy a session: none was named", {
      exit: "usage",
      remedy: "add --continue or --resume ID",
    });
  }
  const log = SessionLog.create({ home: paths.home, cwd: paths.cwd, version: VERSION, redact });
  return { log, redact };
}

function chosenSession(
  paths: RunPaths,
  options: Pick<RunOptions, "continue" | "resume">,
): string | undefined {
  if (options.resume !== undefined && options.continue) {
    throw new ReasonixError("Cannot use --continue together with --resume", {
      exit: "usage",
      remedy: "--continue takes the latest session, --resume the one it names",
    });
  }
  if (options.resume !== undefined) return findSession(paths.home, options.resume, { cwd: paths.cwd }).path;
  if (!options.continue) return undefined;
  const last = lastSession(projectDir(paths.home, paths.cwd));
  if (last) return last.path;
  throw new ReasonixError(`Cannot continue: there is no session for ${paths.cwd} yet`, {
    exit: "usage",
    remedy: "run without --continue to begin one",
  });
}

/** The first events of this process: the head of a new session, or what a crash left open in an old one, and the prefix. */
export async function beginSession(log: SessionLog, recorder: Recorder, wanted: WantedPrefix): Promise<void> {
  if (log.head && log.state.lastSeq === 0) await recorder.record(log.head);
  for (const event of repair(log.state)) await recorder.record(event);
  for (const notice of log.takeNotices()) await recorder.record(notice);
  await openConversation(recorder, wanted);
}

interface PrefixParts {
  readonly paths: RunPaths;
  readonly config: Config;
  readonly workspace: Workspace;
  readonly knowledge: PromptInputs;
  readonly registry: ToolRegistry;
  readonly provider: Provider;
}

/** The head of the conversation as this run would begin it. */
export function wantedPrefix(parts: PrefixParts): WantedPrefix {
  const { paths, config, workspace, knowledge: { system, memory }, registry, provider } = parts;
  const environment = environmentOf(paths, workspace, config.tools.writes);
  return {
    system,
    tools: registry.schemas(),
    model: provider.model.id,
    context: memory === undefined ? [environment] : [environment, memory],
  };
}

function environmentOf({ cwd }: RunPaths, { roots }: Workspace, writes: WritePolicy): string {
  const files = writes === "allow" ? { writableRoots: roots } : {
    files: `not to be changed in this run, commands see them read-only; ${insteadOfWriting(writes)}`,
  };
  return environmentText({ cwd, now: new Date(), platform: PLATFORM, ...files });
}

/** What the user should know before the turn. */
export function noticesOf(
  { notices }: Pick<RunAccess, "notices">,
  registry: ToolRegistry,
  { instructions, skillSet }: PromptInputs,
): string[] {
  return [
    ...notices,
    ...registry.unknown.map((name) => `Unknown tool "${name}" in [tools] was passed over`),
    ...instructions.notices.map((notice) => `${notice.path} ${notice.problem}`),
    ...skillSet.warnings.map((warning) => `${warning.path}: ${warning.text}`),
  ];
}
