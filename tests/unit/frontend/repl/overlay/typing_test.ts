/** Typed text answers no prompt, at any time and with any pauses. */
import type { ApprovalRequest } from "../../../../../src/permission/mod.ts";
import type { Dialogs } from "../../../../../src/frontend/repl/overlay/dialogs.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { openStage } from "../../../../support/overlay_stage.ts";
import { randomFrom, SEED } from "../../../../support/seed.ts";

const TEXTS = 10_000;
const COMMAND: ApprovalRequest = {
  callId: "1",
  tool: "bash",
  subject: "npm run build",
  reason: "no rule applies",
  scopes: ["once", "session", "project", "always"],
  rule: "Bash(npm run build)",
  projectRule: "Bash(npm run build)",
  prefixRule: "Bash(npm run:*)",
  savedIn: "/h/config.toml",
  checkRule: () => undefined,
};
const EDIT: ApprovalRequest = {
  ...COMMAND,
  tool: "edit_file",
  subject: "add.js",
  sessionRule: "Edit",
  changes: [{
    path: "add.js",
    change: "updated",
    added: 40,
    removed: 0,
    diff: "@@ -0,0 +1,40 @@\n+x".repeat(40),
  }],
};
const PUSH: ApprovalRequest = {
  ...COMMAND,
  subject: "git push --force",
  destructive: [{ command: "git push --force", reason: "it rewrites", targets: [] }],
};
const OPTIONS = [{ label: "Allow once" }, { label: "Allow for this session" }, { label: "Decline" }];

const WORDS = (
  "also yes you so she how please no the echo wait and 2 12 3 things a I y s test bash -m push 请 先 看 日志 " +
  "type next every skip pay key why keep have always new again edit"
).split(" ");

type Ask = (dialogs: Dialogs, signal: AbortSignal) => Promise<unknown>;
const ask = (multiple: boolean, written = false): Ask => (dialogs, signal) =>
  dialogs.ask([{ question: "Which?", options: OPTIONS, multiple, written }], signal);

/** Each kind of prompt in the chat. */
const QUESTIONS: Readonly<Record<string, Ask>> = {
  command: (dialogs, signal) => dialogs.approve(COMMAND, signal),
  edit: (dialogs, signal) => dialogs.approve(EDIT, signal),
  network: (dialogs, signal) =>
    dialogs.approve({ ...COMMAND, network: { hosts: ["registry.example.org"] } }, signal),
  directory: (dialogs, signal) => dialogs.approve({ ...EDIT, directory: "/h/notes" }, signal),
  destructive: (dialogs, signal) => dialogs.approve(PUSH, signal),
  unconfined: (dialogs, signal) => dialogs.approve({ ...COMMAND, escape: { evidence: "denied" } }, signal),
  plan: (dialogs, signal) => dialogs.plan({ plan: "1. Write tests" }, signal),
  trust: (dialogs) => dialogs.trust(["a hook would run"], "all of it"),
  options: ask(false),
  several: ask(true),
  written: ask(false, true),
  confirmed: (dialogs) => dialogs.confirm("Go on in a copy?", {}, false),
  called: (dialogs) => dialogs.confirm("Lose it?", { danger: true }),
  listed: (dialogs) =>
    dialogs.choose("Bring back what?", [
      { label: "Both", key: "b", value: 1 },
      { label: "Files", key: "f", value: 2 },
      { label: "Conversation", key: "c", value: 3 },
    ]),
  filtered: (dialogs) =>
    dialogs.choose("Which session?", WORDS.map((label) => ({ label, value: label })), { filter: true }),
  prompted: (dialogs) => dialogs.prompt("Which rule?", "Bash(npm:*)"),
};

/** Panels that the user opened accept text after a second without input. */
const TAKE_TEXT = ["filtered", "prompted"];

Deno.test(`ten thousand texts at human typing speed answer nothing and are all kept (seed ${SEED})`, async () => {
  const random = randomFrom(1);
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  const message = () =>
    Array.from({ length: between(1, 4) }, () => WORDS[between(0, WORDS.length - 1)] ?? "").join(" ");
  /** The keys of a text, with some typing errors that are corrected. */
  const keysOf = (text: string) =>
    [...text].flatMap((character) => random() < 0.03 ? ["x", "\x7f", character] : [character]);
  const stage = openStage({ columns: 40, rows: 12 });
  const { dialogs, terminal, composer, sent, pass } = stage;
  const kinds = Object.entries(QUESTIONS);
  for (let round = 0; round < TEXTS; round++) {
    const [kind, question] = kinds[round % kinds.length] ?? ["", undefined];
    const messages = Array.from({ length: between(1, 2) }, message);
    const isSent = random() < 0.5;
    const keys = messages.flatMap((text, index) => [
      ...keysOf(text),
      // Now and then a key bounces.
      ...(index < messages.length - 1 || isSent ? random() < 0.05 ? ["\r", "\r"] : ["\r"] : []),
    ]);
    // Before the first key, among the others, or after a while.
    const opens = between(0, keys.length - 1);
    const abort = new AbortController();
    let answered: unknown;
    let asking: Promise<unknown> = Promise.resolve();
    let top: unknown;
    for (const [at, key] of keys.entries()) {
      const longest = TAKE_TEXT.includes(kind) && composer.empty ? 900 : 2000;
      const written = keys.slice(keys.lastIndexOf("\r", at - 1) + 1, at).join("").replaceAll(/.\x7f/g, "");
      // A lone letter and an Enter 300 ms later are an answer.
      if (key === "\r" && written.length <= 1) pass(between(80, 299));
      else pass(random() < 0.1 ? between(400, longest) : between(80, 400));
      if (at === opens) {
        asking = question?.(dialogs, abort.signal).then((answer) => answered = answer, () => {}) ?? asking;
        // A panel that is loaded comes without a timer.
        for (let turn = 0; !dialogs.overlays.top; turn++) {
          await new Promise<void>((resolve) => turn % 100 === 99 ? setTimeout(resolve, 0) : resolve());
        }
        top = dialogs.overlays.top;
        if (key !== "\r") pass(between(0, longest));
      }
      terminal.type(key);
    }
    const where = `seed ${SEED}, round ${round}: ${kind}, ${JSON.stringify(keys.join(""))} at ${opens}`;
    assert(dialogs.overlays.top === top, `typing answered: ${where}`);
    const kept = [...sent.splice(0), ...(composer.empty ? [] : [composer.text])];
    // A single letter may have selected a row.
    const longer = (texts: readonly string[]) => texts.filter((text) => text.length > 1);
    assertEquals(longer(kept), longer(messages), where);
    dialogs.overlays.cancel();
    abort.abort();
    await asking;
    assertEquals(answered === undefined || answered === "ignore" || answered === false, true, where);
    composer.text = "";
    pass(5000);
  }
});
