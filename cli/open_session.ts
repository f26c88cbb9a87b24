import { knownSecrets, type LoadedConfig } from "../src/config/mod.ts";
import { ReasonixError } from "../src/core/mod.ts";
import { findSession, lastSession, loadManage, projectDir, SessionLog } from "../src/session/mod.ts";
import { createRedactor } from "../src/util/redact.ts";
import type { RunFlags } from "./run_flags.ts";
import type { Place } from "./place.ts";
import { VERSION } from "./version.ts";

type SessionFlags = Pick<RunFlags, "continue" | "resume" | "copy">;

interface OpenedSession {
  readonly log: SessionLog;
  /** Takes known secrets out of what is kept. */
  readonly redact: (text: string) => string;
}

/** The session a run writes to: a new one, or the one its flags name (or a copy of that). */
export async function openSession(
  place: Place,
  flags: SessionFlags,
  { config, keys }: LoadedConfig,
): Promise<OpenedSession> {
  const redact = createRedactor(knownSecrets(config.providers, keys));
  const options = { redact };
  const path = chosenSession(place, flags);
  if (path !== undefined) {
    if (!flags.copy) return { log: SessionLog.open(path, options), redact };
    const { copySession } = await loadManage();
    return { log: SessionLog.open(copySession(path, { version: VERSION }).path, options), redact };
  }
  if (flags.copy) {
    throw new ReasonixError("Cannot copy a session: none was named", {
      exit: "usage",
      remedy: "add --continue or --resume ID",
    });
  }
  const log = SessionLog.create({ home: place.home, cwd: place.cwd, version: VERSION, ...options });
  return { log, redact };
}

function chosenSession(place: Place, flags: Pick<RunFlags, "continue" | "resume">): string | undefined {
  if (flags.resume !== undefined && flags.continue) {
    throw new ReasonixError("Cannot use --continue together with --resume", {
      exit: "usage",
      remedy: "--continue takes the latest session, --resume the one it names",
    });
  }
  if (flags.resume !== undefined) return findSession(place.home, flags.resume, { cwd: place.cwd }).path;
  if (!flags.continue) return undefined;
  const last = lastSession(projectDir(place.home, place.cwd));
  if (last) return last.path;
  throw new ReasonixError(`Cannot continue: there is no session for ${place.cwd} yet`, {
    exit: "usage",
    remedy: "run without --continue to begin one",
  });
}
