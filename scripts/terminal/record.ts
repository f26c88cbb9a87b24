/** Runs a program on a terminal of its own (tmux) and returns what is on it after the program has ended. */

export interface TerminalRun {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number;
}

/** One character, so that no line end can divide it. */
const END = "■";
const ROWS = 50;

/** One command of tmux; its output. */
export async function tmux(socket: string, ...args: string[]): Promise<string> {
  const { stdout, stderr, success } = await new Deno.Command("tmux", { args: ["-S", socket, ...args] })
    .output();
  if (!success) throw new Error(`Failed: tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** The lines of the screen and of what has scrolled off it, with their colours as SGR sequences. */
export async function recordTerminal({ command, cwd, env, columns }: TerminalRun): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "reasonix-screen-" });
  const socket = `${folder}/socket`;
  const assignments = Object.entries({ TERM: "tmux-256color", ...env }).map(([name, value]) =>
    `${name}=${value}`
  );
  const program = ["env", "-i", ...assignments, ...command].map(quoted).join(" ");
  // What the program wrote is on the screen once the line behind it is.
  const script = `${program}; printf '%s' '${END}'; tmux -S ${socket} wait-for -S ended; exec sleep 600`;
  try {
    const size = ["-x", String(columns), "-y", String(ROWS)];
    const shell = `exec sh -c ${quoted(script)}`;
    await tmux(socket, "-u", "-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, shell);
    await tmux(socket, "wait-for", "ended");
    for (;;) {
      const screen = await tmux(socket, "capture-pane", "-e", "-p", "-S", "-", "-t", "0");
      const end = screen.lastIndexOf(END);
      if (end >= 0) return screen.slice(0, end);
    }
  } finally {
    await tmux(socket, "kill-server").catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
