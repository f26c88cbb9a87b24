import { loadTexts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { userText } from "../../../util/user_text.ts";
import type { CommandBody } from "../../command.ts";
import { bringBack } from "../../turns.ts";

export const command: CommandBody = {
  async run(host) {
    const texts = await loadTexts("session_commands", host.locale);
    const { turns } = (await host.session()).session.state;
    const last = turns.at(-1);
    if (!last) return host.say(texts.nothingToUndo);
    const prompt = userText(last.prompt);
    const done = texts.undone(last.turn, oneLine(prompt, 60));
    const isDone = await bringBack(host, { turn: turns.at(-2)?.turn ?? 0, scope: "both", done });
    // Most who undo want to ask again in other words.
    if (isDone) host.draft?.(prompt);
  },
};
