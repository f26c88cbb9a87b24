/** Streams of the program that serves sessions: it is killed, and another one works on a session. */
import { isDeepStrictEqual } from "node:util";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { Browser } from "../support/page_model.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const LIMIT_MS = 60_000;
const headers = { authorization: "Bearer of-a-script", "content-type": "application/json" };

async function until(holds: () => boolean | Promise<boolean>, said: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; !await holds();) {
    assert(performance.now() < end, `It never came to ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Starts the program and returns its address, once it serves. */
async function serve(world: World, address: string) {
  const child = await world.spawn(["serve", "--addr", address, "--token-file", "token"]);
  const [printing, kept] = child.stdout.tee();
  void new Response(kept).text();
  void new Response(child.stderr).text();
  let text = "";
  for await (const piece of printing.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const origin = /Reasonix serves (http:\S+)\n/.exec(text)?.[1];
    if (origin) return { origin, child };
  }
  throw new Error(`The server has ended: ${text}`);
}

Deno.test("a browser shows the same after the server was killed, and follows a session of another program", async () => {
  const held = Promise.withResolvers<void>();
  const approved = (name: string) => ({ calls: [{ name: "bash", args: { command: `touch ${name}` } }] });
  await using model = startModelServer([
    { text: "First answer" },
    approved("one"),
    approved("two"),
    { text: "Last answer" },
    { text: "From another program", before: held.promise },
  ], { lane: ({ body }) => String(body.includes("Work elsewhere")) });
  await using world = await makeWorld(mockConfig(model.url));
  await world.write("token", "of-a-script\n");
  let { origin, child } = await serve(world, "127.0.0.1:0");
  const request = async (path: string, body?: unknown) => {
    const method = body === undefined ? "GET" : "POST";
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${origin}/api/v1${path}`, { method, headers, ...json });
    const answer = await response.json();
    assert(response.ok, JSON.stringify(answer));
    return answer;
  };
  const browse = (id: string) =>
    new Browser([id], {
      async open(sessions) {
        const query = new URLSearchParams(sessions.map((each) => ["session", each]));
        const { ok, body } = await fetch(`${origin}/api/v1/stream?${query}`, { headers });
        assert(ok && body);
        return body;
      },
      load: (session, before) =>
        request(`/sessions/${session}/events?limit=50${before === Infinity ? "" : `&before=${before}`}`),
    }).load();
  const { id } = await request("/sessions", {});
  const browser = await browse(id);
  const send = (text: string, message: string) => request(`/sessions/${id}/messages`, { text, id: message });
  const compare = async (said: string) => {
    const fresh = await browse(id);
    await until(() => isDeepStrictEqual(browser.view(id), fresh.view(id)), said).catch(() => {});
    assertEquals(browser.view(id), fresh.view(id));
    await fresh.close();
  };
  await send("Begin", "message-0");
  await until(() => browser.view(id).turnState === "done", "the first answer");
  for (const name of ["one", "two"]) {
    await send(`Make ${name}`, `message-${name}`);
    await until(() => browser.view(id).questions.length === 1, "an approval");
    child.kill("SIGKILL");
    await child.status;
    ({ child } = await serve(world, new URL(origin).host));
    // The turn has ended with its server; a message opens the session again.
    await until(() => browser.view(id).turnState === "stopped", "the end of the turn");
    assertEquals(browser.view(id).questions, []);
    await compare("equal views after a kill");
  }
  await send("End", "message-end");
  await until(() => browser.view(id).turnState === "done", "the last answer");
  await compare("equal views at the end");
  const texts = browser.view(id).rows.flatMap((row) => row.kind === "reply" ? [row.text] : []);
  assertEquals(texts, ["First answer", "Last answer"]);
  await browser.close();

  const other = world.run(["run", "Work elsewhere"]);
  const entries = async () =>
    (await request("/sessions")).sessions as { id: string; elsewhere: boolean; state: string }[];
  let foreign: Awaited<ReturnType<typeof entries>>[number] | undefined;
  await until(async () => {
    foreign = (await entries()).find((each) => each.elsewhere);
    return foreign?.state === "working";
  }, "a session of another program");
  const { id: theirs = "" } = foreign ?? {};
  const watching = await browse(theirs);
  await until(() => watching.view(theirs).turnState === "generating", "its turn");
  // It cannot be opened here; the remedy names no flag, which a page does not have.
  const refused = await fetch(`${origin}/api/v1/sessions/${theirs}/open`, {
    method: "POST",
    headers,
    body: "{}",
  });
  const { error } = await refused.json();
  assertMatch(error.message, /process \d+ has it open/);
  assertEquals(error.remedy, "end that program, or continue in a copy");
  held.resolve();
  assertEquals((await other).code, 0);
  await until(() => watching.view(theirs).turnState === "done", "the end of its turn");
  const shown = watching.view(theirs).rows.flatMap((row) => row.kind === "reply" ? [row.text] : []);
  assertEquals(shown, ["From another program"]);
  await until(async () => (await entries()).every(({ elsewhere }) => !elsewhere), "the end of the program");
  await watching.close();
  child.kill("SIGTERM");
  await child.status;
});
