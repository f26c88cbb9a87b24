import { FRONTENDS, type Output, type Printer } from "../../../src/frontend/mod.ts";
import { displayOf } from "../../terminal/display.ts";
import type { Speech } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { claudeMode } from "./claude_names.ts";
import type { RunFlags } from "../../run_flags.ts";

export interface PrinterDeps {
  readonly out: Output;
  readonly speech: Speech;
  readonly err: Output;
}

/** The printer of the output format that the flags ask for. */
export async function printerFor(
  context: CliContext,
  flags: RunFlags,
  { out, err, speech }: PrinterDeps,
): Promise<Printer> {
  const { createPrinter } = await FRONTENDS.print();
  return createPrinter({
    ...displayOf(context, flags.noColor),
    format: flags.outputFormat,
    texts: () => speech.run,
    out,
    err,
    showThinking: flags.showThinking ?? false,
    quiet: flags.quiet ?? false,
    verbose: flags.verbose ?? false,
    stream: flags.stream ?? false,
    get permissionMode() {
      return claudeMode(flags.permissionMode);
    },
    partialMessages: flags.includePartialMessages ?? false,
  });
}
