/** A person in the chat: the program itself, on a terminal of tmux. */
import { denoDir, makeWorld, programFile, type World } from "./program.ts";
import { openTerminal, type Terminal } from "./tmux.ts";
import { needs } from "./tools.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

export interface Chat extends AsyncDisposable {
  readonly world: World;
  readonly terminal: Terminal;
  /** Types a line and sends it. */
  enter(line: string): Promise<void>;
  /** Answers a panel with a key or the letter of a row, after the delay of a person. */
  answer(key: string): Promise<void>;
  /** The process of the program. */
  pid(): Promise<number>;
}

/** A panel that comes automatically takes no key for this long. */
const PAUSE_MS = 500;

/** Opens the chat in a fresh home and a workspace of `files`; without configuration the wizard is first. */
export async function openChat(
  config = "",
  { columns = 80, rows = 30, env = {}, args = "", files = {} as Readonly<Record<string, string>> } = {},
): Promise<Chat> {
  const world = await makeWorld(config);
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
  const terminal = await openTerminal(await programFile(), {
    cwd: world.dir,
    columns,
    rows,
    env: {
      REASONIX_HOME: world.home,
      HOME: world.home,
      LC_ALL: "C.UTF-8",
      REASONIX_LANG: "en",
      ...denoDir(),
      ...env,
    },
  });
  const enter = async (line: string) => {
    await terminal.type(line);
    await terminal.press("Enter");
  };
  await enter(`clear; reasonix ${args}; echo left-with-$?`);
  return {
    world,
    terminal,
    enter,
    async answer(key) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      await terminal.press(...key.length === 1 ? ["Tab", key, "Enter"] : [key]);
    },
    async pid() {
      const shell = await terminal.ask("#{pane_pid}");
      return Number(await Deno.readTextFile(`/proc/${shell}/task/${shell}/children`));
    },
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** The beginning of the composer's text while it is empty. */
export const EMPTY = "> Ask for something";

/** A test that needs tmux. */
export function onTerminal(name: string, fn: () => Promise<void>): void {
  Deno.test({ ...needs("tmux", hasTmux && Deno.build.os === "linux", name), fn });
}

/** Waits for a screen, polling many times a second. */
export async function shownSoon(terminal: Terminal, isSo: (screen: string) => boolean): Promise<string> {
  const end = performance.now() + 60_000;
  for (;;) {
    const screen = await terminal.screen();
    if (isSo(screen)) return screen;
    if (performance.now() > end) throw new Error(`The screen does not come to that:\n${screen}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
