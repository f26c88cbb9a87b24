/** Esc stops every activity of the chat at once, and the session continues. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, textEvent, type Turn } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

/** Most milliseconds from the key to a screen on which nothing runs any more. */
const LIMIT_MS = 200;
/** A busy machine gets another try. */
const TRIES = 12;

/** The activities of the agent, with the message that starts each and the text that shows it. */
const PLACES = [
  { name: "waiting for the model", message: "wait", shows: "Esc stops" },
  { name: "an answer that streams", message: "stream", shows: "The beginning of an answer" },
  { name: "a shell command", message: "sleep", shows: "from the command" },
  { name: "a line of the shell", message: "!echo typed; sleep 60", shows: "typed\n" },
  { name: "an approval", message: "remove", shows: "Run this command?" },
  { name: "the wait before another attempt", message: "fail", shows: "attempt 2" },
  { name: "a compaction", message: "/compact", shows: "Esc stops" },
] as const;

const ALLOWED = '[permissions]\nallow = ["Bash(echo:*)", "Bash(sleep:*)", "Bash(seq:*)"]';

onTerminal("Escape stops every activity within 200 ms, and the session continues", async () => {
  const held = Promise.withResolvers<void>();
  const answer = ({ json }: RecordedRequest): Turn => {
    const last = json.messages.at(-1);
    const said = last.role === "user" ? JSON.stringify(last.content) : "";
    if (json.tool_choice === "none") return { text: "too late", before: held.promise };
    if (said.includes("wait")) return { text: "too late", before: held.promise };
    if (said.includes("stream")) return { stream: [textEvent("The beginning of an answer"), held.promise] };
    if (said.includes("sleep")) {
      return { calls: [{ name: "bash", args: { command: "echo from the command; sleep 60" } }] };
    }
    if (said.includes("remove")) return { calls: [{ name: "bash", args: { command: "rm -rf build" } }] };
    if (said.includes("fail")) return { status: 503, headers: { "retry-after": "3" } };
    if (said.includes("count")) return { calls: [{ name: "bash", args: { command: "seq 4000" } }] };
    return { text: "That is all." };
  };
  await using server = startModelServer([], { fallback: answer, check: { prefix: false } });
  await using chat = await openChat(mockConfig(server.url, ALLOWED));
  const { terminal } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("count");
  await terminal.shows("That is all.");
  for (const { name, message, shows } of PLACES) {
    const times: number[] = [];
    while (!times.some((time) => time <= LIMIT_MS)) {
      assert(times.length < TRIES, `${name}: it took ${times} ms`);
      await terminal.press("C-l");
      await shownSoon(terminal, (screen) => screen.trim().startsWith(EMPTY));
      const asked = server.requests.length;
      await chat.enter(message);
      const isThere = () => !/^(?:wait|\/compact)$/.test(message) || server.requests.length > asked;
      await shownSoon(terminal, (screen) => screen.includes(shows) && isThere());
      const begun = performance.now();
      await terminal.press("Escape");
      await shownSoon(terminal, (screen) => !/Esc stops|stopping|\?\n/.test(screen) && /^> /m.test(screen));
      times.push(Math.round(performance.now() - begun));
      // A canceled command returns to the composer.
      if ((await terminal.screen()).includes("> /compact")) await terminal.press("C-c");
      await terminal.shows(EMPTY);
    }
  }
  held.resolve();
  await chat.enter("and now?");
  await terminal.shows("That is all.");
  const { messages } = server.requests.at(-1)?.json ?? {};
  const text = JSON.stringify(messages);
  for (const part of ["3999", "The beginning of an answer", "remove", "and now?"]) {
    assertStringIncludes(text, part);
  }
  assert(!text.includes("compaction-summary"));
  await terminal.press("C-d");
  await terminal.shows("left-with-0");
  assertEquals((await chat.world.run(["session", "list"])).code, 0);
});
