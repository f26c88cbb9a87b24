import type { CompactionReport } from "../../../context/mod.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { grouped } from "../../../view/mod.ts";
import type { CommandBody } from "../../command.ts";

export const command: CommandBody = {
  async run(host, hint, signal) {
    const texts = await loadTexts("session_commands", host.locale);
    const assembly = await host.session();
    const { controller } = assembly;
    await assembly.open();
    const report = await assembly.stoppable(signal, () => controller.compact(hint === "" ? undefined : hint));
    const text = compactionText(report, texts, host.showsEvents === true);
    if (text !== "") host.say(text);
  },
};

/** One line; where the compaction itself was shown, only what went wrong. */
function compactionText(
  report: CompactionReport,
  texts: Texts["session_commands"],
  isShown: boolean,
): string {
  const { method, tokensBefore, tokensAfter, removed = 0, archive, problem } = report;
  if (method === "none") return `${texts.nothingCompacted(grouped(tokensBefore))}\n`;
  const figures = texts.compacted(removed, method, `${grouped(tokensBefore)} → ${grouped(tokensAfter)}`);
  const lines = [
    ...(isShown ? [] : [archive === undefined ? figures : texts.archived(figures, archive)]),
    ...(problem === undefined ? [] : [texts.noBetterMethod(problem)]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
