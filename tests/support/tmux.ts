/** A terminal of a person: tmux with the program; keys as input, the screen as output. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { tmux } from "../../scripts/terminal/record.ts";
import { childrenOf, gone, isAlive } from "./processes.ts";
import { removeTree } from "./remove_tree.ts";

const LIMIT_MS = 60_000;
const POLL_MS = 60;

export interface TerminalOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

export interface Terminal extends AsyncDisposable {
  /** Types a text as it is. */
  type(text: string): Promise<void>;
  /** Presses keys by tmux's names: Enter, Down, C-c. */
  press(...keys: string[]): Promise<void>;
  /** Pastes a text as the clipboard would. */
  paste(text: string): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Returns a tmux format of the terminal, such as `#{cursor_flag}`. */
  ask(format: string): Promise<string>;
  /** Scrolls back or forward like a person. */
  scrollTo(place: "top" | "end"): Promise<void>;
  /** Records what is written to the terminal from now on; the returned function reads it. */
  record(): Promise<() => Promise<string>>;
  /** The lines that have left the screen, and the screen. */
  history(): Promise<string>;
  /** The screen as it is. */
  screen(): Promise<string>;
  /** The screen with its colors. */
  coloured(): Promise<string>;
  /** The screen once it shows a text; throws with the screen otherwise. */
  shows(text: string): Promise<string>;
}

/** A shell on a separate terminal, with `reasonix` as a command in it. */
export async function openTerminal(program: string, options: TerminalOptions): Promise<Terminal> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-tmux-" });
  const socket = `${directory}/socket`;
  const { cwd, env, columns = 80, rows = 40 } = options;
  const start = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", program];
  await Deno.writeTextFile(
    `${directory}/rc`,
    `PS1='$ '\nunset HISTFILE\nreasonix() { ${start.map((word) => `'${word}'`).join(" ")} "$@"; }\n`,
  );
  // A terminal of a person is not that of a CI, where the line of a wait stays on the screen.
  const variables = Object.entries({ CI: "", ...env, TERM: "screen-256color" }).flatMap(([name, value]) => [
    "-e",
    `${name}=${value}`,
  ]);
  const shell = `exec bash --noprofile --rcfile ${directory}/rc -i`;
  const size = ["-x", String(columns), "-y", String(rows)];
  await tmux(socket, "-u", "-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, ...variables, shell);
  const screen = () => tmux(socket, "capture-pane", "-p", "-t", "0");
  return {
    type: async (text) => void await tmux(socket, "send-keys", "-t", "0", "-l", text),
    press: async (...keys) => void await tmux(socket, "send-keys", "-t", "0", ...keys),
    async paste(text) {
      await tmux(socket, "set-buffer", text);
      await tmux(socket, "paste-buffer", "-p", "-r", "-t", "0");
    },
    resize: async (width, height) =>
      void await tmux(socket, "resize-window", "-t", "0", "-x", String(width), "-y", String(height)),
    ask: async (format) => (await tmux(socket, "display-message", "-p", "-t", "0", format)).trimEnd(),
    async scrollTo(place) {
      if (place === "top") await tmux(socket, "copy-mode", "-t", "0");
      await tmux(socket, "send-keys", "-t", "0", "-X", place === "top" ? "history-top" : "cancel");
    },
    async record() {
      await tmux(socket, "pipe-pane", "-O", "-t", "0", `cat > ${directory}/written`);
      return () => Deno.readTextFile(`${directory}/written`).catch(() => "");
    },
    history: () => tmux(socket, "capture-pane", "-p", "-S", "-", "-t", "0"),
    screen,
    coloured: () => tmux(socket, "capture-pane", "-p", "-e", "-t", "0"),
    async shows(text) {
      const end = performance.now() + LIMIT_MS;
      while (true) {
        const now = await screen();
        if (now.includes(text)) return now;
        if (performance.now() > end) throw new Error(`The screen does not show ${text}:\n${now}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async [Symbol.asyncDispose]() {
      // A program whose terminal is closed still saves what was written; its directories may go once it has.
      const shell = Number(
        await tmux(socket, "display-message", "-p", "-t", "0", "#{pane_pid}").catch(() => 0),
      );
      const programs = childrenOf(shell);
      await tmux(socket, "kill-server").catch(() => {});
      const left = await gone(() => programs.filter(isAlive));
      await removeTree(directory);
      if (left.length > 0) throw new Error(`Still running without a terminal: ${left[0]?.command}`);
    },
  };
}
