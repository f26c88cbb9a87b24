import { loadConfig, requireProvider } from "../../src/config/mod.ts";
import { EXIT, ReasonixError } from "../../src/core/mod.ts";
import { type CliContext, errorText, exitCodeOf } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";

/** Says what to type instead of the bare name of the program: `reasonix setup` where nothing is set up. */
export async function welcome(context: CliContext): Promise<number> {
  const { stderr } = context.process;
  try {
    const usesEnvironment = requireProvider(await loadConfig(runPaths(context)));
    stderr.write(
      "error: The interactive chat is not part of this version\n" +
        '       run one task with: reasonix run "…", or see reasonix --help\n',
    );
    if (usesEnvironment !== undefined) stderr.write(`· ${usesEnvironment}\n`);
    return EXIT.usage;
  } catch (error) {
    stderr.write(`${errorText(error)}\n`);
    return error instanceof ReasonixError ? EXIT.usage : exitCodeOf(error);
  }
}
