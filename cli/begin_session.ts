import { environmentText } from "../src/context/mod.ts";
import { openConversation, type Recorder, type WantedPrefix } from "../src/control/mod.ts";
import type { Workspace } from "../src/sandbox/mod.ts";
import { repair, type SessionLog } from "../src/session/mod.ts";
import { insteadOfWriting, type ToolRegistry, type WritePolicy } from "../src/tool/mod.ts";
import type { Knowledge } from "./knowledge.ts";
import { PLATFORM } from "./parts.ts";
import type { Place } from "./place.ts";
import type { Reach } from "./reach.ts";

/** The first events of this process: the head of a new session, or what a crash left open in an old one, and the prefix. */
export async function beginSession(log: SessionLog, recorder: Recorder, wanted: WantedPrefix): Promise<void> {
  if (log.head && log.state.lastSeq === 0) await recorder.record(log.head);
  for (const event of repair(log.state)) await recorder.record(event);
  for (const notice of log.takeNotices()) await recorder.record(notice);
  await openConversation(recorder, wanted);
}

export function environmentOf({ cwd }: Place, { roots }: Workspace, writes: WritePolicy): string {
  const files = writes === "allow" ? { writableRoots: roots } : {
    files: `not to be changed in this run, commands see them read-only; ${insteadOfWriting(writes)}`,
  };
  return environmentText({ cwd, now: new Date(), platform: PLATFORM, ...files });
}

/** What the user should know before the turn. */
export function noticesOf(
  { notice }: Pick<Reach, "notice">,
  registry: ToolRegistry,
  { instructions, skillSet }: Knowledge,
): string[] {
  return [
    ...(notice === undefined ? [] : [notice]),
    ...registry.unknown.map((name) => `Unknown tool "${name}" in [tools] was passed over`),
    ...instructions.notices.map((notice) => `${notice.path} ${notice.problem}`),
    ...skillSet.warnings.map((warning) => `${warning.path}: ${warning.text}`),
  ];
}
