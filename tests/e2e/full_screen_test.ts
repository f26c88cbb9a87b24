/** The main screen of a real terminal after the full-screen view, whichever way it ends. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { mockConfig, programFile } from "../support/program.ts";
import { removeTree } from "../support/remove_tree.ts";
import { VirtualTerminal } from "../support/virtual_terminal.ts";
import { type Chat, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

const ANSWER = "The **last** answer: 漢字.";
const SHOWN = "The last answer: 漢字.";
const KEPT = /^Session \S+ saved\. Continue with: reasonix -c$/;
/** The composer with nothing typed, below the panels. */
const READY = /│[\s\S]*> Ask for something/;
const EMPTY = /^> Ask for something/m;
/** The shell waits for a line. */
const WAITS = /\n\$\s*$/;

/** The modes of the terminal that the view changes. */
async function modes({ terminal }: Chat): Promise<string> {
  const names = ["alternate_on", "mouse_any_flag", "cursor_flag", "wrap_flag", "keypad_cursor_flag"];
  return await terminal.ask(names.map((name) => `${name}=#{${name}}`).join(" "));
}

/** Scrollback and screen, without empty lines at the end. */
async function lines({ terminal }: Chat): Promise<string[]> {
  return (await terminal.history()).trimEnd().split("\n").map((line) => line.trimEnd());
}

async function opened(chat: Chat, line: string): Promise<void> {
  await chat.enter(line);
  await shownSoon(chat.terminal, (screen) => READY.test(screen));
}

async function quit({ terminal }: Chat): Promise<void> {
  await terminal.press("C-c");
  await terminal.press("C-c");
}

/** Expects the answer, the line to continue with, and `rest`; returns what follows. */
function afterAnswer([answer, kept = "", ...found]: readonly string[], ...rest: readonly string[]) {
  assertEquals(answer, SHOWN);
  assert(KEPT.test(kept), kept);
  assertEquals(found.slice(0, rest.length), rest);
  return found.slice(rest.length);
}

onTerminal("the full-screen view leaves the main screen as it was, with the last answer below", async () => {
  await using server = startModelServer([], { fallback: { text: ANSWER }, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url), {
    ...{ columns: 100, rows: 30, args: "--version" },
    files: { "crash.js": "Deno.addSignalListener('SIGUSR2', () => { throw new Error('planted'); });\n" },
  });
  const { terminal } = chat;
  const waits = (mark: string) =>
    shownSoon(terminal, (screen) => screen.includes(`\n${mark}`) && WAITS.test(screen));
  await waits("left-with-0");
  const before = await modes(chat);
  await chat.enter("echo tty-$(stty -g | cksum)");
  await waits("tty-");
  const tty = /^tty-.+$/m.exec(await terminal.screen())?.[0];
  const change = "s#--no-config#--no-config' '--preload=crash.js#; s/^reasonix/failing/";
  await chat.enter(`eval "$(declare -f reasonix | sed "${change}")"; echo defined`);
  await waits("defined");

  /** Ends the view in a way; returns the new lines of the main screen. */
  const round = async (command: string, end: () => Promise<unknown>, mark = "left-with-") => {
    const known = await lines(chat);
    await opened(chat, `${command}; echo "left-with-$? tty-$(stty -g | cksum)"`);
    await end();
    await waits(mark);
    const now = await lines(chat);
    assertEquals(now.slice(0, known.length - 1), known.slice(0, -1), "the lines above are as they were");
    assertEquals(await modes(chat), before);
    return now.slice(known.length).filter((line) => line !== "");
  };

  const first = await round("reasonix --tui", async () => {
    await chat.enter("hello");
    // While the turn runs, the first Ctrl+C ends it.
    await shownSoon(terminal, (screen) => screen.includes(SHOWN) && !screen.includes("Esc stops"));
    await quit(chat);
  });
  afterAnswer(first, `left-with-0 ${tty}`, "$");
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    const ended = await round("reasonix --tui -c", async () => Deno.kill(await chat.pid(), signal));
    afterAnswer(ended, `left-with-143 ${tty}`, "$");
  }
  // A terminal that answers nothing.
  afterAnswer(await round("TERM=linux reasonix --tui -c", () => quit(chat)), `left-with-0 ${tty}`, "$");
  const failed = await round("failing --tui -c", async () => Deno.kill(await chat.pid(), "SIGUSR2"));
  const trace = afterAnswer(failed);
  assertStringIncludes(trace.join("\n"), "planted");
  assertEquals(trace.slice(-2), [`left-with-1 ${tty}`, "$"]);

  // Ctrl-Z, and the view again; then stopped by another process, which leaves it on the screen.
  const stopped = await round("reasonix --tui -c", () => terminal.press("C-z"), "[1]+");
  assertStringIncludes(afterAnswer(stopped).join("\n"), "Stopped");
  const known = await lines(chat);
  await opened(chat, "fg");
  Deno.kill(await chat.pid(), "SIGSTOP");
  await shownSoon(terminal, (screen) => screen.includes("Stopped"));
  await opened(chat, "fg");
  await shownSoon(terminal, (screen) => !screen.includes("Stopped"));
  await quit(chat);
  await shownSoon(terminal, (screen) => /Continue with.*\n\$\s*$/.test(screen));
  assertEquals((await lines(chat)).slice(0, known.length - 1), known.slice(0, -1));
  assertEquals(await modes(chat), before);

  // A terminal without another screen shows no part of the view afterwards.
  await chat.enter("tmux set-option -g alternate-screen off; clear; echo; echo off");
  await waits("off");
  await opened(chat, "reasonix --tui -c; echo out-$?");
  await quit(chat);
  await shownSoon(terminal, (screen) => screen.includes("out-0"));
  const rows = (await terminal.screen()).split("\n").map((line) => line.trimEnd()).filter(Boolean);
  afterAnswer(rows, "out-0", "$");
  assert(!(await terminal.history()).includes("│"), "no row of the view is in the history");
});

/** A copy of the program, whose view is another file, or none. */
async function programWithView(view?: string): Promise<AsyncDisposable & { readonly file: string }> {
  const file = await programFile();
  const [, from = ".", name = ""] = /^(.*)\/([^/]*)$/.exec(file) ?? [];
  const directory = await Deno.makeTempDir({ prefix: "reasonix-copy-" });
  for await (const entry of Deno.readDir(from)) {
    if (entry.isFile) await Deno.copyFile(`${from}/${entry.name}`, `${directory}/${entry.name}`);
  }
  const full = `${directory}/${name.replace(/\.js$/, ".full.js")}`;
  await Deno.remove(full);
  if (view !== undefined) await Deno.writeTextFile(full, view);
  return { file: `${directory}/${name}`, [Symbol.asyncDispose]: () => removeTree(directory) };
}

onTerminal("without the file of the view, or with a broken one, the chat stays and says why", async () => {
  await using server = startModelServer([], { fallback: { text: ANSWER }, check: { prefix: false } });
  for (const view of [undefined, "throw new Error('planted');\n"]) {
    await using program = await programWithView(view);
    await using chat = await openChat(mockConfig(server.url), {
      ...{ columns: 100, rows: 30, args: "--tui", program: program.file },
    });
    const { terminal } = chat;
    const shown = (times: number) =>
      shownSoon(terminal, (screen) => {
        // It may be broken where a row ends.
        const words = screen.replaceAll(/\s+/g, " ");
        return words.split("put it next to the program, or install it again").length > times &&
          words.includes("reasonix.full.js") && !words.includes("Internal error") && EMPTY.test(screen);
      });
    await shown(1);
    assertEquals(await terminal.ask("#{alternate_on}"), "0");
    await chat.enter("hello");
    await shownSoon(terminal, (screen) => screen.includes(SHOWN));
    await chat.enter("/view");
    await shown(2);
    assertEquals(await terminal.ask("#{alternate_on}"), "0");
    await chat.enter("and again");
    await shownSoon(terminal, (screen) => screen.split(SHOWN).length === 3);
    await quit(chat);
    await shownSoon(terminal, (screen) => screen.includes("left-with-0"));
  }
});

/** Texts that enter and leave another screen; a console without one ignores them. */
// deno-lint-ignore no-control-regex
const OTHER_SCREEN = /\x1b\[\?(?:47|1047|1049)[hl]/g;

onTerminal(
  "what the program writes leaves no trace in xterm.js and on a console with one screen",
  async () => {
    await using server = startModelServer([], { fallback: { text: ANSWER }, check: { prefix: false } });
    for (const name of ["xterm-256color", "linux"]) {
      const size = { columns: 100, rows: 30 };
      const mouse = "\n[ui]\nmouse = true\n";
      await using chat = await openChat(mockConfig(server.url) + mouse, { ...size, args: "--version" });
      const { terminal } = chat;
      await shownSoon(terminal, (screen) => screen.includes("left-with-0") && WAITS.test(screen));
      const written = await terminal.record();
      await chat.enter(`clear; echo above; TERM=${name} reasonix --tui; echo out-$?`);
      await shownSoon(terminal, (screen) => READY.test(screen));
      await chat.enter("hello");
      await shownSoon(terminal, (screen) => screen.includes(SHOWN));
      // A click in Files and one in the message.
      await terminal.type("\x1b[<0;90;5M\x1b[<0;90;5m");
      await terminal.shows("Esc message");
      await terminal.type("\x1b[<0;10;29M\x1b[<0;10;29m");
      await terminal.shows("Tab panels");
      await quit(chat);
      await shownSoon(terminal, (screen) => screen.includes("out-0") && WAITS.test(screen));
      let bytes: string | undefined;
      while (bytes === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        // The shell sets modes with its next prompt.
        bytes = /above\r\n(?!.*above\r\n).*out-0\r\n/s.exec(await written())?.[0];
      }

      const xterm = new VirtualTerminal(size);
      xterm.write(bytes);
      const rows = xterm.text().filter((row) => row.trim() !== "");
      assertEquals(rows[0], "above");
      afterAnswer(rows.slice(1), "out-0");
      assertEquals(xterm.modes(), new VirtualTerminal().modes());
      const oneScreen = new VirtualTerminal(size);
      oneScreen.write(bytes.replaceAll(OTHER_SCREEN, ""));
      const left = oneScreen.text().filter((row) => row.trim() !== "");
      afterAnswer(left, "out-0");
      assertEquals(oneScreen.modes(), new VirtualTerminal().modes());
    }
  },
);
