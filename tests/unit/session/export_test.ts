import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { NewEvent } from "../../../src/core/mod.ts";
import { loadExport } from "../../../src/session/mod.ts";
import { begin, createLog, end, reply, result, turn, user, withHome } from "./support.ts";

const edit: NewEvent = {
  ...result("c1", "output with ``` a fence and <b>tags</b>"),
  changes: [{ path: "a", change: "updated", added: 1, removed: 1, diff: "--- a\n+++ a\n-old\n+new <i>" }],
} as NewEvent;

function session(home: string): string {
  const log = createLog(home);
  const events: NewEvent[] = [
    begin(1),
    user("Please <script>alert(1)</script> & fix"),
    { ...reply("I will", "c1"), reasoning: "let me see" } as NewEvent,
    edit,
    reply("Done."),
    end(1),
    ...turn(2),
    { type: "rewind", to: 7, scope: "both" },
    begin(2),
    user("another way"),
    { ...reply("half"), interrupted: true } as NewEvent,
    { ...end(2), reason: "interrupted", detail: "Stopped by the user" } as NewEvent,
    { type: "session.rename", title: "A <title>" },
  ];
  for (const event of events) log.append(event);
  log.close();
  return log.paths.path;
}

Deno.test("exportSession writes Markdown with fences that contain any tool output", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const text = exportSession(session(home), "markdown");
    assertStringIncludes(text, "# A <title>");
    assertStringIncludes(text, "### You\n\n> Please <script>");
    assertStringIncludes(text, "````\noutput with ``` a fence and <b>tags</b>\n````");
    assertStringIncludes(text, "```diff\n--- a");
    assertStringIncludes(text, "_interrupted_");
    assertStringIncludes(text, "> The turn ended: Stopped by the user");
    const turn = text.slice(text.indexOf("## Turn 1"), text.indexOf("## Turn 2"));
    assertEquals(turn.split("### Reasonix").length, 2, "one heading for all steps of a turn");
    assert(!text.includes("question 2"), "a branch that was left is not exported");
  }));

Deno.test("exportSession closes open code blocks and pasted text", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const log = createLog(home);
    for (const event of [user("# pasted\n```\nopen"), reply("Here:\n~~~js\nlet a = 1;"), user("next")]) {
      log.append(event);
    }
    log.close();
    const text = exportSession(log.paths.path, "markdown");
    assertStringIncludes(text, "> # pasted\n> ```\n> open\n\n### Reasonix");
    assertStringIncludes(text, "~~~js\nlet a = 1;\n~~~\n\n### You\n\n> next");
  }));

Deno.test("exportSession escapes the session in HTML", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const page = exportSession(session(home), "html");
    assertStringIncludes(page, "<title>A &lt;title&gt;</title>");
    assertStringIncludes(page, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; fix");
    assertStringIncludes(page, '<span class="add">+new &lt;i&gt;</span>');
    assert(!/<script|<b>|<i>/.test(page));
  }));

Deno.test("exportSession renders Markdown without HTML, images and unusual links", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const log = createLog(home);
    const answer = "# Done\n\n| a | b |\n|---|---|\n| 1 | `<i>` |\n\n" +
      '<img src=x onerror="alert(1)"> ![pic](https://example.org/p.png) [ok](https://example.org/?a=1&b="2") ' +
      "[bad](javascript:alert(1)) [worse](data:text/html,x)\n\n```js\nif (a < b) {}\n```";
    for (const event of [user("go"), reply(answer)]) log.append(event);
    log.close();
    const page = exportSession(log.paths.path, "html");
    assertStringIncludes(page, "<h1>Done</h1>");
    assertStringIncludes(page, "<td><code>&lt;i&gt;</code></td>");
    assertStringIncludes(page, "if (a &lt; b) {}");
    assertStringIncludes(page, "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; [pic] <a href=");
    assert(!/<img|javascript:|data:text/.test(page), page);
  }));

Deno.test("exportSession writes JSON with turns, blocks and spending", () =>
  withHome(async (home) => {
    const { exportSession } = await loadExport();
    const value = JSON.parse(exportSession(session(home), "json"));
    assertEquals([value.format, value.title, value.turns.length], ["reasonix-session", "A <title>", 2]);
    assertEquals(value.blocks.map((b: { kind: string }) => b.kind), [
      "turn",
      "user",
      "assistant",
      "tool",
      "assistant",
      "turn",
      "user",
      "assistant",
      "note",
    ]);
    assertEquals(value.usage.inputTokens, 500);
  }));
