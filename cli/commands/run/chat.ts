import { assemble } from "../../../src/assembly/mod.ts";
import { FRONTENDS } from "../../../src/frontend/mod.ts";
import { displayOf } from "../../terminal/display.ts";
import { languageOf } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { requireProvider } from "../../terminal/require_provider.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { loadRunConfig, type RunFlags, runOptions } from "./config.ts";

/** `reasonix` with no command: the chat. */
export async function chat(context: CliContext, flags: RunFlags, first?: string): Promise<number> {
  const { runChat } = await FRONTENDS.repl();
  return await runChat({
    locale: languageOf(context).locale,
    colours: displayOf(context, flags.noColor).outColor,
    paths: runPaths(context, flags.dir),
    start: {
      ...(flags.continue ? { continue: true } : {}),
      ...(flags.resume === undefined ? {} : { resume: flags.resume }),
      ...(flags.copy ? { copy: true } : {}),
    },
    ...(first === undefined ? {} : { first }),
    async open(request, person) {
      const { model, effort, permissionMode, ...session } = request;
      const given = {
        ...flags,
        ...(model === undefined ? {} : { model }),
        ...(effort === undefined ? {} : { effort }),
        ...(permissionMode === undefined ? {} : { permissionMode }),
      };
      const paths = runPaths(context, flags.dir);
      const loaded = await loadRunConfig(paths, given);
      await requireProvider(loaded, languageOf(context, loaded).locale);
      const { continue: _continue, resume: _resume, copy: _copy, ...options } = runOptions(given);
      return await assemble({
        ...options,
        ...session,
        approver: person.approver,
        asker: person.asker,
        paths,
        loaded,
      });
    },
  });
}
