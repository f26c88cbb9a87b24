import { loadTexts } from "../../../i18n/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host, _argument, signal = new AbortController().signal) {
    const { verify: texts } = await loadTexts("setting_commands", host.locale);
    const session = await host.session();
    const verification = await session.verification?.();
    await session.open();
    const results = await session.stoppable(signal, async () => await verification?.byHand(signal) ?? []);
    const blocks = results.map(({ line, outcome, text, durationMs }) => {
      const head = `${line}: ${texts.outcomes[outcome]} (${(durationMs / 1000).toFixed(1)} s)`;
      return outcome === "passed" || text === "" ? head : `${head}\n${text.replace(/^/gm, "  ")}`;
    });
    host.say(blocks.join("\n"), "plain");
  },
};
