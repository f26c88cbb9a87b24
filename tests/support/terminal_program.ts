/**
 * A program on the terminal for tests: shows what is typed, and ends in the way the key after `!` says: `!q`
 * as it should, `!t` by an exception, `!r` by a rejection, `!x` at once. `!z` stops the job; `!e` lends the
 * terminal to a shell that reads a line, `!i` to one that waits, `!k` to one that is killed. `!p` prints
 * numbered lines, `!c` clears, `!f` prints without end and counts in the file of its argument how often.
 */
import { Screen } from "../../src/frontend/repl/screen/screen.ts";
import { DenoTerminal } from "../../src/frontend/repl/terminal/deno_terminal.ts";
import type { InputEvent } from "../../src/frontend/repl/terminal/terminal.ts";

const terminal = new DenoTerminal();
const ended = Promise.withResolvers<string>();
let text = "";

const screen = new Screen(terminal, {
  frame: (columns, rows) => ({
    lines: ["", ...composed(columns), `ready ${columns}x${rows} pid ${Deno.pid}`],
    caret: { row: composed(columns).length, column: (2 + text.length) % columns },
  }),
});

/** The composer: all that was typed, cut into rows. */
function composed(columns: number): string[] {
  const line = `> ${text}`;
  const count = Math.floor(line.length / columns) + 1;
  return Array.from({ length: count }, (_, row) => line.slice(row * columns, (row + 1) * columns));
}

let printed = 0;

function printNumbered(): void {
  const lines = Array.from({ length: 20 }, (_, index) => {
    const number = `N${String(printed++).padStart(3, "0")}.`;
    return number + "漢字 text ".repeat(30).slice(0, (index * 7) % Math.max(1, terminal.columns - 30));
  });
  screen.print(lines);
}

function flood(count = 0): void {
  screen.print(Array.from({ length: 100 }, (_, index) => `${count}.${index} ${"x".repeat(60)}`));
  Deno.writeTextFileSync(Deno.args[0] ?? "", String(count));
  setTimeout(() => flood(count + 1), 10);
}

async function lend(script: string): Promise<void> {
  const shell = new Deno.Command("sh", { args: ["-c", script], stdin: "inherit" });
  const { code } = await screen.lend(() => shell.spawn().status);
  screen.print([`back with ${code}`]);
}

const READ_LINE = 'echo "raw $(stty -a | grep -c -- -icanon)"; read line; echo "read [$line]"';

const ACTIONS: Readonly<Record<string, () => unknown>> = {
  q: () => ended.resolve("end"),
  t: () => setTimeout(() => undefinedFunction(), 0),
  r: () => void Promise.reject(new Error("rejected")),
  x: () => Deno.exit(3),
  z: () => screen.stopJob(),
  e: () => lend(READ_LINE),
  i: () => lend("echo interruptible; read line"),
  // An editor that is killed on the alternate screen with its modes enabled.
  m: () => lend("printf '\\033[?1049h\\033[?1000;1003;1006h\\033[4h\\033[3;9r\\033[31m\\033(0'; kill -9 $$"),
  p: printNumbered,
  c: () => text = "",
  f: () => flood(),
  k: () => lend("kill -9 $$"),
};

function undefinedFunction(): never {
  throw new Error("thrown");
}

function input(event: InputEvent): void {
  if (event.kind === "paste") screen.print([`pasted ${JSON.stringify(event.text)}`]);
  else if (text.endsWith("!")) {
    text = text.slice(0, -1);
    void ACTIONS[event.key]?.();
  } else if (event.text === undefined) screen.print([`key ${event.key}`]);
  else text += event.text;
  screen.draw();
}

terminal.start({
  input,
  resize: () => screen.resized(),
  continued: () => screen.continued(),
  ended: (signal) => ended.resolve(signal ?? "hang-up"),
});
screen.open();
const why = await ended.promise;
await screen.close();
await terminal.stop();
const farewell = Deno.stdout.write(new TextEncoder().encode(`ended by ${why}\n`));
await Promise.race([farewell, new Promise((resolve) => setTimeout(resolve, 500))]);
Deno.exit(0);
