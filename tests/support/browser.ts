/**
 * A real browser for tests of the web page: Debian's Chromium, driven by playwright. One process for a test
 * file, one context (cookies, storage, cache) for each test. Names outside of this machine lead to a server
 * that records who asks for them: no test leaves loopback, and none asks outside without notice.
 */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { needs } from "./tools.ts";

/** A name of another machine that leads here: for pages of an attacker, and for a rebinding name. */
export const ATTACKER = "attacker.example";

const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const FLAGS = [
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];
/** A condition on a page that has not come by then does not come. */
const WAIT_MS = 20_000;
const LIMIT_MS = 90_000;

/** The browser's program; undefined where there is none. */
function browserProgram(): string | undefined {
  const directories = (Deno.env.get("PATH") ?? "").split(":");
  const paths = PROGRAMS.flatMap((program) => directories.map((directory) => `${directory}/${program}`));
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/** A started browser, and the requests that tried to leave this machine. */
export interface RunningBrowser extends AsyncDisposable {
  readonly browser: Browser;
  /** First lines of all connections to names outside of this machine. */
  readonly outside: readonly string[];
}

export async function startBrowser(flags: readonly string[] = []): Promise<RunningBrowser> {
  const { chromium } = await import("playwright-core");
  const executablePath = browserProgram();
  if (executablePath === undefined) throw new Error(`Cannot find a browser; install ${PROGRAMS[0]}`);
  const outside: string[] = [];
  const trap = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const trapped = record(trap, outside);
  const rules = `MAP ${ATTACKER} 127.0.0.1, MAP * 127.0.0.1:${trap.addr.port}, EXCLUDE 127.0.0.1, ` +
    "EXCLUDE localhost";
  const browser = await chromium.launch({
    executablePath,
    args: [...FLAGS, `--host-resolver-rules=${rules}`, ...flags],
  });
  return {
    browser,
    outside,
    async [Symbol.asyncDispose]() {
      await browser.close();
      trap.close();
      await trapped;
    },
  };
}

async function record(trap: Deno.TcpListener, outside: string[]): Promise<void> {
  try {
    for await (const connection of trap) {
      const bytes = new Uint8Array(512);
      const read = await connection.read(bytes).catch(() => null);
      outside.push(new TextDecoder().decode(bytes.subarray(0, read ?? 0)).split("\r\n")[0] ?? "");
      connection.close();
    }
  } catch { /* the listener was closed */ }
}

/** A context of the browser with what its pages did. */
export interface Visitor {
  readonly context: BrowserContext;
  /** The addresses of all requests of the context, those of workers and WebSockets too. */
  readonly requests: readonly string[];
  /** Dialogs of scripts (`alert`), which no page of ours opens. */
  readonly dialogs: readonly string[];
  /** Errors of scripts and lines of the console. */
  readonly problems: readonly string[];
  /** The answers that have come so far, those of frames and prefetches too. */
  answers(): Promise<readonly Answer[]>;
  page(address?: string): Promise<Page>;
}

interface Answer {
  readonly url: string;
  readonly status: number;
  /** The browser's word for the page that asked: "same-origin", "cross-site". */
  readonly site: string | undefined;
}

async function visitor(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ locale: "en-US", serviceWorkers: "block", ...options });
  context.setDefaultTimeout(WAIT_MS);
  const [requests, dialogs, problems]: string[][] = [[], [], []];
  context.on("request", (request) => void requests?.push(request.url()));
  context.on("console", (line) => {
    // A session that is not open yet has no checkpoints: the page shows the files of its events.
    if (/409 .*[/]changes$/.test(`${line.text()} ${line.location().url}`)) return;
    if (["error", "warning"].includes(line.type())) problems?.push(line.text());
  });
  context.on("weberror", (error) => void problems?.push(String(error.error())));
  context.on("page", (page) => {
    page.on("websocket", (socket) => void requests?.push(socket.url()));
    page.on("dialog", (dialog) => {
      dialogs?.push(dialog.message());
      void dialog.dismiss().catch(() => {});
    });
  });
  const answered: Promise<Answer>[] = [];
  context.on("response", (response) => {
    const [url, status] = [response.url(), response.status()];
    const headers = response.request().allHeaders().catch((): Record<string, string> => ({}));
    answered.push(headers.then((all) => ({ url, status, site: all["sec-fetch-site"] })));
  });
  return {
    context,
    answers: () => Promise.all(answered),
    requests: requests ?? [],
    dialogs: dialogs ?? [],
    problems: problems ?? [],
    async page(address) {
      const page = await context.newPage();
      if (address !== undefined) await page.goto(address);
      return page;
    },
  };
}

/** The browser of a test; its contexts are closed when the test ends. */
export interface BrowserTest {
  readonly browser: Browser;
  readonly outside: readonly string[];
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
}

let started: Promise<RunningBrowser> | undefined;
let closes = false;

/** Declares a test that needs a browser. Its failure shows the page and what its scripts complained about. */
export function browserTest(name: string, run: (test: BrowserTest) => Promise<void>, limitMs = LIMIT_MS) {
  if (!closes) {
    closes = true;
    Deno.test.afterAll(async () => void await (await started)?.[Symbol.asyncDispose]());
  }
  const tool = "chromium-headless-shell";
  Deno.test({
    ...needs(tool, browserProgram() !== undefined, name),
    // The browser stays open for the next test.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const { browser, outside } = await (started ??= startBrowser());
      const visitors: Visitor[] = [];
      let timer: ReturnType<typeof setTimeout> | undefined;
      const limit = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`Stopped after ${limitMs / 1000} s`)), limitMs);
      });
      const test: BrowserTest = {
        browser,
        outside,
        async visitor(options) {
          const made = await visitor(browser, options);
          visitors.push(made);
          return made;
        },
      };
      try {
        await Promise.race([run(test), limit]);
      } catch (error) {
        throw new Error(await seen(visitors), { cause: error });
      } finally {
        clearTimeout(timer);
        await Promise.all(visitors.map(({ context }) => context.close().catch(() => {})));
      }
    },
  });
}

/** The pages of a failed test, as text. */
async function seen(visitors: readonly Visitor[]): Promise<string> {
  const parts = visitors.map(async ({ context, problems, requests }) => {
    const pages = context.pages().map(async (page) =>
      `${page.url()}\n${await page.locator("body").ariaSnapshot({ timeout: 2000 }).catch(String)}`
    );
    return [...await Promise.all(pages), ...problems.slice(-10), ...requests.slice(-10)].join("\n");
  });
  const text = (await Promise.all(parts)).join("\n---\n");
  return `The page at that moment:\n${
    text.length > 8000 ? `${text.slice(0, 4000)}\n…\n${text.slice(-4000)}` : text
  }`;
}
