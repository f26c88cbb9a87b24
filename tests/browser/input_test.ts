import type { Page } from "playwright-core";
import type { LiveSession } from "../../src/frontend/session/live_session.ts";
import type { QuestionCalls, QuestionKind, QuestionKinds } from "../../src/frontend/session/questions.ts";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { type BrowserTest, browserTest } from "../support/browser.ts";
import { type ServedHere, serveHere } from "../support/web.ts";

const CALL = {
  callId: "c",
  tool: "bash",
  subject: "go test ./...\n\tcat x\u202ey",
  reason: "",
  scopes: ["once", "session", "project", "always"],
  rule: "Bash(go test ./...)",
  prefixRule: "Bash(go test:*)",
  savedIn: "reasonix.toml",
  checksRule: true,
} as const;
const RISKY = { ...CALL, destructive: [{ command: "rm -rf ~", targets: [], reason: "it deletes files" }] };
const DIFF = "@@ -1 +1 @@\n-const a = 1;\n+const a = 2;";
const EDIT = [{ path: "src/a.ts", change: "updated", added: 1, removed: 1, diff: DIFF }] as const;
const ASKED = [
  { question: "Which database?", options: [{ label: "SQLite" }], multiple: false },
  { question: "Which parts?", options: [{ label: "A" }, { label: "B" }], multiple: true },
];
const SETTINGS = Array.from({ length: 40 }, (_, at) => ({ label: `setting ${at}`, preview: true as const }));
/** Pastes an image into the message, and another one before the first is read. */
const PASTE = `(async () => {
  const canvas = new OffscreenCanvas(64, 64);
  canvas.getContext("2d").fillRect(0, 0, 9, 9);
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([await canvas.convertToBlob()], "dot.png", { type: "image/png" }));
  for (let pasted = 0; pasted < 2; pasted++) {
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.querySelector("textarea").dispatchEvent(event);
  }
})()`;

/** A question, the keys of its user, and the answer: `press`, text to type in quotes, text to wait for. */
type Row = {
  [K in QuestionKind]: readonly [
    K,
    QuestionKinds[K]["question"],
    keys: readonly string[],
    answer: QuestionKinds[K]["answer"] | undefined,
  ];
}[QuestionKind];

const TABLE: readonly Row[] = [
  ["approval", CALL, ["see:\\u{202e}", "Enter"], { allow: true, scope: "once" }],
  ["approval", CALL, ["n", "Enter", "'no tests", "Enter"], { allow: false, scope: "once", note: "no tests" }],
  [
    "approval",
    CALL,
    ["a", "Enter", "o", "Enter", "'x", "Enter", "see:does not allow this call", "Backspace", "Enter"],
    { allow: true, scope: "always", rule: "Bash(go test ./...)" },
  ],
  // Enter alone does not approve what destroys.
  ["approval", RISKY, ["see:it deletes files", "Enter", "Enter"], { allow: false, scope: "once" }],
  ["approval", { ...CALL, tool: "edit_file", changes: EDIT }, ["see:const a = 2;", "Enter"], {
    allow: true,
    scope: "once",
  }],
  ["ask", { questions: ASKED }, [
    "ArrowDown",
    "Enter",
    "'MySQL",
    "Enter",
    "see:Question 2",
    "1",
    "Enter",
    "2",
    "Enter",
    "Send",
  ], [
    ["MySQL"],
    ["A", "B"],
  ]],
  ["plan", { plan: "1. Do it" }, ["c", "Enter", "End", "' now", "Enter"], {
    approve: true,
    plan: "1. Do it now",
  }],
  ["plan", { plan: "1. Do it" }, ["n", "Enter", "Enter"], undefined],
  ["trust", { lines: ["1 hook"], details: "make all" }, ["t", "Enter"], "trust"],
  ["copy", { session: "s", pid: 7 }, ["see:Process 7", "y", "Enter"], true],
  ["choose", { title: "Which?", entries: SETTINGS, filter: true }, [
    "'setting 31",
    "Tab",
    "see:about 31",
    "Enter",
  ], 31],
  ["choose", { title: "Which?", entries: SETTINGS }, ["Escape"], undefined],
  ["confirm", { title: "Delete it?", danger: true }, ["Enter"], false],
  ["prompt", { title: "Key of the vendor", initial: "", secret: true }, ["' sk-1 ", "Enter"], " sk-1 "],
  ["show", { title: "Help", text: "the help" }, ["see:the help", "Close"], undefined],
  [
    "changes",
    { title: "Changes", files: [{ path: "a.ts", what: "new", added: 1, removed: 0, diff: DIFF }] },
    [
      "see:const a = 2;",
      "Escape",
    ],
    undefined,
  ],
];

interface Opened {
  readonly served: ServedHere;
  readonly live: LiveSession;
  readonly page: Page;
  readonly id: string;
}

async function open({ visitor }: BrowserTest, served: ServedHere): Promise<Opened> {
  const { id } = await (await served.owner("/api/v1/sessions", { json: {} })).json();
  const page = await (await visitor()).page(served.server.link("owner", id));
  await page.getByPlaceholder("Ask for something").waitFor();
  const live = served.stage.sessions.get(id);
  assert(live);
  return { served, live, page, id };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!await holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function press(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    // Answers take the keyboard a moment after they are shown, and what a key opens with the frame after it.
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))",
    );
    await page.locator(
      key.startsWith("'")
        ? "dialog :is(input, textarea):focus:enabled"
        : "dialog :focus:enabled, dialog:is([data-kind=show], [data-kind=changes]):focus-within",
    ).waitFor();
    if (key.startsWith("see:")) await page.locator("dialog").getByText(key.slice(4)).first().waitFor();
    else if (key.startsWith("'")) await page.keyboard.type(key.slice(1));
    else if (key === "Send" || key === "Close") {
      await page.locator("dialog").getByRole("button", { name: key }).click();
    } else await page.keyboard.press(key);
  }
}

browserTest("the page asks each kind of question by keyboard alone, and its answer arrives", async (test) => {
  await using served = await serveHere();
  const { live, page } = await open(test, served);
  const calls: QuestionCalls = {
    checkRule: (rule) => rule.endsWith("x") ? { code: "noMatch" } : undefined,
    preview: (at) => `about ${at}`,
  };
  const field = page.getByPlaceholder("Ask for something");
  for (const [kind, question, keys, answer] of TABLE) {
    const asked = live.questions.ask(kind, question as never, { calls });
    await press(page, keys);
    assertEquals([kind, await asked ?? undefined], [kind, answer]);
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.locator(".composer textarea:focus").waitFor();
    // What is typed after a note goes to the message again.
    if (!keys.includes("'no tests")) continue;
    await page.keyboard.type("x");
    assertEquals(await field.inputValue(), "x");
    await field.fill("");
  }
  // The second one follows the first; an answer elsewhere closes it with the name of the front end.
  const [one, two] = [
    live.questions.ask("confirm", { title: "One?" }),
    live.questions.ask("confirm", { title: "Two?" }),
  ];
  await page.getByText("1 more question follows").waitFor();
  await press(page, ["Enter"]);
  assertEquals(await one, true);
  await page.getByRole("heading", { name: "Two?" }).waitFor();
  live.questions.answer(live.questions.open[0]?.id ?? "", false, "terminal");
  assertEquals(await two, false);
  await page.getByText("answered at another front end: terminal").waitFor();
  // A question that is set aside waits in a bar; a viewer can only see that one waits.
  const later = live.questions.ask("trust", { lines: ["1 hook"], details: "" });
  const viewer = await (await test.visitor()).page(served.server.link("viewer", live.id));
  await viewer.getByText("A question waits for the answer of the owner").waitFor();
  await press(page, ["Escape"]);
  await page.getByRole("button", { name: "Answer" }).click();
  await press(page, ["Enter"]);
  assertEquals(await later, "ignore");
});

browserTest("the composer completes, recalls, queues and keeps messages, and takes images", async (test) => {
  const turn = Promise.withResolvers<void>();
  const held: Reply = async function* () {
    yield { type: "text", text: "Counting" };
    await turn.promise;
    yield { type: "done", reason: "stop" };
  };
  await using served = await serveHere({
    replies: [say("Hello"), held, say("Next")],
    files: { "src/main.ts": "1\n" },
  });
  const { live, page, id } = await open(test, served);
  const field = page.getByPlaceholder("Ask for something");
  const value = () => field.inputValue();
  // The keys of an input method send nothing.
  await field.fill("第一");
  await field.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
  assertEquals(await value(), "第一");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("@ma");
  await page.locator("[role=listbox][aria-busy=false]").getByText("src/main.ts").waitFor();
  assertEquals(await field.getAttribute("aria-activedescendant"), "completion-0");
  await page.keyboard.press("Enter");
  assertEquals(await value(), "第一\n@src/main.ts ");
  await page.reload();
  await until(async () => await value() === "第一\n@src/main.ts ");
  await field.focus();
  await page.evaluate(PASTE);
  await page.getByRole("img", { name: "dot.png" }).nth(1).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Hello").waitFor();
  assertEquals(live.assembly?.session.state.turns.length, 1);
  await page.keyboard.press("ArrowUp");
  assertEquals((await value()).trimEnd(), "第一\n@src/main.ts");
  await field.fill("count");
  await page.keyboard.press("Enter");
  await page.getByText("Counting").waitFor();
  for (
    const [text, keys, mark] of [["then this", "Enter", "Next:"], [
      "by twos",
      "Control+Enter",
      "Into the turn:",
    ]]
  ) {
    await field.fill(text ?? "");
    await page.keyboard.press(keys ?? "");
    await page.locator(".queue li", { hasText: text ?? "" }).getByText(mark ?? "").waitFor();
  }
  assertEquals([live.submissions.steering, live.submissions.waiting.length], [["by twos"], 1]);
  await page.getByRole("button", { name: "Take back" }).click();
  await until(async () => await value() === "then this");
  assertEquals(live.submissions.waiting, []);
  const stopped = page.waitForResponse((response) => response.url().endsWith("/interrupt"));
  await field.press("Escape");
  await stopped;
  turn.resolve();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  // A message that the server has not confirmed is sent again after a reload, and counts once.
  const message = JSON.stringify([{ id: "message-0001", text: "once more" }]);
  const keep = `localStorage.setItem("reasonix.sending.${id}", ${JSON.stringify(message)})`;
  for (let load = 0; load < 2; load++) {
    await page.evaluate(keep);
    await page.reload();
    await page.getByText("once more").first().waitFor();
  }
  const texts = [...live.assembly?.session.state.turns ?? []].map(({ prompt }) => prompt);
  assertEquals(texts.filter((text) => text.includes("once more")).length, 1);
  // The approval mode and the way of working are two choices.
  await page.getByLabel("Way of working").selectOption("plan");
  await page.locator('select[data-value="plan"]').waitFor();
  assertEquals([live.assembly?.modes.collaboration, live.assembly?.modes.approval], ["plan", "ask"]);
});

browserTest(
  "the details show changed files, the log and the session, and their commands ask in dialogs",
  async (test) => {
    const write = call("c", "write_file", { path: "a.ts", content: "const answer = 42;\n" });
    await using served = await serveHere({
      replies: [[write, { type: "done", reason: "tool_calls" }], say("Written")],
    });
    const { page } = await open(test, served);
    const panel = page.getByRole("tabpanel");
    await page.getByPlaceholder("Ask for something").fill("write it");
    await page.keyboard.press("Enter");
    await press(page, ["see:const answer", "Enter"]);
    await page.getByText("Written").waitFor();
    await panel.getByText("a.ts").click();
    await panel.locator(".diff", { hasText: "const answer = 42;" }).waitFor();
    await panel.getByRole("button", { name: "Content" }).click();
    await panel.locator("pre", { hasText: "const answer = 42;" }).waitFor();
    await page.getByRole("tab", { name: "Files" }).press("ArrowRight");
    await panel.getByLabel("Kind of entries").selectOption("call");
    await panel.getByText("1 entry").waitFor();
    await panel.locator("summary").click();
    await panel.locator("pre", { hasText: "const answer = 42;" }).waitFor();
    await panel.getByLabel("Filter").fill("nothing like it");
    await panel.getByText("0 entries").waitFor();
    await page.getByRole("tab", { name: "Log" }).press("ArrowRight");
    await panel.getByText("0 saved facts, 0 instruction files").waitFor();
    await panel.getByRole("button", { name: "Rewind…" }).click();
    await press(page, ["see:1 file to bring back", "Enter"]);
    await press(page, ["see:Files and conversation", "Enter"]);
    await page.getByText("Written").waitFor({ state: "detached" });
  },
);
