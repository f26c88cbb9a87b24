/** Sessions that go from the terminal to the web page and back, with the program as users start it. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { type Finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";
import { visit } from "../support/web.ts";

const SERVE = '[serve]\naddr = "127.0.0.1:0"\n';
const LINK = /http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+&session=([\w-]+)/;

const write = (path: string): Turn => ({
  calls: [{ id: path, name: "write_file", args: { path, content: "x" } }],
});

/** A program that prints to standard error a link, and what it has printed at its end. */
async function linked(world: World, args: readonly string[], stream: "stdout" | "stderr" = "stderr") {
  const child = await world.spawn(args);
  const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [early, late] = child[stream].pipeThrough(new TextDecoderStream()).tee();
  const whole = Array.fromAsync(late);
  const other = new Response(child[stream === "stdout" ? "stderr" : "stdout"]).text();
  let text = "";
  for await (const part of early.values({ preventCancel: true })) {
    text += part;
    if (/#token=[^\n]+\n/.test(text)) break;
  }
  const end = async (): Promise<Finished> => {
    const [{ code }, own, rest] = await Promise.all([child.status, whole, other]);
    clearTimeout(limit);
    const printed = { [stream]: own.join(""), [stream === "stdout" ? "stderr" : "stdout"]: rest };
    return { code, stdout: "", stderr: "", ...printed };
  };
  return { child, link: /http:\S+#token=\S+/.exec(text)?.[0], text, end };
}

Deno.test("run --web waits for the page's answer, and its result and output are those without", async () => {
  const script = [write("new.txt"), { text: "Done." }];
  const results: unknown[] = [];
  for (const flags of [[], ["--web"]]) {
    await using server = startModelServer(script);
    await using world = await makeWorld(mockConfig(server.url, "", "") + SERVE);
    const args = ["run", ...flags, "--output-format", "json", "--quiet", "write it"];
    let done: Finished;
    if (flags.length === 0) done = await world.run(args);
    else {
      const { link, end } = await linked(world, args);
      const [, session = ""] = LINK.exec(link ?? "") ?? [];
      const { ask, question, stream } = await visit(link);
      const watched = stream(`?session=${session}@0`);
      const { id, kind } = await question(session);
      assertEquals(kind, "approval");
      const listed = (await world.run(["session", "list"])).stdout;
      assertStringIncludes(listed, `run, ${new URL(link ?? "").origin}`);
      assertStringIncludes((await ask("/sessions", { directory: world.dir })).error.message, "does one task");
      await ask(`/sessions/${session}/questions/${id}`, { answer: { allow: true, scope: "once" } });
      done = await end();
      // The stream has the end of the turn.
      assertStringIncludes(await watched, '"type":"turn.end"');
      assertStringIncludes(done.stderr, "A question waits for its answer on the web page");
      await assertRejects(() => ask("/server"));
      assert(!(await world.run(["session", "list"])).stdout.includes("OPEN IN"));
    }
    const { session_id, duration_ms, duration_api_ms, ...result } = JSON.parse(done.stdout);
    assert(session_id && duration_ms && duration_api_ms);
    assertEquals(await world.read("new.txt"), "x");
    results.push({ code: done.code, result });
  }
  assertEquals(results[1], results[0]);
});

Deno.test("the time limit of run --web counts while a question waits", async () => {
  await using server = startModelServer([write("new.txt"), { text: "Done." }]);
  await using world = await makeWorld(mockConfig(server.url) + SERVE);
  const { code, stdout } = await world.run(["run", "--web", "--time-limit", "1", "write it"]);
  assertEquals([code, stdout], [4, ""]);
});

Deno.test("a page sets up a provider of a fresh machine, and serves a session that a terminal began", async () => {
  const key = "sk-right-0123456789abcdef";
  await using server = startModelServer([], {
    models: ["small-1"],
    fallback: ({ headers }) =>
      headers.get("authorization") === `Bearer ${key}`
        ? { text: "Yes." }
        : { status: 401, body: { error: { message: "Incorrect API key provided" } } },
    check: { prefix: false },
  });
  await using world = await makeWorld();
  const { child, link, end } = await linked(world, ["web", "--no-open", "--addr", "127.0.0.1:0"], "stdout");
  const { ask, question, stream, events: storedEvents } = await visit(link);
  const id = "20260101-000000-abcd";
  assertEquals((await ask("/sessions", { id, directory: world.dir })).id, id);
  const watched = stream(`?session=${id}@0`);
  const answers: [string, (entries: { label: string }[]) => unknown][] = [
    ["Which provider?", (entries) => entries.findIndex(({ label }) => label.startsWith("Another OpenAI"))],
    ["Address of the API", () => `${server.url}/v1`],
    ["A name for it", () => "mine"],
    ["Key (saved as MINE_API_KEY", () => key],
    ["Model", () => 0],
    ["Context window", () => "64k"],
  ];
  for (const [title, answer] of answers) {
    const { id: asked, question: { title: shown, entries = [] } } = await question(id);
    assert(shown.startsWith(title), `"${title}" is asked, not "${shown}"`);
    const { status } = await ask(`/sessions/${id}/questions/${asked}`, { answer: answer(entries) });
    assertEquals(status, 200);
  }
  // The session opens with the new provider.
  const sent = await ask(`/sessions/${id}/messages`, { id: "message-1", text: "Is it set up?" });
  assertEquals(sent.status, 202);
  await server.received(2);
  await storedEvents(id, "turn.end");
  child.kill("SIGTERM");
  const { stdout, stderr } = await end();
  const log = await Deno.readTextFile(
    [...Deno.readDirSync(`${world.home}/projects`)].map(({ name }) =>
      `${world.home}/projects/${name}/sessions/${id}.jsonl`
    )[0] ?? "",
  );
  for (const text of [stdout, stderr, log, await watched]) assert(!text.includes(key), text);
  assertStringIncludes(await Deno.readTextFile(`${world.home}/.env`), key);
  // The terminal continues what the page began, and `web --resume` what the terminal did.
  const run = await world.run(["run", "--resume", id, "Again?"]);
  assertEquals([run.code, run.stdout], [0, "Yes.\n"]);
  const again = await linked(
    world,
    ["web", "--no-open", "--addr", "127.0.0.1:0", "--resume", "20260101"],
    "stdout",
  );
  assertStringIncludes(again.link ?? "", `&session=${id}`);
  const page = await visit(again.link);
  const { events } = await page.ask(`/sessions/${id}/events`);
  assertEquals(events.filter(({ type }: { type: string }) => type === "turn.end").length, 2);
  again.child.kill("SIGTERM");
  await again.end();
});

onTerminal(
  "/web shows the chat on a page, and each side's answer closes the question of the other",
  async () => {
    await using server = startModelServer([write("one.txt"), { text: "One." }, write("two.txt"), {
      text: "Two.",
    }]);
    await using chat = await openChat(mockConfig(server.url) + SERVE, { columns: 130, rows: 60 });
    await chat.terminal.shows("> Ask for something");
    await chat.enter("/web");
    const shown = await shownSoon(
      chat.terminal,
      (screen) => LINK.test(screen) && screen.includes("counts once"),
    );
    const [link = "", session = ""] = LINK.exec(shown) ?? [];
    const { ask, question, stream } = await visit(link);
    const watched = stream(`?session=${session}@0`);
    await chat.terminal.shows("web: 1 browser");
    await ask(`/sessions/${session}/messages`, { id: "message-1", text: "make one" });
    await chat.terminal.shows("Allow write_file?");
    const { id } = await question(session);
    await ask(`/sessions/${session}/questions/${id}`, { answer: { allow: true, scope: "once" } });
    await chat.terminal.shows("One.");
    await chat.enter("make two");
    await chat.terminal.shows("Allow write_file?");
    const second = await question(session);
    await chat.answer("y");
    await chat.terminal.shows("Two.");
    const late = await ask(`/sessions/${session}/questions/${second.id}`, {
      answer: { allow: true, scope: "once" },
    });
    assertEquals(late.status, 409);
    await chat.terminal.press("C-d");
    await chat.terminal.shows("The web page is closed; 1 browser was connected");
    await chat.terminal.shows("left-with-0");
    // The stream ends with the program.
    const events = await watched;
    for (const by of ["web", "terminal"]) {
      assertStringIncludes(events, `"state":"answered","by":"${by}"`);
    }
    await assertRejects(() => ask("/server"));
  },
);
