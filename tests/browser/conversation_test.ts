/** The conversation of the web page in a browser: its window of rows, and the end that it follows. */
import type { Page } from "playwright-core";
import type { Chunk } from "../../src/core/mod.ts";
import { say } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser.ts";
import { type ServedHere, serveHere } from "../support/web.ts";

const MOST_ROWS = 400;

/** Begins a session in the workspace, and opens it in a page. */
async function begin(served: ServedHere, page: Page): Promise<string> {
  const response = await served.owner("/api/v1/sessions", { json: { directory: served.stage.cwd } });
  const { id } = await response.json();
  await page.goto(served.server.link("owner", id));
  await page.getByRole("log").waitFor();
  return id;
}

/** A turn with a thought, a call with a long output, and an answer of some length. */
function turnLines(turn: number, seq: number): string {
  const call = { id: `c${turn}`, name: "bash", arguments: `{"command":"ls ${turn}"}` };
  const end = { callId: call.id, name: "bash", outcome: "ok", summary: "", durationMs: 1, exitCode: 0 };
  const reply = { type: "message.end", model: "m", durationMs: 1 };
  const long = "Words of an answer that takes more than one line. ".repeat(1 + turn % 9);
  return [
    { type: "turn.start", turn },
    { type: "message.user", content: `Question ${turn}`, origin: "user" },
    { ...reply, step: 1, content: "", reasoning: "Let me see.", calls: [call] },
    { type: "tool.start", call, readOnly: true, summary: `ls ${turn}`, title: `$ ls ${turn}` },
    { type: "tool.end", ...end, content: "a file\n".repeat(1 + turn % 7) },
    { ...reply, step: 2, content: `${long}\n\n\`\`\`ts\nconst x = ${turn};\n\`\`\`` },
    { type: "turn.end", turn, reason: "done", answer: "", steps: 2, usage: {}, durationMs: 1 },
  ].map((event, at) => JSON.stringify({ v: 1, seq: seq + at, time: "2026-01-01T00:00:00Z", ...event }) + "\n")
    .join("");
}

browserTest(
  "a long session is scrolled to its beginning without a jump, and few of its rows are in the page",
  async (test) => {
    await using served = await serveHere({ replies: [say("Hello")] });
    const visitor = await test.visitor();
    const page = await visitor.page();
    const id = await begin(served, page);
    const live = served.stage.sessions.get(id);
    await live?.submissions.send("Question 1", {});
    await page.getByText("Hello", { exact: true }).waitFor();
    const path = live?.assembly?.session.paths.path ?? "";
    await live?.end();
    const lines = await Deno.readTextFile(path);
    const first = lines.split("\n").length;
    const turns = Array.from({ length: 300 }, (_, at) => turnLines(at + 2, first + at * 7));
    await Deno.writeTextFile(path, lines + turns.join(""));

    await page.reload();
    await page.getByText("Question 301", { exact: true }).waitFor();
    await page.getByRole("button", { name: "$ ls 301" }).click();
    const read: { jumps: number[][]; most: number; first: string } = await page.evaluate(`(async () => {
    const scroller = document.querySelector(".scroller");
    const rows = () => [...scroller.querySelectorAll("[data-key]")];
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const jumps = [];
    let most = 0;
    while (scroller.scrollTop > 0 || scroller.querySelector(".earlier:not(:empty)")) {
      const top = scroller.getBoundingClientRect().top;
      const row = rows().find((each) => each.getBoundingClientRect().bottom > top);
      const [before, place] = [scroller.scrollTop, row.getBoundingClientRect().top];
      scroller.scrollTop -= 700;
      await frame();
      const moved = row.isConnected ? row.getBoundingClientRect().top - place : Infinity;
      if (Math.abs(moved - Math.min(700, before)) > 1.5) jumps.push([moved, before, place]);
      most = Math.max(most, rows().length);
    }
    return { jumps, most, first: rows()[0].textContent };
  })()`);
    assertEquals(read.jumps, []);
    assert(read.most <= MOST_ROWS, `${read.most} rows`);
    assert(read.first.includes("Question 1"), read.first);
    await page.getByRole("button", { name: "To the end" }).click();
    await page.getByText("Question 301", { exact: true }).waitFor();
    assertEquals(await page.getByRole("button", { name: "To the end" }).count(), 0);
    // A row that was opened is open when it is back.
    const opened = page.getByRole("button", { name: "$ ls 301" });
    assertEquals(await opened.getAttribute("aria-expanded"), "true");
  },
);

browserTest(
  "a reply streams into the page, the reader stays where they look, and a turn's end is said once",
  async (test) => {
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* reply(): AsyncIterable<Chunk> {
      yield { type: "reasoning", text: "A thought" };
      begins();
      for (let at = 0; at < 60; at++) {
        yield {
          type: "text",
          text: `Paragraph ${at} with **bold** words.\n\n`,
        };
      }
      await steps[0]?.promise;
      for (let at = 0; at < 20; at++) yield { type: "text", text: `- item ${at}\n` };
      yield { type: "text", text: "\n```ts\nconst x = 1;\n```\n\nThe last words" };
      await steps[1]?.promise;
      yield { type: "done", reason: "stop" };
    }
    await using served = await serveHere({ replies: [reply] });
    const visitor = await test.visitor();
    const page = await visitor.page();
    const id = await begin(served, page);
    await page.evaluate(`(() => {
    globalThis.said = [];
    const status = document.querySelector(".conversation [role=status]");
    new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, subtree: true, characterData: true });
  })()`);
    const live = served.stage.sessions.get(id);
    const sent = live?.submissions.send("Go", {});
    await begun;
    await page.getByText("Paragraph 59 with").waitFor();
    const below = () =>
      page.evaluate<number>(`(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".scroller");
      return scrollHeight - scrollTop - clientHeight;
    })()`);
    assert(await below() < 2, "the end is followed");

    // Away from the end the text stays.
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -300);
    await page.getByRole("button", { name: "To the end" }).waitFor();
    const place = () =>
      page.getByText("Paragraph 50 with").evaluate((row) => row.getBoundingClientRect().top);
    const before = await place();
    steps[0]?.resolve();
    await page.getByText("The last words").waitFor();
    assertEquals(await place(), before);
    steps[1]?.resolve();
    await sent;
    await page.getByText("done", { exact: true }).first().waitFor();
    assertEquals(await place(), before);
    assertEquals(
      await page.evaluate("said.filter((text) => text !== '').map((text) => text.replace(/ · .*/, ''))"),
      ["working", "done"],
    );

    // The same as after a fresh load.
    const shown = () => page.locator(".content").innerHTML();
    await page.getByRole("button", { name: "To the end" }).click();
    await page.locator(".t-keyword").waitFor();
    const html = await shown();
    await page.reload();
    await page.locator(".t-keyword").waitFor();
    assertEquals(await shown(), html);
    await page.getByRole("button", { name: "thought" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("A thought", { exact: true }).waitFor();
    assertEquals(visitor.problems, []);
  },
);
