import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { loadManage } from "../../../session/mod.ts";
import { VERSION } from "../../../util/version.ts";
import { turnValues } from "../../turns.ts";
import type { CommandBody } from "../../command.ts";
import { requireSaved } from "../../saved_session.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session } = await host.session();
    const turn = argument === "" ? undefined : Number(argument);
    if (turn !== undefined && !Number.isSafeInteger(turn)) {
      throw new ReasonixError(texts.noTurn(argument), { exit: "usage", remedy: texts.turnRemedy });
    }
    await requireSaved(host);
    const { copySession, forkSession } = await loadManage();
    const { id } = turn === undefined
      ? copySession(session.paths.path, { version: VERSION })
      : forkSession(session.paths.path, turn, { version: VERSION });
    if (!host.headless) await host.reopen({ resume: id });
    host.say(host.headless ? texts.forkedHeadless(id, session.id) : texts.forked(id, session.id));
  },
  complete: async (host) => turnValues((await host.session()).session.state),
};
