/** Connections that are cut: the page has to show the same as one that was loaded afterwards. */
import type { Page } from "playwright-core";
import { call, type Reply, say } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { type BrowserTest, browserTest } from "../support/browser.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { Random, SEED, soakSize } from "../support/seed.ts";
import { serveHere } from "../support/web.ts";

/** Forwards connections to a port of this machine, until all of them are cut. */
function startForwarder(port: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const forward = async (client: Deno.TcpConn) => {
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    for (const one of [client, server]) open.add(one);
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
    for (const one of [client, server]) open.delete(one);
  };
  void (async () => {
    try {
      for await (const client of listener) void forward(client).catch(() => {});
    } catch { /* the listener was closed */ }
  })();
  const cut = () => {
    for (const connection of open) {
      try {
        connection.close();
      } catch { /* closed before */ }
    }
    open.clear();
  };
  return {
    origin: `http://127.0.0.1:${listener.addr.port}`,
    cut,
    [Symbol.dispose]() {
      listener.close();
      cut();
    },
  };
}

/** The conversation as HTML, when a turn has ended with this text. */
async function conversation(page: Page, last: string): Promise<string> {
  await page.locator(".row[data-key]", { hasText: last }).waitFor();
  await page.locator(".row.turn").last().waitFor();
  await page.locator(".activity").waitFor({ state: "detached" });
  return await page.locator(".content").innerHTML();
}

/** Turns of one session; a page shows all of their rows. */
const TURNS = 8;

/** A session whose page loses its connections once or more in each turn. */
async function cutTurns(test: BrowserTest, random: Random): Promise<void> {
  let cut = () => {};
  const words = (name: string) => Array.from({ length: 20 }, (_, at) => `${name} **word ${at}**\n\n`);
  /** Streams words, and cuts at one of them. */
  const streamed = (name: string, last: string): Reply => {
    const at = random.below(20);
    return async function* () {
      for (const [index, text] of words(name).entries()) {
        yield { type: "text", text };
        await new Promise((resolve) => setTimeout(resolve));
        if (index === at) cut();
      }
      yield* say(last);
    };
  };
  const called = (...calls: ReturnType<typeof call>[]): Reply => {
    const at = random.below(calls.length + 1);
    return async function* () {
      for (const [index, one] of calls.entries()) {
        if (index === at) cut();
        yield one;
        await new Promise((resolve) => setTimeout(resolve));
      }
      if (at === calls.length) cut();
      yield { type: "done", reason: "tool_calls" };
    };
  };
  const replies: Reply[] = [];
  const asks: boolean[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const kind = turn % 3;
    const name = (one: number) => `t${turn}_${one}`;
    const read = (one: number) => call(name(one), "read_file", { path: "a.txt" });
    if (kind === 1) replies.push(called(read(1), read(2), read(3)));
    if (kind === 2) replies.push(called(call(name(1), "write_file", { path: name(1), content: "x\n" })));
    replies.push(streamed(`turn ${turn}`, `The end of turn ${turn}.`));
    asks.push(kind === 2);
  }
  await using served = await serveHere({ replies, files: { "a.txt": "a\n" } });
  using forwarder = startForwarder(Number(new URL(served.origin).port));
  cut = forwarder.cut;
  const made = await served.owner("/api/v1/sessions", { json: { directory: served.stage.cwd } });
  const { id } = await made.json();
  const [, hash] = served.server.link("owner", id).split("#");
  const { page } = await test.visitor();
  const cutPage = await page(`${forwarder.origin}/#${hash}`);
  await cutPage.locator("textarea").waitFor();
  // The network is back at once: the page need not wait longer after each cut.
  await cutPage.evaluate(`void setInterval(() => dispatchEvent(new Event("online")), 50)`);
  for (const [turn, asked] of asks.entries()) {
    await cutPage.locator("textarea").fill(`Begin turn ${turn}.`);
    await cutPage.locator("textarea").press("Enter");
    if (asked) {
      const yes = cutPage.locator("dialog[open] .answers button:enabled").first();
      await yes.waitFor();
      if (random.chance(0.5)) cut();
      await yes.click();
    }
    await cutPage.locator(".row[data-key]", { hasText: `The end of turn ${turn}.` }).waitFor();
    if (random.chance(0.3)) cut();
  }
  const last = `The end of turn ${TURNS - 1}.`;
  const fresh = await (await test.visitor()).page(served.server.link("owner", id));
  assertEquals(await conversation(cutPage, last), await conversation(fresh, last));
  const messages = await cutPage.locator(".row.user").allInnerTexts();
  assertEquals(messages.map((text) => /turn \d+/.exec(text)?.[0]), asks.map((_, turn) => `turn ${turn}`));
}

browserTest(
  `a page whose connections are cut at random equals one loaded afterwards (seed ${SEED})`,
  async (test) => {
    const random = new Random(SEED);
    for (let session = 0; session < soakSize(40, 1); session++) await cutTurns(test, random);
  },
  soakSize(900_000, 90_000),
);

browserTest(
  "a page goes through a kill of its server: same sign-in, same conversation, and the next turn",
  async (test) => {
    await using model = startModelServer([
      { text: "The first answer." },
      { text: ["Half an answer", " that never ends"], stuck: "silent" },
    ], { fallback: { text: "The last answer." }, check: { prefix: false } });
    await using world = await makeWorld(mockConfig(model.url));
    const portFile = `${world.home}/address`;
    const start = async (address: string) => {
      const server = await world.spawn(["serve", "--addr", address, "--port-file", portFile, "--no-open"]);
      let printed = "";
      const reading = [server.stdout, server.stderr].map(async (stream) => {
        for await (const text of stream.pipeThrough(new TextDecoderStream())) printed += text;
      });
      for (
        const limit = performance.now() + 20_000;
        !printed.includes("#token=");
        await new Promise((resolve) => setTimeout(resolve, 10))
      ) {
        assert(performance.now() < limit, printed);
      }
      const kill = async () => {
        server.kill("SIGKILL");
        await Promise.all([server.status, ...reading]);
      };
      return { link: /http:\/\/\S+#token=\S+/.exec(printed)?.[0] ?? "", kill };
    };
    let server = await start("127.0.0.1:0");
    try {
      const { page, answers } = await test.visitor();
      const owner = await page(server.link);
      await owner.getByRole("button", { name: /^New/ }).first().click();
      await owner.locator("dialog[open] button.primary").click();
      const send = async (text: string) => {
        await owner.locator("textarea").fill(text);
        await owner.locator("textarea").press("Enter");
      };
      await send("First.");
      await owner.getByText("The first answer.").waitFor();
      await send("Second.");
      await owner.getByText("Half an answer").waitFor();
      await server.kill();
      server = await start(new URL(server.link).host);
      await send("Third.");
      const shown = await conversation(owner, "The last answer.");
      assertEquals((await answers()).filter(({ url }) => url.endsWith("/sign-in")).length, 1);
      const fresh = await (await test.visitor()).page(
        `${server.link}&session=${owner.url().split("/s/")[1]}`,
      );
      assertEquals(await conversation(fresh, "The last answer."), shown);
    } finally {
      await server.kill();
    }
  },
);
