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
    const { messages, sources } = controller.recorder.state;
    const summary = messages[sources.findLastIndex(({ kind }) => kind === "summary")];
    host.say(compactionText(report, summary?.content, texts));
  },
};

function compactionText(
  report: CompactionReport,
  summary: string | undefined,
  texts: Texts["session_commands"],
): string {
  const { method, tokensBefore, tokensAfter, removed = 0, archive, problem } = report;
  if (method === "none") return `${texts.nothingCompacted(grouped(tokensBefore))}\n`;
  const lines = [
    texts.compacted(removed, method, `${grouped(tokensBefore)} → ${grouped(tokensAfter)}`),
    ...(problem === undefined ? [] : [texts.noBetterMethod(problem)]),
    ...(archive === undefined ? [] : [texts.originalsIn(archive)]),
    ...(method === "drop" || summary === undefined ? [] : ["", summary]),
  ];
  return `${lines.join("\n")}\n`;
}
