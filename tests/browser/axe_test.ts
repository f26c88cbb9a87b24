/** Every screen of the page against WCAG 2.1 AA, light and dark, English and Chinese. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser.ts";
import { serveHere } from "../support/web.ts";
import { SessionTexts } from "../../src/frontend/session/texts.ts";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** The violations of a screen in each theme, each with its first element. */
async function violations(page: Page, screen: string): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations } = await page.evaluate(
      `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ["violations"] })`,
    ) as axe.AxeResults;
    for (const { id, nodes } of violations) {
      const [{ html = "", failureSummary = "" } = {}] = nodes;
      found.push(`${screen}, ${colorScheme}: ${id} ×${nodes.length} ${html.slice(0, 200)} ${failureSummary}`);
    }
  }
  return found;
}
