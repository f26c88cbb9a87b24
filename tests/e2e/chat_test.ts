/** A person in the chat: the program itself, on a terminal, beside a model that does as it is told. */
import { exists } from "../../src/path/probe.ts";
import { loadTexts } from "../../src/i18n/mod.ts";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

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

onTerminal(
  "a session: an edit, a refusal with its reason, a diff, back and forth, kill -9, and on it goes",
  async () => {
    await using server = startModelServer([], { fallback: obedient, check: { prefix: false } });
    await using chat = await openChat(mockConfig(server.url));
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("Please write a file.");
    await terminal.shows("Allow write_file?");
    await terminal.shows("+ hello");
    await chat.answer("y");
    await terminal.shows("That was the work.");
    assertEquals(await world.read("hello.txt"), "hello\nworld\n");
    await terminal.shows(EMPTY);

    await chat.enter("Now remove the build.");
    await terminal.shows("│ rm -rf build");
    await chat.answer("n");
    await terminal.shows("Tell the model why");
    await terminal.type("keep it, 留着");
    await terminal.press("Enter");
    await terminal.shows(EMPTY);
    await server.received(4);
    assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "keep it, 留着");

    await terminal.press("C-o");
    await terminal.shows("What the transcript shows only a part of");
    // The newest is first; the file is the one before.
    await terminal.press("Down", "Enter");
    await terminal.shows("+ world");
    await terminal.press("Escape");
    await terminal.shows("What the transcript shows only a part of");
    await terminal.press("Escape");
    await terminal.shows(EMPTY);

    await chat.enter("/rewind");
    await terminal.shows("Go back to which moment?");
    // After turn 1, before the first; the end of turn 2 is where the session is.
    await terminal.press("Down");
    await terminal.shows("hello.txt");
    await terminal.press("Enter");
    await terminal.shows("Bring back what?");
    await terminal.press("b", "Enter");
    await shownSoon(terminal, () => !exists(`${world.dir}/hello.txt`));
    await terminal.shows(EMPTY);
    await chat.enter("/redo");
    await shownSoon(terminal, () => exists(`${world.dir}/hello.txt`));
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

onTerminal(
  "without a configuration the wizard comes first, and then the answer to the first message",
  async () => {
    const texts = await loadTexts("setup", "en");
    await using server = startModelServer([], {
      models: ["small-1"],
      fallback: { text: "Forty-two." },
      check: { prefix: false },
    });
    await using chat = await openChat("", { args: "'what is six by seven?'", rows: 50 });
    const { terminal, world } = chat;
    await terminal.shows(texts.whichProvider);
    await terminal.press("Up", "Enter");
    await terminal.shows(texts.address);
    await chat.enter(server.url);
    await terminal.shows(texts.providerName);
    await chat.enter("mine");
    await terminal.shows(texts.keyOrNone("MINE_API_KEY").slice(0, 14));
    await chat.enter("sk-right-0123456789abcdef");
    await terminal.shows(`◆  ${texts.model}`);
    await terminal.press("Enter");
    await terminal.shows(texts.askWindow.slice(0, 14));
    await terminal.press("Enter");
    const screen = await terminal.shows("Forty-two.");
    assertStringIncludes(screen, "> what is six by seven?");
    await terminal.shows(EMPTY);
    assertStringIncludes(await Deno.readTextFile(`${world.home}/config.toml`), 'default_model = "mine"');
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
