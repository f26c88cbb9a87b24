/** Every screen of the page against WCAG 2.1 AA: light and dark, English and Chinese, wide and narrow. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { SessionTexts } from "../../src/frontend/session/texts.ts";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assertEquals, assertMatch } from "../support/assert.ts";
import { browserTest } from "../support/browser.ts";
import { FIRST_REPLY, storeEveryRow } from "../support/every_row.ts";
import { serveHere } from "../support/web.ts";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
const CALLS: Reply = [{ type: "done", reason: "tool_calls" }];
const PLAIN =
  "Some words with `code`, a [link](https://example.org) and **weight**.\n\n- one\n- two\n\n> quoted\n\n" +
  "## Heading\n\n```ts\nconst x: number = 1; // a comment\n```\n\n```diff\n- a\n+ b\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |";

/** The violations of a screen in each theme, each with its first element. */
async function violations(page: Page, screen: string): Promise<string[]> {
  if (!await page.evaluate(`"axe" in window`)) await page.evaluate(axe.source);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations } = await page.evaluate(
      `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ["violations"] })`,
    ) as axe.AxeResults;
    for (const { id, nodes } of violations) {
      const [{ html = "", failureSummary = "" } = {}] = nodes;
      found.push(`${screen}, ${colorScheme}: ${id} ×${nodes.length} ${html.slice(0, 300)} ${failureSummary}`);
    }
  }
  return found;
}

for (const locale of ["en", "zh-CN"] as const) {
  browserTest(`axe finds no violation of WCAG 2.1 AA on any screen (${locale})`, async (test) => {
    await using served = await serveHere({
      replies: [
        FIRST_REPLY,
        [call("c1", "write_file", { path: "a.txt", content: "one\ntwo\n" }), ...CALLS],
        [call("c2", "bash", { command: "git push --force origin main" }), ...CALLS],
        [
          call("c3", "ask", {
            questions: [{
              question: "Which?",
              options: [{ label: "This", description: "more" }, { label: "That" }],
            }],
          }),
          ...CALLS,
        ],
        say("This is the answer."),
      ],
      files: { "b.txt": "b\n" },
      web: { texts: await SessionTexts.load(locale) },
    });
    const found: string[] = [];
    const look = async (screen: string) => void found.push(...await violations(page, screen));
    const { page: open, answers } = await test.visitor({ locale });
    const page = await open(`${served.origin}/`);
    await page.locator("form input[type=password]").waitFor();
    await look("sign-in");
    const id = await storeEveryRow(
      served,
      (place) => place === "path" ? "src/a.ts" : place === "server" ? "docs" : PLAIN,
    );
    await page.goto(served.server.link("owner"));
    await page.locator(".session").waitFor();
    await look("list");
    for (const at of [0, -1]) {
      await page.locator(".sessions .tools button").nth(at === 0 ? 0 : 1).click();
      await page.locator("dialog[open]").waitFor();
      await look(`dialog ${at} of the list`);
      await page.keyboard.press("Escape");
      await page.locator("dialog[open]").waitFor({ state: "detached" });
    }
    await page.goto(`${served.origin}/s/${id}`);
    await page.getByText("This is the end.").waitFor();
    for (const name of [".t-added", ".t-removed"]) {
      await page.locator(name).first().waitFor();
      const color = await page.evaluate(
        `getComputedStyle(document.querySelector("${name}")).backgroundColor`,
      );
      assertMatch(String(color), /^rgb\(/, `${name} has a color`);
    }
    await look("conversation");
    await page.evaluate(
      `for (const closed of document.querySelectorAll("[aria-expanded=false]")) closed.click()`,
    );
    for (const tab of ["log", "session", "files"]) {
      await page.locator(`#tab-${tab}`).click();
      await look(`open rows, panel ${tab}`);
    }
    await page.locator("textarea").fill("Go.");
    await page.locator("textarea").press("Enter");
    const answer = page.locator("dialog[open] .answers button:enabled");
    for (const kind of ["edit", "destructive command", "question"]) {
      await answer.first().waitFor();
      await look(`dialog of ${kind}`);
      if (kind === "destructive command") {
        await answer.last().click();
        await page.locator("dialog[open] .write input").waitFor();
        await look("note with a refusal");
        await page.keyboard.press("Enter");
      } else await answer.first().click();
    }
    await page.getByText("This is the answer.").waitFor();
    await page.locator("textarea").fill("/");
    await page.locator("[role=option]").first().waitFor();
    await look("completions");
    await page.locator("textarea").fill("");
    await page.setViewportSize({ width: 360, height: 740 });
    for (const region of await page.locator(".regions button").all()) {
      await region.click();
      await look(`360 pixels, ${await region.innerText()}`);
    }
    assertEquals(found, []);
    // A session that is not open has no checkpoints: the page shows the files of its events.
    const refused = (await answers()).filter(({ url, status }) => status >= 400 && !url.endsWith("/changes"));
    assertEquals([refused, await page.locator(".problem").count()], [[], 0]);
  });
}
