import type { CommandBody } from "../command.ts";
import { commitStaged } from "../../commit/mod.ts";
import { message, usageError } from "../../core/mod.ts";
import { processEnvironment } from "../../path/read_env.ts";
import { loadTranslator } from "../../i18n/mod.ts";

export const commitCommand: CommandBody = {
  async run(host, hint, signal = new AbortController().signal) {
    if (host.headless) {
      throw usageError(
        message`Cannot ask for a confirmation: there is no terminal`,
        message`use ${"`reasonix commit --yes`"}`,
      );
    }
    const session = await host.session();
    const translator = await loadTranslator(host.locale);
    const { terminal } = host;
    await commitStaged({
      cwd: session.cwd,
      hint,
      signal,
      yes: false,
      host: {
        environment: processEnvironment(),
        report: (line) => host.say(translator.text(line)),
        show: (text) => host.say(text, "plain"),
        choose: (title, entries) =>
          host.choose(
            translator.text(title),
            entries.map((entry) => ({ ...entry, label: translator.text(entry.label) })),
          ),
        prompt: (question, initial) => host.prompt(translator.text(question), initial),
        assembly: () => Promise.resolve(session),
        ...(terminal ? { terminal } : {}),
      },
    });
  },
};
