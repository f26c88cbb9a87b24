import { message } from "../../../../src/core/mod.ts";
import { formOf } from "../../../../src/frontend/session/answers.ts";
import type { AnswerEntry, OpenQuestion, QuestionKinds } from "../../../../src/frontend/session/questions.ts";
import { ANSWERS } from "../../../../src/frontend/session/answer_schemas.ts";
import { loadTexts, loadTranslator } from "../../../../src/i18n/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const CALL = {
  callId: "c",
  tool: "bash",
  subject: "go test ./...",
  reason: message`no rule applies (default)`,
  scopes: ["once", "session", "project", "always"],
  rule: "Bash(go test ./...)",
  projectRule: "Bash(go test ./...)",
  prefixRule: "Bash(go test:*)",
  sessionRule: "Bash(go test:*)",
  savedIn: "reasonix.toml",
  checksRule: true,
} as const;
const ONE = { question: "Which database?\nIt is for tests", options: [{ label: "SQLite" }], multiple: false };
const MANY = { question: "Which parts?", options: [{ label: "A", description: "first" }], multiple: true };

type Row = {
  [K in keyof QuestionKinds]: readonly [
    K,
    QuestionKinds[K]["question"],
    expected: Readonly<Record<string, unknown>>,
  ];
}[keyof QuestionKinds];

const { destructive, ...rest } = {
  ...CALL,
  scopes: ["once"] as const,
  destructive: [{ command: "rm -rf ~", targets: [{ path: "/root" }], reason: "it deletes files" }],
};

const TABLE: readonly Row[] = [
  ["approval", CALL, {
    current: 0,
    labels: ["Yes", "Yes, for this session: Bash(go test:*)", "Always…", "No…"],
  }],
  ["approval", { ...rest, destructive }, { title: "Destructive. Run it?", tone: "danger", current: 1 }],
  ["approval", { ...CALL, subject: "x".repeat(200_000) }, { current: 3 }],
  ["approval", { ...CALL, directory: "/srv" }, { current: 3 }],
  ["ask", { questions: [ONE] }, { multiple: false, labels: ["SQLite", "Something else, in your own words"] }],
  ["ask", { questions: [MANY, ONE] }, { title: "Which parts?\nQuestion 1 of 2", multiple: true }],
  ["plan", { plan: "1. Do it" }, { title: "Carry out this plan?" }],
  ["trust", { lines: ["1 hook"], details: "make" }, { tone: "warning" }],
  ["copy", { session: "s1", pid: 7 }, { labels: ["Yes", "No"] }],
  ["choose", { title: "Which?", entries: [{ label: "a" }, { label: "b" }], current: 1 }, { current: 1 }],
  ["confirm", { title: "Delete it?", danger: true }, { tone: "danger", current: 1 }],
  ["confirm", { title: "Go on?" }, { labels: ["Yes", "No"] }],
  ["prompt", { title: "Key", initial: "", secret: true }, { labels: [] }],
  ["show", { title: "Log", text: "line" }, { title: "Log", labels: [] }],
  ["changes", { title: "Changes", files: [] }, { title: "Changes", labels: [] }],
];

/** All answers that entries can give. */
function answersOf(entries: readonly AnswerEntry<unknown>[], text = "a text"): unknown[] {
  return entries.flatMap((entry) => {
    if ("entries" in entry) return answersOf(entry.entries, text);
    return ["value" in entry ? entry.value : entry.write(text)];
  });
}

Deno.test("formOf gives each kind of question answers that the web API takes, and begins with a safe one", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    const [overlay, chat, translator] = await Promise.all([
      loadTexts("overlay", locale),
      loadTexts("chat", locale),
      loadTranslator(locale),
    ]);
    for (const [kind, question, expected] of TABLE) {
      const open = JSON.parse(JSON.stringify({ id: "q", kind, question, called: false })) as OpenQuestion;
      const { entries, writes, ...form } = formOf(open, 0, {
        overlay,
        chat,
        of: (text) => translator.text(text),
      });
      const shown: Record<string, unknown> = { ...form, labels: entries.map(({ label }) => label) };
      if (locale === "en") {
        for (const [name, value] of Object.entries(expected)) assertEquals(shown[name], value);
      }
      const given = [...answersOf(entries), ...writes ? [writes.write("a text")] : []];
      for (const answer of given) {
        const whole = kind === "ask" ? [answer] : answer;
        assert(ANSWERS[kind].safeParse(whole).success, `${kind}: ${JSON.stringify(whole)}`);
      }
    }
  }
});
