/** Sign-in, updates and connections of the web page in a real browser. */
import { call, say } from "../support/agent_fixture.ts";
import { assertEquals, assertMatch } from "../support/assert.ts";
import { type BrowserTest, browserTest } from "../support/browser.ts";
import { serveHere } from "../support/web.ts";

type Page = Awaited<ReturnType<Awaited<ReturnType<BrowserTest["visitor"]>>["page"]>>;

async function titled(page: Page, title: string): Promise<void> {
  while (await page.title() !== title) await new Promise((resolve) => setTimeout(resolve, 5));
}

const TOKEN = "Token, or the link from the terminal";

browserTest("a link signs in one browser, and signing out ends all its pages", async (test) => {
  await using served = await serveHere();
  const link = served.server.link("owner");
  const [mine, other] = [await test.visitor(), await test.visitor()];
  const page = await mine.page(link);
  await page.getByRole("button", { name: "Add a device" }).waitFor();
  assertEquals(page.url(), `${served.origin}/`);

  const thief = await other.page(link);
  await thief.getByLabel(TOKEN).waitFor();
  assertMatch(await thief.getByRole("alert").innerText(), /used/);
  await thief.getByLabel(TOKEN).fill(served.server.link("viewer"));
  await thief.getByRole("button", { name: "Sign in" }).click();
  await thief.getByRole("button", { name: "Sign out" }).waitFor();
  assertEquals(await thief.getByRole("button", { name: /New session|Add a device/ }).count(), 0);

  // In the browser that used it, a used link only opens the page.
  const second = await mine.page(link);
  await second.getByRole("button", { name: "Add a device" }).waitFor();
  assertEquals(await second.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Sign out" }).click();
  for (const each of [page, second]) await each.getByLabel(TOKEN).waitFor();

  // A link in the address bar of an open page does not load it again.
  await page.goto(served.server.link("owner"));
  for (const each of [page, second]) await each.getByRole("button", { name: "Add a device" }).waitFor();
  assertEquals(page.url(), `${served.origin}/`);
  assertEquals([...mine.requests, ...other.requests].filter((url) => /token|secret/.test(url)), []);
});

browserTest("a page that is older than its server is loaded again, once", async (test) => {
  await using served = await serveHere();
  const visitor = await test.visitor();
  await visitor.context.route("**/api/v1/server", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), build: "another" } });
  });
  const page = await visitor.page(served.server.link("owner"));
  await page.getByText("This page is older than its server. Reload it.").waitFor();
  await page.getByRole("button", { name: "Add a device" }).waitFor();
  assertEquals(visitor.requests.filter((url) => url === `${served.origin}/`).length, 2);
});

browserTest("a narrow page without a SharedWorker has a stream while it is visible", async (test) => {
  await using served = await serveHere({ replies: ["first", "second", "third"].map(say) });
  const visitor = await test.visitor({ viewport: { width: 360, height: 740 } });
  await visitor.context.addInitScript("delete globalThis.SharedWorker");
  const page = await visitor.page(served.server.link("owner"));
  await page.getByRole("button", { name: "New session" }).click();
  await page.getByLabel("Directory").fill("/no/such/directory");
  await page.getByRole("button", { name: "Begin" }).click();
  assertMatch(await page.getByRole("dialog").getByRole("alert").innerText(), /directory/);
  assertEquals(await page.getByLabel("Directory").inputValue(), "/no/such/directory");
  await page.getByLabel("Directory").fill(served.stage.cwd);
  await page.getByRole("button", { name: "Begin" }).click();
  await page.waitForURL("**/s/*");
  const [live] = served.stage.sessions.all;
  await live?.submissions.send("one", {});
  await page.getByText("first", { exact: true }).waitFor();

  const show = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event("visibilitychange"))`);
  await show(true);
  while (served.server.readers.length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await live?.submissions.send("two", {});
  assertEquals(await page.getByText("second", { exact: true }).count(), 0);
  await show(false);
  await page.getByText("second", { exact: true }).waitFor();

  // Each region is a tab.
  for (const [tab, shown] of [["Sessions", "Sign out"], ["Details", "Files"], ["Conversation", "Send"]]) {
    await page.getByRole("button", { name: tab ?? "", exact: true }).click();
    await page.getByText(shown ?? "", { exact: true }).waitFor();
  }
  await live?.submissions.send("three", {});
  await page.getByText("third", { exact: true }).waitFor();
  for (const text of ["first", "second", "third"]) {
    assertEquals(await page.getByText(text, { exact: true }).count(), 1);
  }
});

browserTest(
  "a hidden page marks its title and notifies, once, when a session waits for the user",
  async (test) => {
    const asks = call("1", "write_file", { path: "a.txt", content: "a" });
    await using served = await serveHere({
      replies: [[asks, { type: "done", reason: "tool_calls" }], say("written")],
    });
    const visitor = await test.visitor();
    await visitor.context.addInitScript(`globalThis.shown = [];
    globalThis.Notification = class {
      static permission = "granted";
      constructor(title, { body, tag }) { shown.push([title, body, tag]); }
    };
    Object.defineProperty(document, "hidden", { value: true });`);
    const page = await visitor.page(served.server.link("owner"));
    await page.getByRole("status").getByText("Connected").waitFor();
    const live = await served.stage.sessions.open({});
    await live.submissions.send("write it", {});
    await titled(page, "(1) Reasonix");
    await page.getByRole("link", { name: /write it.*waiting for you/ }).click();
    await titled(page, "(1) write it · Reasonix");
    const [{ id = "" } = {}] = live.questions.open;
    live.questions.answer(id, { allow: true, scope: "once" }, "terminal");
    await titled(page, "write it · Reasonix");
    await page.getByText("written", { exact: true }).waitFor();
    assertEquals(await page.evaluate("shown"), [["waiting for you", "write it", live.id]]);
  },
);
