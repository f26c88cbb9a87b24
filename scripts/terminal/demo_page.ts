/** The demo's task on the web page, on a wide screen and on a phone, up to the first change of a file. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { DEMO_TASK, makeScriptedDemo, PROGRAM } from "../demo_project.ts";
import { searchPath } from "../process.ts";

const WIDTH = 1280;
const SCREENS = {
  page: { viewport: { width: WIDTH, height: 800 }, colorScheme: "light" },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: "dark", deviceScaleFactor: 2, hasTouch: true },
} as const satisfies Readonly<Record<string, BrowserContextOptions>>;

interface PageView {
  readonly name: keyof typeof SCREENS;
  /** A WebP image. */
  readonly picture: Uint8Array;
  /** The question that the page asks. */
  readonly words?: string;
}

const TOKEN = "demo";

/**
 * The phone with the question, then the page with the finished task. `program`: the arguments of deno that
 * start the program.
 */
export async function* recordPage(
  browser: Browser,
  program: readonly string[] = PROGRAM,
): AsyncGenerator<PageView, void, void> {
  await using demo = await makeScriptedDemo();
  const home = Deno.env.get("HOME") ?? "";
  const server = new Deno.Command(Deno.execPath(), {
    args: [...program, "serve", "--addr", "127.0.0.1:0", "--token", TOKEN],
    cwd: demo.project,
    clearEnv: true,
    env: {
      PATH: searchPath(),
      HOME: home,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno`,
      REASONIX_HOME: demo.home,
    },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  try {
    yield* views(browser, linksOf(server.stdout), demo.temp);
  } finally {
    server.kill("SIGTERM");
    await server.status;
  }
}

/** The links of the server, each after the one before was used. */
async function* linksOf(output: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = "";
  for await (const part of output.pipeThrough(new TextDecoderStream())) {
    const lines = (text + part).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const link = /https?:\S+#token=\S+/.exec(line)?.[0];
      if (link !== undefined) yield link;
    }
  }
  throw new Error("The server has ended");
}

async function* views(
  browser: Browser,
  links: AsyncGenerator<string>,
  temp: string,
): AsyncGenerator<PageView, void, void> {
  let session: string | undefined;
  await using contexts = new AsyncDisposableStack();
  const open = async (screen: BrowserContextOptions) => {
    const { value: link } = await links.next();
    session ??= await begin(new URL(link).origin);
    const context = await browser.newContext({ locale: "en-US", reducedMotion: "reduce", ...screen });
    contexts.defer(() => context.close());
    const page = await context.newPage();
    await page.goto(`${link}&session=${session}`);
    return page;
  };
  const phone = await open(SCREENS.phone);
  const asked = phone.locator("dialog[open]");
  const answer = (key: "y" | "s") => asked.locator(`[data-key=${key}]:enabled`).click();
  await asked.getByText("Run this command?").waitFor();
  await answer("y");
  await asked.locator("tr.add").first().waitFor();
  await asked.locator(".answers button:enabled").first().waitFor();
  yield { ...await viewOf("phone", phone, temp), words: await asked.innerText() };
  await answer("s");
  await asked.getByText("Run this command?").waitFor();
  await answer("y");
  await phone.getByText("All tests pass.").waitFor();
  const page = await open(SCREENS.page);
  const files = page.locator("aside.right");
  await page.locator(".session[data-state=done]").waitFor();
  await files.getByText("wrap.ts").click();
  await files.locator("tr.add").waitFor();
  // The changes and the reply fit on the screen.
  const reason = page.getByText("Two causes");
  const { y: top = 0 } = await reason.boundingBox() ?? {};
  await page.mouse.move(WIDTH / 2, 300);
  await page.mouse.wheel(0, top - 60);
  await reason.evaluate(`element => new Promise((done) =>
    new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && done()).observe(element)
  )`);
  yield await viewOf("page", page, temp);
}

/** Shows the location of the project, which is another one each time, as "~", and takes the picture. */
async function viewOf(name: PageView["name"], page: Page, temp: string): Promise<PageView> {
  await page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { currentNode } = texts;
      currentNode.data = currentNode.data.replaceAll(${JSON.stringify(temp)}, "~");
    }
  })()`);
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  return { name, picture: Uint8Array.fromBase64(data) };
}

/** Begins a session with the task; returns its identifier. */
async function begin(origin: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${origin}/api/v1/sessions${path}`, {
      method: "POST",
      headers: { "authorization": `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error.message);
    return answer;
  };
  const { id } = await post("", {});
  await post(`/${id}/messages`, { id: crypto.randomUUID(), text: DEMO_TASK });
  return id;
}
