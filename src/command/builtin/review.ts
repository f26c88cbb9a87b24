import { message, type Text } from "../../core/mod.ts";
import { loadTexts, loadTranslator } from "../../i18n/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { palette } from "../../view/mod.ts";
import type { CommandBody } from "../command.ts";

const loadReview = lazy(() => import("../../review/mod.ts"));

export const reviewCommand: CommandBody = {
  async run(host, argument, signal = new AbortController().signal) {
    const { formatReview, performReview, prepareReview, readable, readReviewLine } = await loadReview();
    const wanted = readReviewLine(argument);
    const translator = await loadTranslator(host.locale);
    const say = (text: Text) => host.say(translator.text(text));
    const session = await host.session();
    const prepared = await prepareReview(session.paths, wanted, { signal, report: say });
    const { change } = prepared.request;
    if (change.files.length === 0) return say(message`Nothing to review in ${readable(change.target)}`);
    await session.open();
    // Front ends show the agents at work.
    const options = { signal, report: say, progress: () => {} };
    const { report, exit } = await session.stoppable(signal, () => performReview(session, prepared, options));
    const form = { palette: palette(false), columns: Infinity, text: (text: Text) => translator.text(text) };
    host.say(formatReview(report, "markdown", form));
    const { incomplete = "" } = report;
    if (exit !== "done") {
      host.endedEarly?.(exit, translator.text(message`The review is incomplete: ${incomplete}`));
    }
  },
  async complete(host) {
    const { review: { words } } = await loadTexts("setting_commands", host.locale);
    return Object.entries(words).map(([value, detail]) => ({ value, detail }));
  },
};
