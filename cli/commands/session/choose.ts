import type { RunPaths } from "../../../src/assembly/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import {
  findSession,
  lastSession,
  listSessions,
  projectDir,
  projectDirs,
  SessionBusyError,
  sessionIds,
  type SessionInfo,
  type SessionPaths,
} from "../../../src/session/mod.ts";

/** The session a command is about: the named one, else the directory's latest. */
export function chosenSession({ home, cwd }: RunPaths, ref: string | undefined): SessionPaths {
  if (ref !== undefined) return findSession(home, ref, { cwd });
  const last = lastSession(projectDir(home, cwd));
  if (last) return last;
  throw new ReasonixError(`Cannot choose a session: there is none for ${cwd} yet`, {
    exit: "usage",
    remedy: "name one; reasonix session list --all shows those of every directory",
  });
}

/** Sessions of this directory, or of every directory, latest change first. */
export function sessionsOf({ home, cwd }: RunPaths, all: boolean, limit?: number): SessionInfo[] {
  const options = limit === undefined ? {} : { limit };
  if (!all) return listSessions(projectDir(home, cwd), options);
  return projectDirs(home).flatMap((project) => listSessions(project, options))
    .sort((a, b) => a.updated < b.updated ? 1 : a.updated > b.updated ? -1 : 0)
    .slice(0, limit);
}

/** Counts the sessions of this directory, or of every directory, without opening one. */
export function countSessions({ home, cwd }: RunPaths, all: boolean): number {
  const projects = all ? projectDirs(home) : [projectDir(home, cwd)];
  return projects.reduce((sum, project) => sum + sessionIds(project).length, 0);
}

/** Work on a session that nobody else may be writing. */
export async function withSessionLock<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SessionBusyError)) throw error;
    throw new ReasonixError(error.message, { remedy: "end that process first", cause: error });
  }
}

/** Asks for a "yes". Throws ReasonixError (usage) when there is nobody to ask. */
export function confirmed(question: string, what: string): boolean {
  if (!Deno.stdin.isTerminal()) {
    throw new ReasonixError(`Cannot ask whether to delete ${what}: there is no terminal`, {
      exit: "usage",
      remedy: "add --yes",
    });
  }
  return prompt(`${question} Type yes:`) === "yes";
}
