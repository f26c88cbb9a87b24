import type { Event } from "../../../src/core/mod.ts";
import type { Target } from "./aims.ts";
import type { Victim } from "./victim.ts";

/** The phase of a program when it was killed. */
export interface Killed {
  readonly phase: Exclude<Target, "concurrent" | "copy">;
  /** Another process was started on the same session. */
  readonly concurrent: boolean;
}

/** Returns the phase of a killed program from its events and requests. */
export function phaseOf(victim: Victim, events: readonly Event[], together: number): Killed {
  const own = events.slice(events.findLastIndex(({ type }) => type === "turn.start") + 1);
  return { phase: phase(victim, own), concurrent: together > 1 };
}

function phase(victim: Victim, events: readonly Event[]): Killed["phase"] {
  if (victim.args[0] === "session") return "rewind";
  const last = events.findLast(({ type }) => type !== "notice")?.type;
  const compactions = events.filter(({ type }) => type === "compaction").length;
  if (victim.summaries > compactions || last === "compaction") return "compaction";
  if (victim.asked === 0) return "start";
  if (events.some(({ type }) => type === "turn.end")) return "exit";
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === "tool.start") open.add(event.call.id);
    if (event.type === "tool.end") open.delete(event.callId);
  }
  if (open.size > 0) return "tool";
  const answered = events.filter((event) => event.type === "message.end" && event.step > 0).length;
  if (victim.asked <= answered) return "between";
  return victim.begun < victim.asked ? "request" : "stream";
}
