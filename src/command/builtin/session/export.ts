import { loadTexts } from "../../../i18n/mod.ts";
import { isAbsolute } from "../../../path/lexical.ts";
import { loadExport } from "../../../session/mod.ts";
import type { CommandBody } from "../../command.ts";
import { requireSaved } from "../../saved_session.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("session_commands", host.locale);
    const { session, paths: { cwd } } = await host.session();
    await requireSaved(host);
    const name = argument.replace(/^(["'])(.*)\1$/, "$2") || `reasonix-${session.id.slice(0, 15)}.md`;
    const file = isAbsolute(name) ? name : `${cwd}/${name}`;
    const { exportToFile } = await loadExport();
    exportToFile(session.paths.path, file, { taken: texts.otherName });
    host.say(texts.exported(file));
  },
};
