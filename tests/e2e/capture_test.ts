import { recordChat, recordDemo, recordFullScreen } from "../../scripts/terminal/demo_screen.ts";
import { CELL } from "../../scripts/terminal/svg.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { needs } from "../support/tools.ts";

const has = (program: string, flag: string) =>
  new Deno.Command(program, { args: [flag] }).output().then(() => true, () => false);
const [hasTmux, hasBwrap] = await Promise.all([has("tmux", "-V"), has("bwrap", "--version")]);

const TITLE = "the pictures in the README show what the demo shows now";

/**
 * The words of each line, without times: they differ from run to run, and those of short calls are not shown.
 */
function words(line: string): string {
  return line.replaceAll(/ · \d+(?:\.\d+)? s\b/g, "").replace(/(\d+(?:\.\d+)?) ?(?:µs|ms|s)\b/g, "0 s")
    .replace(/\s+/g, " ").trim();
}

/** Returns the lines of a picture by the positions of its texts. */
function linesOf(svg: string): string[] {
  const rows = new Map<number, string>();
  for (const [, x, y, text = ""] of svg.matchAll(/<text x="(\d+)" y="(\d+)"[^>]*>([^<]*)</g)) {
    const before = rows.get(Number(y)) ?? "";
    const column = (Number(x) - CELL.margin) / CELL.width;
    rows.set(Number(y), before.padEnd(column) + unescaped(text));
  }
  return [...rows.values()].map(words);
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

const tmux = needs("tmux", hasTmux, TITLE);
const { name, ignore } = tmux.ignore ? tmux : needs("bwrap", hasBwrap, TITLE);
Deno.test({
  name,
  ignore,
  async fn() {
    const pictures = { demo: recordDemo, chat: recordChat, full: recordFullScreen };
    await Promise.all(
      Object.entries(pictures).map(async ([picture, record]) => {
        const shown = (await record()).map((line) => words(line.map(({ text }) => text).join("")));
        for (const theme of ["dark", "light"]) {
          const svg = await Deno.readTextFile(
            new URL(`../../docs/images/${picture}-${theme}.svg`, import.meta.url),
          );
          assertEquals(linesOf(svg), shown.filter((line) => line !== ""), "run deno task capture");
          assert(svg.length < 20_000, "a picture is small");
        }
      }),
    );
  },
});
