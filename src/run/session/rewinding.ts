import { Recorder, type RewindDeps } from "../../control/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { isDirectory } from "../../path/probe.ts";
import { type Checkpoints, repair, type SessionLog } from "../../session/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { buildWorkspace } from "../access/access_scope.ts";
import { loadTrustedConfig } from "../access/trusted_config.ts";
import { createCheckpointer } from "./session.ts";
import type { RunPaths } from "../run_paths.ts";

export interface RewindableSession {
  readonly paths: Omit<RunPaths, "cwd">;
  readonly log: SessionLog;
  /** Nothing is to be changed: what a crash left open stays open. */
  readonly preview: boolean;
}

/** Opens a recorded session, which no run works on, for a rewind. */
export async function openForRewind({ paths, log, preview }: RewindableSession): Promise<RewindDeps> {
  const recorder = new Recorder(log);
  if (!preview) { for (const event of repair(log.state)) await recorder.record(event); }
  for (const notice of log.takeNotices()) await recorder.record(notice);
  return { recorder, checkpoints: lazy(() => openCheckpoints(paths, log, recorder)) };
}

/** Checkpoints as the run made them: of the session's own directory, wherever this process was started. */
async function openCheckpoints(
  { home, env }: RewindableSession["paths"],
  log: SessionLog,
  recorder: Recorder,
): Promise<Checkpoints> {
  const cwd = log.state.cwd ?? "";
  if (!isDirectory(cwd)) {
    throw new ReasonixError(`Cannot rewind files: the session's directory ${cwd || "?"} is not there`, {
      exit: "usage",
      remedy: "bring the directory back, or rewind with --conversation",
    });
  }
  const paths = { cwd: Deno.realPathSync(cwd), home, env };
  const { config } = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const workspace = buildWorkspace(paths, config);
  return await createCheckpointer({ paths, session: log, recorder, workspace }).open();
}
