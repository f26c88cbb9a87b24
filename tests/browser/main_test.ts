/** A task in the page from the first message to a rewind: with the keyboard alone, and on a phone. */
import type { Page } from "playwright-core";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { recordPage } from "../../scripts/terminal/demo_page.ts";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser.ts";
import { programFile } from "../support/program.ts";
import { type ServedHere, serveHere } from "../support/web.ts";

const FILES = { "hello.txt": "Hello, world\n", "../kept/file.txt": "kept\n" };
const CALLS: Reply = [{ type: "done", reason: "tool_calls" }];
const REPLIES: readonly Reply[] = [
  [call("c1", "read_file", { path: "hello.txt" }), ...CALLS],
  [call("c2", "edit_file", { path: "hello.txt", old_string: "world", new_string: "page" }), ...CALLS],
  [call("c3", "bash", { command: "git push --force origin main" }), ...CALLS],
  say("The greeting is changed."),
];

/** The ways of one user: by keys, or by a finger. */
interface Hands {
  /** Chooses a button or an entry of this name, in a region where the name is not unique. */
  choose(name: RegExp, within?: string): Promise<void>;
  write(text: string): Promise<void>;
  /** Sends a note in the field of a dialog. */
  note(text: string): Promise<void>;
}

/** Presses Tab until the wanted element has the focus. */
async function tabTo(
  page: Page,
  wanted: (focused: { name: string; tag: string; within: string }) => boolean,
) {
  const seen: string[] = [];
  for (let at = 0; at < 80; at++) {
    const focused = await page.evaluate(`(() => {
      const { activeElement: at } = document;
      const name = at?.getAttribute("aria-label") ?? at?.textContent ?? "";
      const within = [];
      for (let up = at; up; up = up.parentElement) within.push(up.tagName, up.className);
      return { name: name.trim().replace(/\\s+/g, " "), tag: at?.tagName ?? "", within: within.join(" ") };
    })()`) as { name: string; tag: string; within: string };
    if (wanted(focused)) return;
    seen.push(`${focused.tag} ${focused.name.slice(0, 30)}`);
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach it: ${seen.join(", ")}`);
}

function byKeys(page: Page): Hands {
  return {
    async choose(name, within = "") {
      await tabTo(page, (focused) => name.test(focused.name) && focused.within.includes(within));
      await page.keyboard.press("Enter");
    },
    async write(text) {
      await tabTo(page, ({ tag }) => tag === "TEXTAREA");
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
    },
    async note(text) {
      await tabTo(page, ({ tag }) => tag === "INPUT");
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
    },
  };
}

function byFinger(page: Page): Hands {
  return {
    async choose(name, within) {
      const all = within ? page.locator(`.${within}`) : page.locator("body");
      await all.getByRole("button", { name }).first().tap();
    },
    async write(text) {
      await page.locator("textarea").tap();
      await page.locator("textarea").fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).tap();
    },
    async note(text) {
      await page.locator("dialog input").fill(text);
      await page.locator("dialog").getByRole("button", { name: "Send", exact: true }).tap();
    },
  };
}

async function wholeTask(page: Page, hands: Hands, { stage }: ServedHere): Promise<void> {
  const read = (name: string) => Deno.readTextFile(`${stage.cwd}/${name}`);
  const dialog = page.locator("dialog[open]");
  const ready = () => dialog.locator(".answers button:enabled").first().waitFor();
  await hands.write("Change the greeting.");

  await ready();
  assert(/hello\.txt/.test(await dialog.innerText()), await dialog.innerText());
  assertEquals(await dialog.locator("tr.add .text").allInnerTexts(), ["Hello, page"]);
  await hands.choose(/^Yes\b/, "answers");
  await page.locator(".row.call", { hasText: "hello.txt" }).last().waitFor();

  const danger = page.locator("dialog[open][role=alertdialog]");
  await danger.waitFor();
  await ready();
  assert((await danger.innerText()).includes("git push --force origin main"), await danger.innerText());
  // Enter alone does not allow what cannot be undone.
  const focused = await page.evaluate("document.activeElement?.textContent ?? ''") as string;
  assert(!/^\s*Yes/.test(focused), focused);
  await hands.choose(/^No\b/, "answers");
  await hands.note("Keep it.");
  await page.getByText("The greeting is changed.").waitFor();
  assertEquals([await read("hello.txt"), await read("../kept/file.txt")], ["Hello, page\n", "kept\n"]);

  const edit = page.locator(".row.call", { has: page.locator("tr.add") });
  await hands.choose(/edit hello\.txt/, "call");
  await edit.locator("[aria-expanded=true]").waitFor();

  const rows = await page.locator(".row[data-key]").allInnerTexts();
  await page.reload();
  await page.getByText("The greeting is changed.").waitFor();
  const again = await page.locator(".row[data-key]").count();
  assertEquals(again, rows.length);

  await hands.write("/rewind");
  await ready();
  await hands.choose(/Before the first turn/, "answers");
  await ready();
  await hands.choose(/both|files and/i, "answers");
  await page.getByText("The greeting is changed.").waitFor({ state: "detached" });
  assertEquals(await read("hello.txt"), "Hello, world\n");
  await page.reload();
  await page.locator(".scroller").waitFor();
  assertEquals(await page.getByText("The greeting is changed.").count(), 0);
}

browserTest(
  "a task is done with the keyboard alone: approve, deny, expand, reload and rewind",
  async (test) => {
    await using served = await serveHere({ replies: REPLIES, files: FILES });
    const { page, requests, problems } = await test.visitor();
    const owner = await page(served.server.link("owner"));
    const hands = byKeys(owner);
    await owner.locator(".app").waitFor();
    await hands.choose(/^New/);
    await owner.locator("dialog[open]").waitFor();
    await owner.keyboard.press("Enter");
    await owner.locator("textarea").waitFor();
    await wholeTask(owner, hands, served);
    assertEquals(requests.filter((url) => /sign-in/.test(url)).length, 1, "signed in once");
    assertEquals(requests.filter((url) => !url.startsWith(served.origin)), []);
    assertEquals(problems, []);
  },
);

browserTest("a task is done on a phone of 360 pixels", async (test) => {
  await using served = await serveHere({ replies: REPLIES, files: FILES });
  const { id } = await (await served.owner("/api/v1/sessions", { json: { directory: served.stage.cwd } }))
    .json();
  const phone = {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
    deviceScaleFactor: 2,
  };
  const { page, problems } = await test.visitor(phone);
  const owner = await page(served.server.link("owner", id));
  await owner.locator("textarea").waitFor();
  await wholeTask(owner, byFinger(owner), served);
  const wide = await owner.evaluate("document.documentElement.scrollWidth");
  assert(Number(wide) <= 360, `the page is ${wide} pixels wide`);
  for (const region of ["Sessions", "Details", "Conversation"]) {
    await owner.getByRole("button", { name: region, exact: true }).tap();
    assert(Number(await owner.evaluate("document.documentElement.scrollWidth")) <= 360, region);
  }
  assertEquals(problems, []);
});

browserTest(
  "a browser whose sign-in has ended shows the sign-in once, and asks for nothing more",
  async (test) => {
    await using served = await serveHere();
    const { page, answers } = await test.visitor();
    const owner = await page(served.server.link("owner"));
    await owner.getByText("Connected", { exact: true }).waitFor();
    const secret = await owner.evaluate(`localStorage.getItem("reasonix.secret")`) as string;
    await served.client(secret)("/api/v1/sign-out", { json: {} });
    const field = owner.locator("form input[type=password]");
    await field.waitFor();
    const refused = (await answers()).filter(({ status }) => status === 401).length;
    assert(refused <= 3, `${refused} requests were refused`);
    await field.fill(served.server.link("owner"));
    await owner.keyboard.press("Enter");
    await owner.locator(".app").waitFor();
    await owner.reload();
    await owner.locator(".app").waitFor();
    assertEquals(await field.count(), 0);
  },
);

browserTest("the pictures in the README show what the web page shows in the demo", async ({ browser }) => {
  // The first view is enough: the second one costs the rest of the task.
  for await (const { name, words } of recordPage(browser, ["run", ...START_FLAGS, await programFile()])) {
    const file = new URL(`../../docs/images/${name}.txt`, import.meta.url);
    assertEquals(await Deno.readTextFile(file), `${words}\n`, "run deno task capture");
    break;
  }
});
