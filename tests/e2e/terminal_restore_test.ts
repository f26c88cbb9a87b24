/** The terminal of a chat in a real shell: it is restored for the shell in every case. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { denoDir } from "../support/program.ts";
import { openTerminal, type Terminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const PROGRAM = `${ROOT}tests/support/terminal_program.ts`;
const COMMAND = `'${Deno.execPath()}' run -A --no-check --config '${ROOT}deno.json' '${PROGRAM}'`;
const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

/** A shell in which `t` starts the program; the shell itself enables no terminal modes. */
async function openShell(size: { columns?: number; rows?: number } = {}): Promise<Terminal> {
  const env = { HOME: Deno.env.get("HOME") ?? "", LC_ALL: "C.UTF-8", ...denoDir() };
  const terminal = await openTerminal(PROGRAM, { cwd: ROOT, env, rows: 24, ...size });
  const setup = `bind 'set enable-bracketed-paste off'; before=$(stty -g); alias t="${COMMAND}"; clear`;
  await enter(terminal, setup);
  await enter(terminal, "echo shell-$((1+0))");
  await terminal.shows("shell-1");
  return terminal;
}

async function enter(terminal: Terminal, line: string): Promise<void> {
  await terminal.type(line);
  await terminal.press("Enter");
}

/** Starts the program; its process id once it has drawn itself. */
async function startProgram(terminal: Terminal): Promise<number> {
  await enter(terminal, "clear; t");
  return await processId(terminal);
}

async function processId(terminal: Terminal): Promise<number> {
  for (;;) {
    const pid = /ready \d+x\d+ pid (\d+)/.exec(await terminal.shows("ready "))?.[1];
    if (pid !== undefined) return Number(pid);
  }
}

let checks = 1;

/** The shell reads lines, shows the cursor, wraps, and gets a paste without marks. */
async function assertSane(terminal: Terminal): Promise<void> {
  const number = ++checks;
  await enter(terminal, `[ "$(stty -g)" = "$before" ] && echo same-$((${number}+0))`);
  await terminal.shows(`same-${number}`);
  assertEquals(await terminal.ask("#{cursor_flag} #{wrap_flag}"), "1 1");
  await enter(terminal, `head -1 | cat -v; echo pasted-$((${number}+0))`);
  await terminal.paste(`clip-${number}\n`);
  const screen = await terminal.shows(`pasted-${number}`);
  assertStringIncludes(screen, `clip-${number}\npasted`);
  for (const leaked of ["200~", "[?", "62c", "^["]) assertEquals(screen.includes(leaked), false, screen);
}

const ENDS: readonly { readonly name: string; readonly keys?: string; readonly signal?: Deno.Signal }[] = [
  { name: "ended by end", keys: "!q" },
  { name: "Error: thrown", keys: "!t" },
  { name: "Error: rejected", keys: "!r" },
  { name: "code 3", keys: "!x" },
  { name: "ended by SIGTERM", signal: "SIGTERM" },
  { name: "ended by SIGHUP", signal: "SIGHUP" },
  { name: "ended by SIGINT", signal: "SIGINT" },
];

Deno.test({
  ...needs("tmux", hasTmux, "a program restores the terminal however it ends"),
  fn: async () => {
    await using terminal = await openShell();
    for (const { name, keys, signal } of ENDS) {
      await enter(terminal, "clear; t; echo code $?");
      const pid = await processId(terminal);
      if (keys) await terminal.type(keys);
      else if (signal) Deno.kill(pid, signal);
      await terminal.shows(name);
      await assertSane(terminal);
    }
  },
});

Deno.test({
  ...needs("tmux", hasTmux, "a suspended program restores the terminal and takes it again on resume"),
  fn: async () => {
    await using terminal = await openShell();
    const pid = await startProgram(terminal);
    for (const fromOutside of [false, true]) {
      await terminal.type("kept");
      await terminal.shows("> kept");
      if (fromOutside) Deno.kill(pid, "SIGSTOP");
      else await terminal.type("!z");
      await terminal.shows("Stopped");
      // A program cannot restore the terminal before SIGSTOP.
      if (!fromOutside) await assertSane(terminal);
      await enter(terminal, "clear; fg");
      await terminal.shows("> kept");
      await terminal.type(" on");
      await terminal.shows("> kept on");
      await terminal.type("!c");
      await terminal.shows("ready ");
    }
    await terminal.type("!q");
    await terminal.shows("ended by end");
    await assertSane(terminal);
  },
});

Deno.test({
  ...needs("tmux", hasTmux, "a program lends the terminal to another program without losing its keys"),
  fn: async () => {
    await using terminal = await openShell();
    await startProgram(terminal);
    await terminal.type("!e");
    // The other program has the terminal in its usual mode.
    await terminal.shows("raw 0");
    await enter(terminal, "a line for the other");
    await terminal.shows("read [a line for the other]");
    await terminal.shows("back with 0");
    await terminal.type("mine");
    await terminal.shows("> mine");
    await terminal.type("!i");
    await terminal.shows("interruptible");
    // Ctrl-C goes only to the other program.
    await terminal.press("C-c");
    await terminal.shows("back with 130");
    await terminal.type("!k");
    await terminal.shows("back with 137");
    // Modes of the other program are disabled, and its alternate screen is left.
    await terminal.type("!m");
    await terminal.shows("back with 137\nback with 137");
    const modes = "#{alternate_on}#{mouse_any_flag}#{mouse_sgr_flag}#{insert_flag} #{scroll_region_upper}";
    assertEquals(await terminal.ask(modes), "0000 0");
    // What the next one writes remains, although the cursor was saved elsewhere.
    await terminal.type("!e");
    await terminal.shows("back with 137\nraw 0");
    await enter(terminal, "again");
    await terminal.shows("read [again]\nback with 0");
    await terminal.type(" too");
    await terminal.shows("> mine too");
    await terminal.paste("two\n\tlines");
    await terminal.shows('pasted "two\\n\\tlines"');
    await terminal.type("!q");
    await terminal.shows("ended by end");
    await assertSane(terminal);
  },
});

Deno.test({
  ...needs("tmux", hasTmux, "a real terminal keeps history and one live region through resizes"),
  fn: async () => {
    await using terminal = await openShell();
    await startProgram(terminal);
    await terminal.type("!p");
    await terminal.shows("N019.");
    await terminal.type(`${"a composer of more than one row ".repeat(4)}END`);
    await terminal.shows("END");
    const sizes = [[60, 20], [33, 18], [120, 40], [20, 12], [90, 9], [41, 30], [200, 50], [25, 14], [80, 24]];
    for (const [columns = 80, rows = 24] of sizes) {
      await terminal.resize(columns, rows);
      await terminal.shows(`ready ${columns}x${rows}`);
    }
    await terminal.type("!p");
    await terminal.shows("N039.");
    const history = await terminal.history();
    const numbers = history.match(/N\d{3}\./g) ?? [];
    assertEquals(numbers, Array.from({ length: 40 }, (_, at) => `N${String(at).padStart(3, "0")}.`));
    assertEquals(history.match(/^ready /gm)?.length, 1, history);
    assertEquals(history.match(/^> /gm)?.length, 1, history);
    await terminal.type("!q");
    await terminal.shows("ended by end");
    await assertSane(terminal);
  },
});

/** Waits until a condition is true. */
async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("It did not come about");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function isRunning(pid: number): boolean {
  try {
    const state = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.[0];
    return state !== "Z";
  } catch {
    return false;
  }
}

Deno.test({
  ...needs(
    "tmux",
    hasTmux && Deno.build.os === "linux",
    "a terminal that accepts no output does not block the program",
  ),
  fn: async () => {
    const file = await Deno.makeTempFile();
    await using terminal = await openShell();
    const server = Number(await terminal.ask("#{pid}"));
    await enter(terminal, `clear; t ${file}`);
    const pid = await processId(terminal);
    await terminal.type("!f");
    await until(() => Deno.readTextFileSync(file) !== "");
    // The terminal is not read any more, as with a stuck connection.
    Deno.kill(server, "SIGSTOP");
    try {
      const count = () => Number(Deno.readTextFileSync(file));
      const before = count();
      await until(() => count() > before + 50);
      Deno.kill(pid, "SIGTERM");
      await until(() => !isRunning(pid));
    } finally {
      Deno.kill(server, "SIGCONT");
    }
    // The terminal answers earlier queries now, and the shell takes the answers for typed text.
    await terminal.press("C-c");
    await enter(terminal, "clear; echo alive-$((1+0))");
    await terminal.shows("alive-1");
    await Deno.remove(file);
  },
});
