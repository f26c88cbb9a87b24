import { ReasonixError } from "../src/core/mod.ts";
import { findSession, lastSession, loadManage, projectDir, SessionLog } from "../src/session/mod.ts";
import type { RunFlags } from "./run_flags.ts";
import type { Place } from "./place.ts";
import { VERSION } from "./version.ts";

/** The session a run writes to: a new one, or the one its flags name (or a copy of that). */
export async function openSession(
  place: Place,
  flags: Pick<RunFlags, "continue" | "resume" | "copy">,
  redact?: (text: string) => string,
): Promise<SessionLog> {
  const options = redact ? { redact } : {};
  const path = chosenSession(place, flags);
  if (path === undefined) {
    if (flags.copy) {
      throw new ReasonixError("Cannot copy a session: none was named", {
        exit: "usage",
        remedy: "add --continue or --resume ID",
      });
    }
    return SessionLog.create({ home: place.home, cwd: place.cwd, version: VERSION, ...options });
  }
  if (!flags.copy) return SessionLog.open(path, options);
  const { copySession } = await loadManage();
  return SessionLog.open(copySession(path, { version: VERSION }).path, options);
}

function chosenSession(place: Place, flags: Pick<RunFlags, "continue" | "resume">): string | undefined {
  if (flags.resume !== undefined) return findSession(place.home, flags.resume, { cwd: place.cwd }).path;
  if (!flags.continue) return undefined;
  const last = lastSession(projectDir(place.home, place.cwd));
  if (last) return last.path;
  throw new ReasonixError(`Cannot continue: there is no session for ${place.cwd} yet`, {
    exit: "usage",
    remedy: "run without --continue to begin one",
  });
}
