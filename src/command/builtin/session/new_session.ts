import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host, message) {
    const texts = await loadTexts("session_commands", host.locale);
    // A session that could not be opened is not tried again for one that is to be left.
    const old = host.opening === false ? undefined : await host.session().catch(() => undefined);
    const kept = old && old.session.state.lastSeq > 0 ? old.session.id : undefined;
    await host.reopen({});
    host.say(kept === undefined ? texts.began : texts.beganAfter(kept));
    if (message !== "") host.send(message);
  },
};
