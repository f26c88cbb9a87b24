import { loadTexts } from "../../../i18n/mod.ts";
import { exists } from "../../../path/probe.ts";
import { confirmed } from "../../asking.ts";
import type { CommandBody } from "../../command.ts";
import again from "./init_again.md" with { type: "text" };
import prompt from "./init.md" with { type: "text" };

export const command: CommandBody = {
  async run(host, wishes) {
    const texts = await loadTexts("setting_commands", host.locale);
    const { cwd } = (await host.session()).paths;
    const isThere = exists(`${cwd}/AGENTS.md`);
    if (isThere && !await confirmed(host, texts.reallyInit)) return;
    const parts = [prompt, ...(isThere ? [again] : []), ...(wishes === "" ? [] : [wishes])];
    host.send(parts.map((part) => part.trim()).join("\n\n"));
  },
};
