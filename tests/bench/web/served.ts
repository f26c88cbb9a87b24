/** Servers of web pages under test, and browsers that are signed in to them. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { descendants } from "../memory.ts";
import { onRuntime, type Program } from "../programs.ts";
import { type Bench, wait } from "../runner.ts";
import { removeTree } from "../../support/remove_tree.ts";

/** A fixed token, for the requests of the benchmark. */
const TOKEN = "token-of-the-benchmark-0123456789";
export const authorization = `Bearer ${TOKEN}`;
const START_LIMIT_MS = 20_000;
const LINK = /http:\/\/\S+#token=\S+/;

/** A program that serves a page. */
export interface WebProgram {
  readonly program: Program;
  /** It signs in with a link; absent: it needs no sign-in. */
  readonly signIn?: true;
}

export interface ServeOptions {
  /** Script of the model. */
  readonly script: string;
  readonly home?: string;
  /** On a copy of the runtime, so that its memory is not shared. */
  readonly alone?: boolean;
}

/** A started server. */
export interface Served extends AsyncDisposable {
  readonly origin: string;
  /** The address of a new session, and its id; programs with one session have it at "/". */
  readonly page: string;
  readonly session: string;
  readonly pid: number;
  /** The model server's key for the requests of the agent. */
  readonly path: string;
  /** A context of the browser that is signed in and has an empty cache. */
  context(browser: Browser): Promise<BrowserContext>;
}

let number = 0;

/** Starts a server on a free port; without `home` in a new one. */
export async function serve(
  { runner }: Bench,
  { program, signIn }: WebProgram,
  { script, home: given, alone = false }: ServeOptions,
): Promise<Served> {
  const { server, stage } = runner;
  const path = `${script}/web_${++number}`;
  const home = given ?? `${stage.root}/home_web_${number}`;
  await Deno.mkdir(home, { recursive: true });
  await program.prepare(home, `${server.url}/${path}/v1`);
  const { command, plain } = alone ? onRuntime(program, await stage.runtime()) : program;
  const portFile = `${stage.root}/port_${number}`;
  const words = ["serve", "--addr", "127.0.0.1:0", "--port-file", portFile];
  const child = new Deno.Command(command, {
    args: [...plain?.(words) ?? words],
    cwd: stage.workspace,
    env: { ...runner.environment(home), ...signIn ? { REASONIX_SERVE_TOKEN: TOKEN } : {} },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) printed += text;
  });
  let ended = false;
  void child.status.then(() => ended = true);
  const until = async <T>(read: () => T | undefined | Promise<T | undefined>): Promise<T> => {
    for (const limit = performance.now() + START_LIMIT_MS; performance.now() < limit && !ended;) {
      const found = await read();
      if (found !== undefined) return found;
      await wait(5);
    }
    throw new Error(`${program.name} does not serve; it printed:\n${printed}`);
  };
  const listens = await until(() =>
    Deno.readTextFile(portFile).then((text) => text.trim() || undefined, () => undefined)
  );
  const origin = `http://${/:/.test(listens) ? listens : `127.0.0.1:${listens}`}`;
  const session = signIn ? (await post(origin, "/sessions", { directory: stage.workspace })).id ?? "" : "";
  const address = session === "" ? `${origin}/` : `${origin}/s/${session}`;
  let storage: Promise<BrowserContextOptions["storageState"]> | undefined;
  const signedIn = async (browser: Browser) => {
    const link = await until(() => printed.match(LINK)?.[0]);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${link}&session=${session}`);
    await composer(page);
    const state = await context.storageState();
    await context.close();
    return state;
  };
  return {
    origin,
    page: address,
    session,
    pid: child.pid,
    path,
    async context(browser) {
      const storageState = signIn ? await (storage ??= signedIn(browser)) : undefined;
      return await browser.newContext(storageState ? { storageState } : {});
    },
    async [Symbol.asyncDispose]() {
      // A command of npm starts the program below it.
      for (const pid of [...descendants(child.pid).reverse(), child.pid]) {
        try {
          Deno.kill(pid, "SIGTERM");
        } catch { /* it has ended */ }
      }
      await Promise.all([child.status, ...reading]);
      if (given === undefined) await removeTree(home);
    },
  };
}

/** Sends a request of the owner to the API. */
export async function post(origin: string, path: string, body: unknown): Promise<{ readonly id?: string }> {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} failed: ${await response.text()}`);
  return await response.json();
}

/** The input line of a page, which may have to be opened first. */
export async function composer(page: Page) {
  const input = page.locator("textarea:visible").first();
  await input.waitFor();
  return input;
}
