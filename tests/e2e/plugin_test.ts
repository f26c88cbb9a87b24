/** `reasonix plugin example`: the reference plugin speaks both protocol eras over both transports. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { makeWorld, type World } from "../support/program.ts";

const OLD = "2025-11-25";
const NEW = "2026-07-28";
const HEAD = "io.modelcontextprotocol/";
const META = {
  [`${HEAD}protocolVersion`]: NEW,
  [`${HEAD}clientInfo`]: { name: "test", version: "1" },
  [`${HEAD}clientCapabilities`]: {},
};
const WELCOME = {
  method: "initialize",
  params: { protocolVersion: OLD, capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const TEXT = "Hello 世界 👩‍👩‍👧\nagain\n";

interface Call {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const CALLS: readonly Call[] = [
  { method: "tools/list" },
  { method: "tools/call", params: { name: "echo", arguments: { text: TEXT } } },
  { method: "tools/call", params: { name: "wordcount", arguments: { text: TEXT } } },
  { method: "tools/call", params: { name: "wordcount", arguments: {} } },
  { method: "prompts/get", params: { name: "summarize", arguments: { style: "headline" } } },
  {
    method: "completion/complete",
    params: { ref: { type: "ref/prompt", name: "summarize" }, argument: { name: "style", value: "o" } },
  },
  { method: "resources/list" },
  { method: "resources/read", params: { uri: "example://guide" } },
  { method: "resources/read", params: { uri: "example://greeting/%E4%B8%96" } },
];

// deno-lint-ignore no-explicit-any
type Answer = any;

/** The expected answers to `CALLS` over every transport. */
function checkAnswers(answers: readonly Answer[]): void {
  const [tools, echo, count, wrong, prompt, completion, resources, guide, greeting] = answers;
  assertEquals(
    tools.result.tools.map((tool: Answer) => [tool.name, tool.annotations.readOnlyHint]),
    [["echo", true], ["wordcount", true]],
  );
  assertEquals(echo.result.content, [{ type: "text", text: TEXT }]);
  assertEquals(count.result.structuredContent, { lines: 2, words: 3, characters: 17 });
  assert(wrong.result?.isError === true || wrong.error !== undefined, JSON.stringify(wrong));
  assertStringIncludes(prompt.result.messages[0].content.text, "headline");
  assertEquals(completion.result.completion.values, ["one sentence"]);
  assertEquals(resources.result.resources.map(({ uri }: Answer) => uri), ["example://guide"]);
  assertStringIncludes(guide.result.contents[0].text, "wordcount");
  assertEquals(greeting.result.contents[0].text, "Hello, 世!\n");
}

function request(call: Call, id: number, meta?: typeof META): string {
  const params = meta === undefined ? call.params : { ...call.params, _meta: meta };
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: call.method,
    ...(params === undefined ? {} : { params }),
  });
}

/** Writes the messages to the plugin's standard input and returns its answers by their id. */
async function overStdio(world: World, messages: readonly string[]): Promise<Answer[]> {
  const child = await world.spawn(["plugin", "example"], { stdin: "open" });
  const complaints = new Response(child.stderr).text();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(messages.map((line) => `${line}\n`).join("")));
  const expected = messages.filter((line) => "id" in JSON.parse(line)).length;
  const answers: Answer[] = [];
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((each) => JSON.parse(each))) answers[line.id] = line;
    if (Object.keys(answers).length === expected) await writer.close().catch(() => {});
  }
  assertEquals([(await child.status).code, await complaints], [0, ""]);
  return answers;
}

Deno.test("the example plugin answers clients of both eras over its standard streams and ends with its input", async () => {
  await using world = await makeWorld();
  const old = [request(WELCOME, 0), JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })];
  const [welcome, ...first] = await overStdio(world, [
    ...old,
    ...CALLS.map((call, at) => request(call, at + 1)),
  ]);
  assertEquals(welcome.result.protocolVersion, OLD);
  checkAnswers(first);
  const probe = request({ method: "server/discover" }, 0, META);
  const [found, ...second] = await overStdio(world, [
    probe,
    ...CALLS.map((call, at) => request(call, at + 1, META)),
  ]);
  assert(found.result.supportedVersions.includes(NEW), JSON.stringify(found));
  checkAnswers(second);
});

/** Sends one request over HTTP; the answer is JSON or the last event of a stream. */
async function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "accept": "application/json, text/event-stream",
      ...headers,
    },
  });
  const text = await response.text();
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status: response.status, ...JSON.parse(data) };
}

function modernHeaders({ method, params }: Call): Record<string, string> {
  const name = params?.name ?? params?.uri;
  return {
    "mcp-protocol-version": NEW,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": String(name) }),
  };
}

Deno.test("the example plugin answers clients of both eras over HTTP, on loopback alone", async () => {
  await using world = await makeWorld();
  const child = await world.spawn(["plugin", "example", "--http", "0"], { stdin: "null" });
  const lines = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value = "" } = await lines.read();
    assertMatch(value, /^Listening on http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
    const url = /http\S+/.exec(value)?.[0] ?? "";
    const old = [];
    for (const [at, call] of CALLS.entries()) {
      old.push(await post(url, request(call, at), { "mcp-protocol-version": OLD }));
    }
    checkAnswers(old);
    const modern = [];
    for (const [at, call] of CALLS.entries()) {
      modern.push(await post(url, request(call, at, META), modernHeaders(call)));
    }
    checkAnswers(modern);
    const foreign = await post(url, "{}", { origin: "http://example.org" });
    assertEquals([foreign.status, foreign.error.message], [403, "Invalid Origin: example.org"]);
    const second = await world.run(["plugin", "example", "--http", new URL(url).port]);
    assertEquals([second.code, second.stdout], [1, ""]);
    assertStringIncludes(second.stderr, `Cannot serve the plugin on port ${new URL(url).port}`);
  } finally {
    child.kill("SIGTERM");
    while (!(await lines.read()).done) { /* until it has closed */ }
    await child.stdout.cancel();
  }
  assertEquals((await child.status).code, 0);
});

Deno.test("the example plugin lists the available ports", async () => {
  await using world = await makeWorld();
  const wrong = await world.run(["plugin", "example", "--http", "65536"]);
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, 'Cannot use "65536" for --http: give a port, from 0 to 65535');
});
