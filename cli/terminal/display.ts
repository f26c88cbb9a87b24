import type { PrinterOptions } from "../../src/frontend/mod.ts";
import { roughWidth, wantsColor } from "../../src/view/mod.ts";
import type { CliContext } from "./process.ts";
import { attempt } from "../../src/util/lazy.ts";

type Display = Pick<PrinterOptions, "color" | "outColor" | "terminal" | "live" | "columns" | "fit" | "width">;

/** The abilities of standard output and standard error. */
export function displayOf(context: CliContext, noColor = false): Display {
  const { env } = context.process;
  const isDumb = env.TERM === "dumb";
  const [out, err] = [Deno.stdout.isTerminal(), Deno.stderr.isTerminal()];
  return {
    color: !noColor && wantsColor(env, err),
    outColor: !noColor && wantsColor(env, out),
    terminal: out && !isDumb,
    live: err && !isDumb,
    columns,
    ...measuring(),
  };
}

function columns(): number {
  return attempt(() => Deno.consoleSize().columns) || 80;
}

/**
 * Measures texts and cuts them to a width. The tables of wide characters load with the first text, which is
 * taken at a rough measure.
 */
function measuring(): Pick<Display, "fit" | "width"> {
  let exact: typeof import("../../src/util/display_width.ts") | undefined;
  let loading: Promise<unknown> | undefined;
  const load = () => {
    loading ??= import("../../src/util/display_width.ts").then((module) => exact = module);
    return exact;
  };
  return {
    fit(text, width) {
      const tables = load();
      if (tables) return tables.fitDisplay(text, width);
      return text.length > width ? `${text.slice(0, width - 1).toWellFormed()}…` : text;
    },
    width: (text) => load()?.displayWidth(text) ?? roughWidth(text),
  };
}

/**
 * Columns of the terminal that standard output is, else undefined: what goes to a file or a program is not
 * cut.
 */
export function outputWidth(): number | undefined {
  return attempt(() => Deno.stdout.isTerminal() ? Deno.consoleSize().columns : undefined);
}
