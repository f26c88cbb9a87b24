import type { PrinterOptions } from "../../src/frontend/mod.ts";
import { wantsColour } from "../../src/view/mod.ts";
import type { CliContext } from "./process.ts";

type Display = Pick<PrinterOptions, "color" | "outColor" | "terminal" | "live" | "columns" | "fit">;

/** The abilities of standard output and standard error. */
export function displayOf(context: CliContext, noColor = false): Display {
  const { env } = context.process;
  const isDumb = env.TERM === "dumb";
  const [out, err] = [Deno.stdout.isTerminal(), Deno.stderr.isTerminal()];
  return {
    color: !noColor && wantsColour(env, err),
    outColor: !noColor && wantsColour(env, out),
    terminal: out && !isDumb,
    live: err && !isDumb,
    columns,
    fit: fitting(),
  };
}

/** Width of the terminal; 80 where it is not known. */
function columns(): number {
  try {
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80;
  }
}

/**
 * Cuts texts to a width. The tables of wide characters load with the first text, which is cut by characters.
 */
function fitting(): Display["fit"] {
  let exact: Display["fit"] | undefined;
  let loading: Promise<unknown> | undefined;
  return (text, width) => {
    loading ??= import("../../src/util/display_width.ts").then((module) => exact = module.fitDisplay);
    if (exact) return exact(text, width);
    return text.length > width ? `${text.slice(0, width - 1).toWellFormed()}…` : text;
  };
}
