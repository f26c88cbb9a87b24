import type { CommandHost, OpenRequest } from "./command.ts";

/** Goes on with the session that is open, put together anew with what differs. */
export async function goOn(host: CommandHost, changed: Omit<OpenRequest, "resume"> = {}): Promise<void> {
  const { session, modes: { sessionRules } } = await host.session();
  // A session that has not begun is in no file yet.
  await host.reopen({ ...changed, ...(session.state.lastSeq > 0 ? { resume: session.id } : {}) });
  const { modes } = await host.session();
  for (const rule of sessionRules) modes.allowForSession(rule);
}
