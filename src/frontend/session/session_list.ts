import { type Cost, totalCost } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import * as stored from "../../session/mod.ts";
import { defined } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import { atMost } from "../../util/timer.ts";
import { sessionTitle } from "./facts.ts";
import type { LiveSession, LiveSessions } from "./live_session.ts";

/** A session as lists show it. */
export interface SessionEntry {
  readonly id: string;
  readonly title: string;
  readonly directory: string;
  /** RFC 3339. */
  readonly updated: string;
  readonly state: "working" | "waiting" | "done" | "failed" | "idle";
  /** This process has it open. */
  readonly live: boolean;
  /** Another process has it open. */
  readonly elsewhere: boolean;
  readonly cost?: Cost;
}

/** Sessions in one answer. */
const PAGE = 100;

interface ListOptions {
  readonly query?: string | undefined;
  readonly directory?: string | undefined;
  readonly cursor?: string | undefined;
}

/** The sessions of a machine: live ones of this process, and those in files. */
export class SessionList {
  readonly #home: string;
  readonly #live: LiveSessions;

  constructor({ home, sessions }: { readonly home: string; readonly sessions: LiveSessions }) {
    [this.#home, this.#live] = [home, sessions];
  }

  /** A part of the list, latest change first. */
  async page(
    { query = "", directory = "", cursor }: ListOptions,
  ): Promise<{ sessions: SessionEntry[]; next?: string }> {
    const wanted = query.toLowerCase();
    const cwd = directory && (existingRealPath(directory) ?? directory);
    const matches = (...texts: readonly string[]) =>
      texts.some((each) => each.toLowerCase().includes(wanted));
    const projects = cwd ? stored.projectDir(this.#home, cwd) : stored.projectDirs(this.#home);
    const found: stored.SessionInfo[] = [];
    let next = cursor;
    do {
      const part = stored.sessionPage(projects, { limit: PAGE, cursor: next });
      found.push(...part.sessions.filter(({ title, prompt }) => matches(title, prompt)));
      next = part.next;
      // A search reads all files; other work is done in between.
      if (wanted) await atMost(0, new Promise(() => {}));
    } while (wanted && next !== undefined && found.length < PAGE);
    // A session without a message has no file.
    const fresh = cursor ? [] : this.#live.all.flatMap((live) => {
      const entry = liveEntry(live);
      if (!entry || this.paths(entry.id) || cwd && entry.directory !== cwd) return [];
      return matches(entry.title) ? [entry] : [];
    });
    const entries = found.map((info) => this.#entryOf(info));
    return { sessions: [...fresh, ...entries], ...defined({ next }) };
  }

  /** A session as lists show it; undefined: there is none. */
  entry(id: string): SessionEntry | undefined {
    const live = this.#live.get(id);
    const paths = live ? undefined : this.paths(id);
    return live ? liveEntry(live) : paths && attempt(() => this.#entryOf(stored.sessionInfo(paths)));
  }

  /** The files of a session, by its whole identifier. */
  paths(id: string): stored.SessionPaths | undefined {
    if (!/^[\w-]+$/.test(id)) return undefined;
    const all = stored.projectDirs(this.#home).map((project) => stored.sessionPaths(project, id));
    return all.find(({ path }) => isFile(path));
  }

  #entryOf({ id, title, cwd, updated, turn, path }: stored.SessionInfo): SessionEntry {
    const live = this.#live.get(id);
    const entry = live && liveEntry(live);
    if (entry) return { ...entry, updated };
    const elsewhere = stored.sessionOwner(path) !== undefined;
    return { id, title, directory: cwd, updated, state: stateAfter(turn, elsewhere), live: false, elsewhere };
  }
}

type Turn = stored.SessionInfo["turn"];

/** The state after the last turn. One that is open has broken off, unless a program works on it. */
function stateAfter(turn: Turn, isOpen = false): SessionEntry["state"] {
  if (turn === undefined || turn === "interrupted" || turn === "terminated") return "idle";
  if (turn === "open") return isOpen ? "working" : "failed";
  return turn === "done" ? "done" : "failed";
}

function liveEntry(live: LiveSession): SessionEntry | undefined {
  const { assembly, questions, submissions } = live;
  if (!assembly) return undefined;
  const { session: { id, state }, cwd, facts: { spending }, provider: { model } } = assembly;
  const last = state.turns.at(-1);
  const cost = totalCost(spending, model.price?.currency);
  return {
    id,
    title: sessionTitle(state),
    directory: cwd,
    updated: state.updated ?? new Date().toISOString(),
    state: questions.open.length > 0
      ? "waiting"
      : submissions.busy
      ? "working"
      : stateAfter(last && (last.reason ?? "open")),
    live: true,
    elsewhere: false,
    ...defined({ cost }),
  };
}
