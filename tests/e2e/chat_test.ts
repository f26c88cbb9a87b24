/** A person in the chat: the program itself, on a terminal, beside a model that does as it is told. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import {
  finishEvent,
  type RecordedRequest,
  startModelServer,
  textEvent,
  type Turn,
  usageEvent,
} from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { openTerminal, type Terminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

/** The last message of the user. */
function said({ json }: RecordedRequest): string {
  const last = json.messages.at(-1);
  return last.role === "user" ? JSON.stringify(last.content) : "";
}

/** Does what the last message says. */
function obedient(request: RecordedRequest): Turn {
  const text = said(request);
  if (text === "") return { text: "That was the work." };
  if (text.includes("write")) {
    return { calls: [{ name: "write_file", args: { path: "hello.txt", content: "hello\nworld\n" } }] };
  }
  if (text.includes("remove")) return { calls: [{ name: "bash", args: { command: "rm -rf build" } }] };
  if (text.includes("code")) return { text: "Here:\n\n```ts\nconst two = 2; // 二\n```\n\nThat is all." };
  if (text.includes("number")) return { text: "It was forty-two." };
  return { text: "Noted." };
}

interface Chat extends AsyncDisposable {
  readonly world: World;
  readonly terminal: Terminal;
  /** Types a line and sends it. */
  enter(line: string): Promise<void>;
  /** Answers a panel, once a person could have seen it: keys on their way to the composer do not. */
  answer(key: string): Promise<void>;
  /** The process of the program. */
  pid(): Promise<number>;
}

/** A panel that comes by itself takes no key for this long. */
const PAUSE_MS = 500;

async function openChat(
  config: string,
  { columns = 80, rows = 30, env = {}, args = "" } = {},
): Promise<Chat> {
  const world = await makeWorld(config);
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
      await terminal.press(key);
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
const EMPTY = "> Ask for something";

function onTerminal(name: string, fn: () => Promise<void>): void {
  Deno.test({ ...needs("tmux", hasTmux && Deno.build.os === "linux", name), fn });
}

onTerminal(
  "a task, an edit that is approved, a command that is denied, kill -9, and on it goes",
  async () => {
    await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
    await using chat = await openChat(mockConfig(server.url));
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("Please write a file.");
    // A frame may be seen half drawn.
    await terminal.shows("+ hello");
    await terminal.shows("Allow write_file?");
    await chat.answer("y");
    await terminal.shows("That was the work.");
    assertEquals(await world.read("hello.txt"), "hello\nworld\n");
    await terminal.shows(EMPTY);

    await chat.enter("Now remove the build.");
    await terminal.shows("│ rm -rf build");
    await chat.answer("n");
    await terminal.shows(EMPTY);

    Deno.kill(await chat.pid(), "SIGKILL");
    await terminal.shows("left-with-137");
    await chat.enter("stty sane; clear; reasonix -c; echo left-with-$?");
    await terminal.shows(EMPTY);
    await chat.enter("Which number was it?");
    await terminal.shows("It was forty-two.");
    const messages = JSON.stringify(server.requests.at(-1)?.json.messages);
    for (const text of ["Please write a file.", "Now remove the build.", "Which number"]) {
      assertStringIncludes(messages, text);
    }
    await terminal.press("C-d");
    await terminal.shows("left-with-0");
  },
);

onTerminal("what is typed while the agent works waits or is said at once, and is shown", async () => {
  const release = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  await using server = startModelServer([
    { text: "First.", before: release.promise },
    { text: "Second.", before: second.promise },
  ], { fallback: { text: "Third." }, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("Begin.");
  await server.received(1);
  await chat.enter("Wait for your turn.");
  // It has left the composer, and is still to be seen.
  await shownSoon(terminal, (screen) => /^> Ask/m.test(screen) && screen.includes("Wait for your turn."));
  assertEquals(server.requests.length, 1);
  release.resolve();
  await server.received(2);
  assertStringIncludes(said(server.requests[1] as RecordedRequest), "Wait for your turn.");
  await terminal.shows("First.");
  // Esc stops, and what waited is the user's again.
  await chat.enter("Not sent yet.");
  await terminal.shows("Not sent yet.");
  await terminal.press("Escape");
  await terminal.shows("> Not sent yet.");
  second.resolve();
  await terminal.press("C-c");
  await terminal.shows(EMPTY);
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
});

onTerminal("an unknown slash word is answered with a guess, and no model is asked", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("/hepl");
  assertStringIncludes(await terminal.shows("/help"), "hepl");
  assertEquals(server.requests.length, 0);
  await terminal.press("C-c");
  await terminal.press("C-c", "C-c");
  await terminal.shows("left-with-0");
});

onTerminal("a paste arrives as it was, tabs, blank lines and all", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  const text = 'func main() {\n\tif ok {\n\t\tprint("汉字 👩‍👩‍👧")  \n\t}\n\n}';
  await terminal.paste(text);
  await terminal.shows("func main");
  await terminal.press("Enter");
  await terminal.shows("Noted.");
  assertStringIncludes(said(server.requests[0] as RecordedRequest), JSON.stringify(text).slice(1, -1));
});

onTerminal("signals end the chat with the shell's terminal as it was", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." } });
  await using chat = await openChat(mockConfig(server.url));
  const { terminal } = chat;
  for (const [signal, code] of [["SIGTERM", 143], ["SIGHUP", 143]] as const) {
    await terminal.shows(EMPTY);
    await terminal.type("a draft");
    await terminal.shows("> a draft");
    Deno.kill(await chat.pid(), signal);
    await terminal.shows(`left-with-${code}`);
    await chat.enter("echo sane-$((1+1)); stty -a | grep -o '[-]*icanon'");
    assertStringIncludes(await terminal.shows("sane-2"), "icanon");
    assertEquals(await terminal.ask("#{cursor_flag} #{wrap_flag}"), "1 1");
    await chat.enter("clear; reasonix; echo left-with-$?");
  }
  await terminal.shows(EMPTY);
  await terminal.type("kept");
  await terminal.shows("> kept");
  await terminal.press("C-z");
  await terminal.shows("Stopped");
  await chat.enter("clear; fg");
  await terminal.shows("> kept");
  await terminal.type(" on");
  await terminal.shows("> kept on");
});

onTerminal("fifty resizes while an answer comes leave one composer and a whole history", async () => {
  const lines = Array.from({ length: 90 }, (_, index) => `Line ${String(index).padStart(3, "0")}.`);
  const next = lines.map(() => Promise.withResolvers<void>());
  // The screen is full: where it is not, tmux puts the cursor elsewhere when lines wrap.
  const full = lines.splice(0, 40);
  const stream = [
    textEvent(full.map((line) => `${line}\n\n`).join("")),
    ...lines.flatMap((line, index) => [next[index]?.promise ?? "", textEvent(`${line}\n\n`)]),
    finishEvent(),
    usageEvent(),
  ];
  await using server = startModelServer([{ stream }]);
  // A frame that is on its way while the terminal changes is drawn for the size before; here none is.
  await using chat = await openChat(mockConfig(server.url), { env: { REASONIX_REDUCED_MOTION: "1" } });
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("Count.");
  await terminal.shows("Line 039.");
  for (const [round, line] of lines.entries()) {
    next[round]?.resolve();
    await shownSoon(terminal, (screen) => screen.includes(line));
    // The hint in the empty composer does not fit: it is cut to the width, or one less before a blank.
    const columns = 28 + (round * 7) % 20;
    await terminal.resize(columns, 16 + (round * 5) % 20);
    await shownSoon(terminal, (screen) => {
      const { length = 0 } = /^> Ask.*$/m.exec(screen)?.[0] ?? "";
      return length === columns || length === columns - 1;
    });
  }
  await terminal.resize(80, 30);
  await terminal.shows(EMPTY);
  const history = await terminal.history();
  assertEquals(history.match(/Line \d{3}\./g), [...full, ...lines], history);
  assertEquals(history.split("> Ask").length - 1, 1, history);
});

/** Waits for a screen, with many looks a second. */
async function shownSoon(terminal: Terminal, isSo: (screen: string) => boolean): Promise<string> {
  const end = performance.now() + 20_000;
  for (;;) {
    const screen = await terminal.screen();
    if (isSo(screen)) return screen;
    if (performance.now() > end) throw new Error(`The screen does not come to that:\n${screen}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

onTerminal("code in an answer is shown by the program as it is installed, and the chat goes on", async () => {
  await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url), {
    env: { REASONIX_LANG: "zh-CN", NO_COLOR: "" },
  });
  const { terminal } = chat;
  await terminal.shows("> 说说要做什么");
  await chat.enter("code");
  const screen = await terminal.shows("That is all.");
  assertStringIncludes(screen, "const two = 2; // 二");
  await chat.enter("code");
  await terminal.shows("> 说说要做什么");
});
