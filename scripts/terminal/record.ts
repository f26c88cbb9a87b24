/** Runs a program on a separate terminal (tmux) and returns what is on it after the program has ended. */

export interface TerminalRun {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows?: number;
  /**
   * Looks at the screen and says which key a person presses now; nothing to wait. `done` ends it while the
   * program continues. Absent: the program is left to end automatically.
   */
  readonly person?: (screen: string) => string | "done" | undefined;
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

/** The lines of the screen and of what has scrolled off it, with their colors as SGR sequences. */
export async function recordTerminal(
  { command, cwd, env, columns, rows = ROWS, person }: TerminalRun,
): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-screen-" });
  const socket = `${directory}/socket`;
  const assignments = Object.entries({ TERM: "tmux-256color", ...env }).map(([name, value]) =>
    `${name}=${value}`
  );
  const program = ["env", "-i", ...assignments, ...command].map(quoted).join(" ");
  // What the program wrote is on the screen once the line behind it is.
  const script = `${program}; printf '%s' '${END}'; tmux -S ${socket} wait-for -S ended; exec sleep 600`;
  try {
    const size = ["-x", String(columns), "-y", String(rows)];
    const shell = `exec sh -c ${quoted(script)}`;
    await tmux(socket, "-u", "-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, shell);
    if (person) return await sit(socket, person);
    await tmux(socket, "wait-for", "ended");
    for (;;) {
      const screen = await tmux(socket, "capture-pane", "-e", "-p", "-S", "-", "-t", "0");
      const end = screen.lastIndexOf(END);
      if (end >= 0) return screen.slice(0, end);
    }
  } finally {
    await tmux(socket, "kill-server").catch(() => {});
    await Deno.remove(directory, { recursive: true });
  }
}

const LIMIT_MS = 60_000;
const LOOK_MS = 200;
/** A question takes no key that was on its way when it appeared. */
const STILL_LOOKS = 5;

/** Presses keys until the person is done, and the screen stays as it is; returns it. */
async function sit(socket: string, person: NonNullable<TerminalRun["person"]>): Promise<string> {
  let last = "";
  let still = 0;
  for (const end = Date.now() + LIMIT_MS; Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const screen = await tmux(socket, "capture-pane", "-p", "-t", "0");
    // Only the clock continues.
    const seen = screen.replaceAll(/\d+ s\b/g, "");
    still = seen === last ? still + 1 : 0;
    last = seen;
    const key = still >= STILL_LOOKS ? person(screen) : undefined;
    if (key !== undefined) still = 0;
    if (key === "done") {
      const shown = await tmux(socket, "capture-pane", "-e", "-p", "-S", "-", "-t", "0");
      await leave(socket);
      return shown;
    }
    if (key !== undefined) await tmux(socket, "send-keys", "-t", "0", key);
  }
  throw new Error(`The screen never became what it should:\n${last}`);
}

/** Ends the program as a person does, so that it writes nothing any more. */
async function leave(socket: string): Promise<void> {
  let open = true;
  const ended = tmux(socket, "wait-for", "ended").finally(() => open = false);
  for (const end = Date.now() + LIMIT_MS; open && Date.now() < end;) {
    await tmux(socket, "send-keys", "-t", "0", "C-c");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, LOOK_MS))]);
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
