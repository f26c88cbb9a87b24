/** Eight tabs of one browser: browsers open six connections to a server, and all tabs have to work. */
import type { WebFrontEnd } from "../../src/frontend/web/stream.ts";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser.ts";
import { serveHere } from "../support/web.ts";

const TABS = 8;

/** Asks for a file of the name that the first message has, then says it. */
const writes: Reply = async function* (_signal, { messages }) {
  const name = /file-\d/.exec(JSON.stringify(messages))?.[0] ?? "none";
  if (messages.at(-1)?.role === "tool") return yield* say(`The end of ${name}.`);
  yield { type: "text", text: `The beginning of ${name}.` };
  yield* [call(`call-${name}`, "write_file", { path: name, content: "x\n" })];
  yield { type: "done", reason: "tool_calls" };
};

browserTest("eight tabs with different sessions are all live, and each can answer", async (test) => {
  await using served = await serveHere({ replies: Array(2 * TABS + 1).fill(writes) });
  const { context, page, requests } = await test.visitor();
  const first = await page(served.server.link("owner"));
  await first.locator(".app").waitFor();
  const ids = await Promise.all(Array.from({ length: TABS }, async () => {
    const made = await served.owner("/api/v1/sessions", { json: { directory: served.stage.cwd } });
    return (await made.json()).id as string;
  }));
  const tabs = [first, ...await Promise.all(ids.slice(1).map(() => context.newPage()))];
  await Promise.all(tabs.map((tab, at) => tab.goto(`${served.origin}/s/${ids[at]}`)));
  await Promise.all(tabs.map(async (tab, at) => {
    await tab.locator("textarea").fill(`Write file-${at}.`);
    await tab.locator("textarea").press("Enter");
  }));
  // All wait for an answer at the same time.
  const dialogs = tabs.map((tab) => tab.locator("dialog[open] .answers button:enabled").first());
  await Promise.all(dialogs.map((dialog) => dialog.waitFor()));
  const shown = await Promise.all(tabs.map((tab) => tab.locator("dialog[open]").innerText()));
  assertEquals(shown.map((text) => /file-\d/.exec(text)?.[0]), ids.map((_, at) => `file-${at}`));
  await Promise.all(dialogs.map((dialog) => dialog.click()));
  await Promise.all(tabs.map((tab, at) => tab.getByText(`The end of file-${at}.`).waitFor()));
  const written = await Promise.all(ids.map((_, at) => Deno.readTextFile(`${served.stage.cwd}/file-${at}`)));
  assertEquals(written, Array(TABS).fill("x\n"));
  // A page that crashes is read for no more; the first one takes the process of the stream with it.
  const alive = new Set(ids);
  const areRead = () => {
    const lives = served.stage.sessions.all.filter(({ id = "" }) => ids.includes(id));
    const read = lives.filter(({ frontEnds }) =>
      frontEnds.some((one) => (one as WebFrontEnd).feed?.readers.size)
    );
    return read.length === alive.size && read.every(({ id = "" }) => alive.has(id));
  };
  for (const at of [3, 0]) {
    const crash = tabs[at]?.waitForEvent("crash");
    tabs[at]?.goto("chrome://crash").catch(() => {});
    await crash;
    alive.delete(ids[at] ?? "");
    while (!areRead()) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await tabs[1]?.locator("textarea").fill("Write file-8.");
  await tabs[1]?.locator("textarea").press("Enter");
  await dialogs[1]?.waitFor();
  const others = requests.filter((url) => !url.startsWith(served.origin));
  assertEquals(others, []);
});
