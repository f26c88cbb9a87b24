/** The demo's task on a terminal: as a run, with its command line above it, and in the chat. */
import { DEMO_TASK, type DemoProject, makeScriptedDemo, PROGRAM } from "../demo_project.ts";
import { searchPath } from "../process.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";
import { recordTerminal } from "./record.ts";
import { type Span, spansOf } from "./spans.ts";

/** Width of the picture in the README: the demo's command lines and their results fit behind each other. */
export const DEMO_COLUMNS = 88;

export async function recordDemo(): Promise<Span[][]> {
  await using demo = await makeScriptedDemo();
  const screen = await recordTerminal({
    command: [Deno.execPath(), ...PROGRAM, "run", DEMO_TASK],
    ...terminalOf(demo),
  });
  const command = wrapText(`$ reasonix run "${DEMO_TASK}"`, DEMO_COLUMNS, displayWidth, "  ");
  return [...command.map((text) => [{ text, style: { bold: true } }]), [], ...linesOf(screen)];
}

/** The chat with the same task, up to the first change of a file that is to be approved. */
export async function recordChat(): Promise<Span[][]> {
  await using demo = await makeScriptedDemo();
  const { env, ...terminal } = terminalOf(demo);
  const screen = await recordTerminal({
    command: [Deno.execPath(), ...PROGRAM, DEMO_TASK],
    ...terminal,
    env: { ...env, REASONIX_REDUCED_MOTION: "1" },
    person: (screen) =>
      /Allow \w+\?[\s\S]*\+1 −1/.test(screen)
        ? "done"
        : screen.includes("Run this command?")
        ? "Enter"
        : undefined,
  });
  // The place of the copy is another one each time.
  return linesOf(screen.replaceAll(demo.temp, "~"));
}

/** Width of the picture of the full-screen view: side bar, chat and files. */
export const FULL_COLUMNS = 150;
const FULL_ROWS = 36;
/** Beginning of the last reply of the model. */
const END = "All tests pass.";
/** End of the line below the conversation while a turn runs. */
const RUNNING = "Esc stops";

/** The same task in the full-screen view, once it is done: the conversation and the diffs of its files. */
export async function recordFullScreen(): Promise<Span[][]> {
  await using demo = await makeScriptedDemo();
  const { env, ...terminal } = terminalOf(demo);
  const screen = await recordTerminal({
    command: [Deno.execPath(), ...PROGRAM, "--tui", DEMO_TASK],
    ...terminal,
    ...{ columns: FULL_COLUMNS, rows: FULL_ROWS },
    env: { ...env, REASONIX_REDUCED_MOTION: "1" },
    person: (screen) =>
      screen.includes("Run this command?") || /Allow \w+\?/.test(screen)
        ? "Enter"
        : !screen.includes(END) || !screen.includes("deno ready") || screen.includes(RUNNING)
        ? undefined
        : screen.includes("c diff or content")
        ? "done"
        : "Tab",
  });
  return linesOf(screen);
}

function terminalOf(demo: DemoProject) {
  const home = Deno.env.get("HOME") ?? "";
  return {
    cwd: demo.project,
    env: {
      PATH: searchPath(),
      HOME: home,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`,
      REASONIX_HOME: demo.home,
    },
    columns: DEMO_COLUMNS,
  };
}

function linesOf(screen: string): Span[][] {
  const lines = spansOf(screen);
  while (lines.at(-1)?.length === 0) lines.pop();
  return lines;
}
