/** The demo's run of the agent on a terminal, with the command line above it. */
import { CASSETTE, DEMO_TASK, makeDemoProject, PROGRAM } from "../demo_project.ts";
import { searchPath } from "../process.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";
import { recordTerminal } from "./record.ts";
import { type Span, spansOf } from "./spans.ts";

/** Width of the picture in the README: the demo's command lines and their results fit behind each other. */
export const DEMO_COLUMNS = 88;

export async function recordDemo(): Promise<Span[][]> {
  await using demo = await makeDemoProject(
    `kind = "replay"\nmodel = "recorded"\ncassette = ${JSON.stringify(CASSETTE)}`,
  );
  const home = Deno.env.get("HOME") ?? "";
  const screen = await recordTerminal({
    command: [Deno.execPath(), ...PROGRAM, "run", DEMO_TASK],
    cwd: demo.project,
    env: {
      PATH: searchPath(),
      HOME: home,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`,
      REASONIX_HOME: demo.home,
    },
    columns: DEMO_COLUMNS,
  });
  const command = wrapText(`$ reasonix run "${DEMO_TASK}"`, DEMO_COLUMNS, displayWidth, "  ");
  const lines = spansOf(screen);
  while (lines.at(-1)?.length === 0) lines.pop();
  return [...command.map((text) => [{ text, style: { bold: true } }]), [], ...lines];
}
