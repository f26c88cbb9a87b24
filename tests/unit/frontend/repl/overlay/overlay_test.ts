import fc from "fast-check";
import type { ApprovalRequest } from "../../../../../src/permission/mod.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { openStage, type StageOptions } from "../../../../support/overlay_stage.ts";
import { SEED } from "../../../../support/seed.ts";

const REQUEST: ApprovalRequest = {
  callId: "1",
  tool: "bash",
  subject: "rm notes.txt",
  reason: "no rule applies",
  scopes: ["once", "session", "always"],
  rule: "Bash(rm notes.txt)",
  prefixRule: "Bash(rm:*)",
};

/** A stage with an approval, before the pause after its appearance has elapsed. */
function asked(changes: Partial<ApprovalRequest> = {}, options: StageOptions = {}) {
  const stage = openStage(options);
  const abort = new AbortController();
  const answer = stage.dialogs.approve({ ...REQUEST, ...changes }, abort.signal);
  return { ...stage, abort, answer };
}

Deno.test("typed text does not answer an approval after any pause", async () => {
  const { terminal, dialogs, composer, answer, shown, pass } = asked();
  terminal.type("please ");
  await shown();
  for (const character of "yes y a s p 1 2") {
    pass(5000);
    assert(dialogs.overlays.aside);
    terminal.type(character);
  }
  terminal.paste("\ty");
  assert(dialogs.overlays.top !== undefined, "typing answered the question");
  assertEquals(composer.text, "please yes y a s p 1 2\ty");
  terminal.press("tab");
  assert(!dialogs.overlays.aside);
  terminal.press("y", "enter");
  assertEquals(await answer, { allow: true, scope: "once" });
  assertEquals(composer.text, "please yes y a s p 1 2\ty");
});

Deno.test("a key that arrives before a prompt can be read starts a message", async () => {
  const { terminal, dialogs, composer, answer, shown, pass, choose } = asked();
  await shown();
  pass(-900);
  terminal.type("y");
  assertEquals(composer.text, "y");
  // It is undone; the user is still typing.
  terminal.press("backspace");
  pass(900);
  assert(dialogs.overlays.aside);
  pass(200);
  assert(!dialogs.overlays.aside);
  choose("y");
  assertEquals(await answer, { allow: true, scope: "once" });
});

Deno.test("Ctrl-C clears the current message and then refuses; Esc refuses immediately", async () => {
  const first = asked();
  first.terminal.type("half a senten");
  await first.shown();
  first.terminal.press("ctrl+c");
  assert(first.dialogs.overlays.top !== undefined, "the question was left");
  first.composer.discard();
  first.terminal.press("ctrl+c");
  assertEquals(await first.answer, undefined);
  const second = asked();
  second.terminal.type("half a senten");
  await second.shown();
  second.terminal.press("escape");
  assertEquals(await second.answer, undefined);
  assertEquals(second.composer.text, "half a senten");
});

Deno.test("the answer to a prompt takes effect in the next turn of the event loop", async () => {
  const subject = Array.from({ length: 20_000 }, (_, index) => `echo line ${index} 行`).join("\n");
  const { terminal, shown, answer, choose } = asked({ subject });
  await shown();
  choose("y");
  await answer;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert(!terminal.screen().some((line) => line.includes("Run this command?")));
});

Deno.test("a line is sent although a prompt appeared while it was typed", async () => {
  const { terminal, sent, shown, pass, dialogs } = asked();
  terminal.type("go o");
  await shown();
  pass(-1000);
  terminal.type("n");
  terminal.press("enter");
  assertEquals(sent, ["go on"]);
  assert(dialogs.overlays.top !== undefined);
});

Deno.test("the key that answers one prompt does not answer the next", async () => {
  const { terminal, dialogs, answer, shown, pass, composer, choose } = asked();
  await shown();
  const second = dialogs.approve({ ...REQUEST, callId: "2" }, new AbortController().signal);
  await new Promise((resolve) => setTimeout(resolve, 20));
  choose("y");
  assertEquals((await answer)?.allow, true);
  await Promise.resolve();
  terminal.press("enter", "y");
  assert(dialogs.overlays.top !== undefined, "the second question was answered, too");
  assertEquals(composer.text, "y");
  terminal.press("backspace");
  pass(1000);
  choose("n");
  pass(1000);
  terminal.press("enter");
  assertEquals((await second)?.allow, false);
});

Deno.test("Escape closes a prompt at any time, and an abort removes it", async () => {
  const first = asked();
  await first.shown();
  first.pass(-1000);
  first.terminal.press("escape");
  assertEquals(await first.answer, undefined);
  const second = asked();
  await second.shown();
  second.abort.abort();
  assertEquals(await second.answer, undefined);
  assertEquals(second.dialogs.overlays.top, undefined);
});

Deno.test("every answer of an approval has a key", async () => {
  const answers = {
    "y enter": { allow: true, scope: "once" },
    "w enter": { allow: true, scope: "once", network: "once" },
    "s enter": { allow: true, scope: "session" },
    "a enter r enter": { allow: true, scope: "once", network: "session" },
    "a enter h enter": { allow: true, scope: "once", network: "project" },
    "a enter s enter": { allow: true, scope: "session", rule: "Bash(rm:*)" },
    "a enter e enter": { allow: true, scope: "always" },
    "a enter w enter": { allow: true, scope: "always", rule: "Bash(rm:*)" },
    "a enter down enter": { allow: true, scope: "once", network: "session" },
    "a enter escape y enter": { allow: true, scope: "once" },
    "n enter enter": { allow: false, scope: "once" },
    "1 enter": { allow: true, scope: "once" },
    "5 enter enter": { allow: false, scope: "once" },
  };
  for (const [keys, expected] of Object.entries(answers)) {
    const { terminal, answer, shown, pass } = asked({ network: { hosts: ["a.example"] }, savesHosts: true });
    await shown();
    for (const key of keys.split(" ")) {
      terminal.press(key);
      pass(1000);
    }
    assertEquals(await answer, expected, keys);
  }
});

Deno.test("a command that wrote outside can be granted its directory, and no run without an enforced sandbox", async () => {
  const escape = { evidence: "touch: cannot touch '/srv/x'" };
  const request = { scopes: ["once", "session"], directory: "/srv" } as const;
  for (const [enforced, first] of [[false, "d"], [true, "1"]] as const) {
    const { terminal, answer, shown, pass } = asked({
      ...request,
      escape: enforced ? { ...escape, enforced } : escape,
    });
    await shown();
    for (const key of [first, "enter"]) {
      terminal.press(key);
      pass(1000);
    }
    assertEquals(await answer, { allow: true, scope: "session" });
  }
});

Deno.test("the list of always has no selection, so that Enter alone saves nothing", async () => {
  const { terminal, answer, shown, pass, dialogs, choose } = asked({
    network: { hosts: ["a.example"] },
    savesHosts: true,
  });
  await shown();
  choose("a");
  for (let times = 0; times < 5; times++) {
    pass(1000);
    terminal.press("enter");
  }
  assert(!terminal.screen().some((line) => line.startsWith("›")));
  assert(dialogs.overlays.top !== undefined);
  terminal.press("escape");
  assert(terminal.screen().some((line) => line.startsWith("› 4. Always…")));
  terminal.press("escape");
  assertEquals(await answer, undefined);
});

Deno.test("a refusal can include a note, typed over several keys", async () => {
  const { terminal, answer, shown, choose } = asked();
  await shown();
  choose("n");
  terminal.type("not today 不行");
  terminal.press("enter");
  assertEquals(await answer, { allow: false, scope: "once", note: "not today 不行" });
});

Deno.test("a destructive command offers no always and does not run on Enter", async () => {
  const destructive: ApprovalRequest["destructive"] = [
    { command: "rm notes.txt", reason: "it deletes", targets: [] },
  ];
  const { terminal, answer, shown } = asked({ scopes: ["once"], destructive }, { colors: true });
  await shown();
  assert(!terminal.screen().some((line) => line.includes("Always")));
  assert(terminal.count("\x1b[31m") > 0, "nothing is red");
  terminal.press("enter");
  assertEquals((await answer)?.allow, false);
});

const DESTRUCTIVE = {
  scopes: ["once"],
  destructive: [{ command: "rm notes.txt", reason: "it deletes", targets: [] }],
} satisfies Partial<ApprovalRequest>;

for (const select of ["y", "1", "up"]) {
  Deno.test(`a destructive command runs when y is pressed a second after ${select} has selected it`, async () => {
    const { terminal, answer, shown, pass } = asked(DESTRUCTIVE);
    await shown();
    assertStringIncludes(terminal.screen().join("\n"), "enter chooses");
    terminal.press(select);
    assertStringIncludes(terminal.screen().join("\n"), "y after a second allows it");
    pass(1000);
    terminal.press("y");
    assertEquals(await answer, { allow: true, scope: "once" });
  });
}

/** Keys and the milliseconds before each, with `paste` for a pasted y. */
const HASTE: Readonly<Record<string, readonly (readonly [number, string])[]>> = {
  "Enter held down": [[0, "y"], ...Array.from({ length: 100 }, () => [30, "enter"] as const)],
  "Enter again and again": [[0, "y"], [1500, "enter"], [1500, "enter"]],
  "Enter after an arrow": [[0, "up"], [1500, "enter"], [1500, "enter"]],
  "Enter after Tab": [[0, "tab"], [500, "y"], [1500, "enter"]],
  "y held down": [[0, "y"], [700, "y"], ...Array.from({ length: 100 }, () => [30, "y"] as const)],
  "y typed ahead": [[0, "y"], [200, "y"], [200, "y"], [2000, "y"]],
  "messages that begin with y": [[0, "y"], [200, "enter"], [1500, "y"], [150, "e"], [150, "s"]],
  "a pasted y": [[0, "y"], [2000, "paste"], [2000, "paste"]],
  "only pastes": [[0, "paste"], [2000, "paste"]],
  "another letter": [[0, "y"], [2000, "a"], [2000, "s"]],
  "another digit": [[0, "1"], [2000, "1"], [2000, "1"]],
};

Deno.test("neither Enter nor haste allows a destructive command", async () => {
  for (const [name, keys] of Object.entries(HASTE)) {
    const { terminal, dialogs, abort, answer, shown, pass } = asked(DESTRUCTIVE);
    await shown();
    for (const [after, key] of keys) {
      pass(after);
      if (key === "paste") terminal.paste("y");
      else terminal.press(key);
    }
    const { top } = dialogs.overlays;
    abort.abort();
    const given = await answer.catch(() => undefined);
    assert(given?.allow !== true, name);
    assert(top !== undefined, `${name} has answered`);
  }
});

Deno.test("the composer is hidden while a panel is open, and comes back as it was", async () => {
  const { terminal, answer, shown, composer, pass, choose } = asked();
  terminal.type("half a senten");
  assert(terminal.screen().some((line) => line.startsWith("> half")));
  await shown();
  terminal.press("tab");
  assert(!terminal.screen().some((line) => line.startsWith("> half")));
  choose("n");
  pass(1000);
  terminal.press("enter");
  await answer;
  await Promise.resolve();
  assertEquals(composer.text, "half a senten");
  assert(terminal.screen().some((line) => line.startsWith("> half")));
});

Deno.test("a panel the user opened receives the next key, and a paste answers nothing", async () => {
  const { dialogs, terminal, composer, shown, pass, choose } = openStage();
  const answer = dialogs.confirm("Sure?");
  await shown();
  pass(-1000);
  terminal.paste("y");
  terminal.press("enter");
  assert(dialogs.overlays.top !== undefined);
  assertEquals(composer.text, "");
  pass(1000);
  choose("y");
  assertEquals(await answer, true);
});

Deno.test("a list of thousands is filtered by typed text and shows previews", async () => {
  const { dialogs, terminal, shown } = openStage();
  const entries = Array.from({ length: 5000 }, (_, index) => ({
    label: `session ${index}`,
    value: index,
    preview: () => Promise.resolve(`behind ${index}`),
  }));
  const answer = dialogs.choose("Which?", entries, { filter: true });
  await shown();
  terminal.press("end", "pageUp");
  await Promise.resolve();
  terminal.press("left");
  assert(terminal.screen().some((line) => /behind 498\d/.test(line)), terminal.screen().join("\n"));
  terminal.type("4321");
  await Promise.resolve();
  terminal.press("left");
  assert(terminal.screen().some((line) => line.includes("behind 4321")), terminal.screen().join("\n"));
  terminal.press("enter");
  assertEquals(await answer, 4321);
});

Deno.test("several options and custom text form one answer", async () => {
  const { dialogs, terminal, shown } = openStage();
  const question = { question: "Which?", options: [{ label: "a" }, { label: "b" }], multiple: true };
  const answer = dialogs.ask([question], new AbortController().signal);
  await shown();
  terminal.press("2", "down", "up", "space", "down");
  terminal.press("enter");
  terminal.type("c");
  terminal.press("enter");
  assertEquals(await answer, [["b", "c"]]);
});

Deno.test("every panel with any content fits screens from 20x5 to 300x100", async () => {
  const text = fc.string({
    unit: fc.constantFrom("a", " ", "漢", "👩‍👩‍👧", "\u202e", "\n", "한", "\x1b[2J"),
    maxLength: 200,
  });
  await fc.assert(
    fc.asyncProperty(
      text,
      text,
      fc.integer({ min: 20, max: 300 }),
      fc.integer({ min: 3, max: 98 }),
      async (...given) => {
        const [subject, reason, columns, rows] = given;
        const stage = openStage({ columns, rows: rows + 2 });
        const answer = stage.dialogs.approve({ ...REQUEST, subject, reason }, new AbortController().signal);
        await stage.shown();
        const { lines } = stage.dialogs.overlays.top?.frame(columns, rows) ?? { lines: [] };
        assert(lines.length <= rows && lines.length > 0, `${lines.length} of ${rows} rows`);
        for (const line of lines) assert(displayWidth(line) <= columns, JSON.stringify(line));
        stage.dialogs.overlays.cancel();
        await answer;
      },
    ),
    { numRuns: 60, seed: SEED },
  );
});

Deno.test("a command cannot hide anything: every character is shown or named", async () => {
  const { terminal, shown, dialogs, answer } = asked({
    subject: "ls \u200b\u2066-la\u2069 \u00a0\ufeff # " + " ".repeat(300) + "; curl evil",
  }, { rows: 40 });
  await shown();
  const screen = terminal.screen().join("\n");
  for (const name of ["\\u{200b}", "\\u{2066}", "\\u{2069}", "\\xa0", "\\u{feff}", "; curl evil"]) {
    assert(screen.includes(name), `${name} is not to be seen:\n${screen}`);
  }
  dialogs.overlays.cancel();
  await answer;
});

Deno.test("the rule of always can be edited: an invalid one stays for correction, a valid one answers", async () => {
  const { terminal, answer, shown, choose } = asked({
    rule: "Bash(npm run build)",
    scopes: ["once", "session", "always"],
    checkRule: (rule) =>
      rule === "Bash(npm:*)" ? { code: "wider", widest: "Bash(npm run build:*)" } : undefined,
  });
  await shown();
  choose("a");
  terminal.press("o", "enter");
  assert(
    terminal.screen().some((line) => line.includes("Bash(npm run build)")),
    terminal.screen().join("\n"),
  );
  terminal.press("ctrl+u");
  terminal.type("Bash(npm:*)");
  terminal.press("enter");
  const refused = terminal.screen().join("\n");
  assert(refused.includes("the widest is Bash(npm run build:*)"), refused);
  assert(refused.includes("> Bash(npm:*)") || refused.includes("Bash(npm:*)"), refused);
  terminal.press("ctrl+u");
  terminal.type("Bash(npm run build:*)");
  terminal.press("enter");
  assertEquals(await answer, { allow: true, scope: "always", rule: "Bash(npm run build:*)" });
});

Deno.test("a first letter selects its row, and two letters start a message", async () => {
  const { terminal, composer, dialogs, sent, shown, pass, answer, choose } = asked();
  const selected = () => terminal.screen().find((line) => line.startsWith("›"))?.slice(2, 4);
  await shown();
  terminal.type("a");
  assertEquals([selected(), composer.text], ["3.", ""]);
  pass(2000);
  terminal.type("lso add\r");
  assertEquals([sent, selected()], [["also add"], "1."]);
  // The message is sent; Enter does not follow it at once.
  pass(100);
  terminal.press("enter");
  assert(dialogs.overlays.top !== undefined, "Enter answered");
  pass(1000);
  choose("s");
  assertEquals(await answer, { allow: true, scope: "session" });
});

Deno.test("a letter and Enter in one read answer nothing, and the following text is a message", async () => {
  const { terminal, composer, dialogs, sent, shown, pass, answer } = asked();
  const selected = () => terminal.screen().find((line) => line.startsWith("›"))?.slice(2, 4);
  await shown();
  terminal.type("a");
  pass(299);
  terminal.press("enter");
  assert(dialogs.overlays.top !== undefined, "Enter right behind a letter answered");
  assertEquals([selected(), sent, composer.text], ["3.", [], ""]);
  pass(200);
  terminal.type("b\r");
  assertEquals([dialogs.overlays.top !== undefined, sent], [true, ["b"]]);
  pass(1000);
  // A letter that is taken back takes its selection along.
  terminal.type("n");
  terminal.press("backspace");
  assertEquals([selected(), composer.text], ["3.", ""]);
  pass(1300);
  terminal.type("y");
  terminal.press("down", "enter");
  assertEquals(await answer, { allow: true, scope: "session" });
});

Deno.test("a space marks an option, and starts a message when text follows it", async () => {
  const { dialogs, terminal, composer, shown, pass } = openStage();
  const question = { question: "Which?", options: [{ label: "a" }, { label: "b" }], multiple: true };
  const answer = dialogs.ask([question], new AbortController().signal);
  await shown();
  terminal.type(" ");
  assert(terminal.screen().some((line) => line.includes("[x] a")));
  terminal.type("2");
  assertEquals(composer.text, " 2");
  assert(!terminal.screen().some((line) => line.includes("[x]")));
  terminal.press("backspace", "backspace");
  pass(1000);
  terminal.type(" ");
  terminal.press("down", "space", "enter");
  assertEquals(await answer, [["a", "b"]]);
});

Deno.test("a panel the user opened receives no text of a message in progress", async () => {
  for (const typed of ["also\x7f", "also\r", "also\rthen\x7f"]) {
    const { dialogs, terminal, composer, sent, shown, pass } = openStage();
    dialogs.overlays.called();
    terminal.type(typed);
    const answer = dialogs.choose("Which?", [{ label: "add", value: 1 }], { filter: true });
    await shown();
    pass(-1000);
    terminal.type("add it\r");
    assert(dialogs.overlays.top !== undefined, `${JSON.stringify(typed)} and more chose an entry`);
    assertEquals([composer.text, sent.at(-1)?.endsWith("add it")], ["", true]);
    pass(1000);
    terminal.type("add\r");
    assertEquals(await answer, 1);
  }
});

Deno.test("Enter refuses until the end of a call was visible", async () => {
  for (
    const subject of [
      `echo hi ${"x".repeat(5000)} ; touch pwned`,
      `${Array.from({ length: 80 }, (_, index) => `echo ${index}`).join("\n")}\ntouch pwned`,
    ]
  ) {
    const unread = asked({ subject });
    await unread.shown();
    assert(!unread.terminal.screen().some((line) => line.includes("pwned")));
    unread.terminal.press("enter");
    assertEquals((await unread.answer)?.allow, false);
    const read = asked({ subject });
    await read.shown();
    for (let page = 0; page < 40; page++) read.terminal.press("pageDown");
    assert(read.terminal.screen().some((line) => line.includes("pwned")));
    read.terminal.press("enter");
    assertEquals(await read.answer, { allow: true, scope: "once" });
  }
});

Deno.test("Enter does not approve arguments and changes that are out of view", async () => {
  const diff = `@@ -0,0 +1,90 @@\n${Array.from({ length: 90 }, (_, index) => `+line ${index}`).join("\n")}`;
  const cases: Partial<ApprovalRequest>[] = [
    { tool: "mcp__server__send", subject: "send", rest: `{"a": "${"y".repeat(4000)}", "to": "evil"}` },
    {
      tool: "write_file",
      changes: [{ path: "a", change: "created", added: 90, removed: 0, diff }],
    },
  ];
  for (const changes of cases) {
    const { terminal, answer, shown } = asked(changes);
    await shown();
    terminal.press("enter");
    assertEquals((await answer)?.allow, false);
  }
});

Deno.test("a run of spaces is counted, so that the following text is visible", async () => {
  const { terminal, shown, dialogs, answer } = asked({ subject: `echo hi ${" ".repeat(3000)}; touch pwned` });
  await shown();
  assert(
    terminal.screen().some((line) => line.includes("\\x20{3001}; touch pwned")),
    terminal.screen().join("\n"),
  );
  dialogs.overlays.cancel();
  await answer;
});

Deno.test("a long question can be scrolled to its end, and Enter answers nothing before that", async () => {
  const { dialogs, terminal, shown } = openStage();
  const question = `May I?\n${"word ".repeat(800)}the end`;
  const asking = dialogs.ask(
    [{ question, options: [{ label: "Allow" }], multiple: false }],
    new AbortController().signal,
  );
  await shown();
  const selected = () => terminal.screen().find((line) => line.startsWith("›"));
  assertEquals(selected(), "› 2. Something else, in your own words");
  for (let page = 0; page < 40; page++) terminal.press("pageDown");
  assert(terminal.screen().some((line) => line.includes("the end")));
  terminal.press("enter");
  assertEquals(await asking, [["Allow"]]);
});

Deno.test("Enter approves a long plan only after it was displayed completely", async () => {
  const { dialogs, terminal, shown } = openStage();
  const plan = Array.from({ length: 40 }, (_, index) => `${index + 1}. Step`).join("\n");
  const answer = dialogs.plan({ plan }, new AbortController().signal);
  await shown();
  terminal.press("enter");
  await shown();
  terminal.press("escape");
  await shown();
  terminal.press("enter");
  assertEquals(await answer, { approve: true });
});

Deno.test("a view that a key opened receives keys, also during a message", async () => {
  const { dialogs, terminal, composer, shown } = openStage();
  terminal.type("half a senten");
  terminal.press("ctrl+o");
  dialogs.overlays.called();
  const left = dialogs.show("Notes", "text");
  await shown();
  assert(!dialogs.overlays.aside);
  terminal.type("q");
  await left;
  assertEquals(composer.text, "half a senten");
});

Deno.test("an overlay closes when another front end answers, and the next one is shown", async () => {
  const { questions, dialogs, terminal, elsewhere, answer, shown } = asked();
  await shown();
  const plan = dialogs.plan({ plan: "1. Write tests" }, new AbortController().signal);
  const [first] = questions.open;
  questions.answer(first?.id ?? "", { allow: true, scope: "session" }, "editor");
  assertEquals(await answer, { allow: true, scope: "session" });
  assertEquals(elsewhere, ["editor"]);
  await shown();
  assert(!terminal.screen().some((line) => line.includes("rm notes.txt")));
  terminal.press("escape");
  assertEquals([await plan, questions.open], [undefined, []]);
});
