/** A chat that cannot draw any more continues in plain lines in the same session. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig } from "../support/program.ts";
import { onTerminal, shownSoon } from "../support/terminal_chat.ts";
import { openTerminal } from "../support/tmux.ts";

const ROOT = new URL("../..", import.meta.url);
const MAIN = new URL("cli/main.ts", ROOT).pathname;

/** The composer fails from the moment on when it would have shown this word. */
const BREAKING = `
import { Composer } from "${new URL("src/frontend/repl/composer/composer.ts", ROOT)}";
const whole = Composer.prototype.frame;
let broken = false;
Composer.prototype.frame = function (...size) {
  const frame = whole.apply(this, size);
  broken ||= frame.lines.join("").includes("BREAK");
  if (broken) throw new Error("no picture");
  return frame;
};
`;

onTerminal("a chat that cannot draw any more continues in lines in the same session", async () => {
  await using server = startModelServer([], { fallback: { text: "Noted." }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const preload = `${world.home}/breaking.ts`;
  await Deno.writeTextFile(preload, BREAKING);
  await using terminal = await openTerminal(MAIN, {
    cwd: world.dir,
    env: {
      REASONIX_HOME: world.home,
      HOME: world.home,
      LC_ALL: "C.UTF-8",
      REASONIX_LANG: "en",
      ...denoDir(),
    },
  });
  const enter = async (line: string) => {
    await terminal.type(line);
    await terminal.press("Enter");
  };
  const flags = `-A --quiet --no-check --config '${new URL("deno.json", ROOT).pathname}'`;
  await enter(`clear; '${Deno.execPath()}' run ${flags} --preload '${preload}' '${MAIN}'; echo left-with-$?`);
  await terminal.shows("> Ask for something");
  await enter("first");
  await terminal.shows("Noted.");
  await terminal.shows("> Ask for something");
  await terminal.type("BREAK");
  // Keys before the prompt would be echoed above it.
  const screen = await shownSoon(terminal, (now) => /one line is one message[^>]*\n>/.test(now));
  assertStringIncludes(screen, "Something could not be shown; please report it: no picture");
  await enter("second");
  await server.received(2);
  const said = JSON.stringify(server.requests[1]?.json.messages);
  for (const text of ["first", "Noted.", "second"]) assertStringIncludes(said, text);
  // The terminal reads the line in canonical mode again, with echo.
  await terminal.shows("> second\nNoted.");
  assertEquals(await terminal.ask("#{cursor_flag} #{wrap_flag}"), "1 1");
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
});
