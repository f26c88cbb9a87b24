/** A person in the chat: the program itself, on a terminal of tmux. */
import { denoDir, makeWorld, programFile, type World } from "./program.ts";
import { soakSize, someOf } from "./seed.ts";
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
  /** Kills the program; the shell then has an empty screen and waits for a line. */
  kill(): Promise<void>;
}

/** A panel that comes automatically takes no key for 300 ms, counted from before it is on the screen. */
const PAUSE_MS = 320;

interface ChatOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: string;
  /** Default: the program that the tests build. */
  readonly program?: string;
  /** Files of the workspace. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Opens the chat in a fresh home and a workspace of `files`; without configuration the wizard is first. */
export async function openChat(
  config = "",
  { columns = 80, rows = 30, env = {}, args = "", program, files = {} }: ChatOptions = {},
): Promise<Chat> {
  const world = await makeWorld(config);
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
  const terminal = await openTerminal(program ?? await programFile(), {
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
    pid: () => programOf(terminal),
    kill: () => killProgram(terminal),
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** The process that the shell of a terminal runs, once there is one. */
async function programOf(terminal: Terminal): Promise<number> {
  const shell = await terminal.ask("#{pane_pid}");
  return await soon(() => "The shell runs no program", async () => {
    const children = await Deno.readTextFile(`/proc/${shell}/task/${shell}/children`);
    return Number(children.split(" ", 1)[0]) || undefined;
  });
}

/** Kills the program that the shell was given as `reasonix …; echo left-with-$?`. */
export async function killProgram(terminal: Terminal): Promise<void> {
  Deno.kill(await programOf(terminal), "SIGKILL");
  await shownSoon(terminal, (screen) => /left-with-137.*\n\$/.test(screen));
  // The shell takes the terminal's answers to the program for keys: for text, or for a search in its history.
  await terminal.press("C-g", "C-u");
  await terminal.type("stty sane; clear");
  await terminal.press("Enter");
  await shownSoon(terminal, (screen) => screen.trim() === "$");
}

/** The beginning of the composer's text while it is empty. */
export const EMPTY = "> Ask for something";

/** Two of the screens that are drawn, with each width and each language; in `deno task soak` all. */
export function drawnScreens<T extends { readonly columns: number; readonly lang: string }>(
  screens: readonly T[],
): readonly T[] {
  const [one] = someOf(screens, 1);
  if (one === undefined || soakSize(1, 0) === 1) return screens;
  return screens.filter((each) => (each.columns === one.columns) === (each.lang === one.lang));
}

/** A test that needs tmux. */
export function onTerminal(name: string, fn: () => Promise<void>): void {
  Deno.test({ ...needs("tmux", hasTmux && Deno.build.os === "linux", name), fn });
}

/** Waits for a screen, polling many times a second. */
export async function shownSoon(terminal: Terminal, isSo: (screen: string) => boolean): Promise<string> {
  let screen = "";
  return await soon(() => `The screen does not come to that:\n${screen}`, async () => {
    screen = await terminal.screen();
    return isSo(screen) ? screen : undefined;
  });
}

async function soon<T>(why: () => string, look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(why());
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
