import { loadTexts } from "../../../i18n/mod.ts";
import { loadManage } from "../../../session/mod.ts";
import { confirmed } from "../../asking.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session } = await host.session();
    const { id, paths, state: { lastSeq, turns } } = session;
    if (lastSeq === 0) return host.say(texts.nothingToClear);
    if (!await confirmed(host, texts.reallyClear(turns.length))) return;
    await host.reopen({});
    (await loadManage()).deleteSession(paths);
    host.say(texts.cleared(id));
  },
};
