import { ReasonixError } from "../core/mod.ts";
import { loadTexts } from "../i18n/mod.ts";
import type { CommandHost } from "./command.ts";

/** Throws a ReasonixError where the session is in memory only, since the disk took nothing of it. */
export async function requireSaved(host: Pick<CommandHost, "session" | "locale">): Promise<void> {
  const { session, controller } = await host.session();
  await controller.recorder.sync();
  if (session.problem === undefined) return;
  const texts = await loadTexts("session_commands", host.locale);
  throw new ReasonixError(texts.notSaved(session.problem), { remedy: texts.saveFirst });
}
