import { ReasonixError } from "../../core/mod.ts";
import type { LockOwner } from "../../util/lock.ts";

/** Another process is writing this session. */
export class SessionBusyError extends ReasonixError {
  override readonly name = "SessionBusyError";
  readonly session: string;
  /** Process that has it, when it is known. */
  readonly pid: number | undefined;

  constructor(session: string, owner: LockOwner) {
    const who = owner.pid === undefined ? "another process" : `process ${owner.pid}`;
    const since = owner.since === undefined ? "" : ` since ${owner.since}`;
    super(`Cannot write session ${session}: ${who} has it open${since}`, {
      remedy: "end that process, or go on in a copy with --copy",
      said: [["busy", session, String(owner.pid ?? ""), String(owner.since ?? "")], ["endOrCopy"]],
    });
    this.session = session;
    this.pid = owner.pid;
  }
}
