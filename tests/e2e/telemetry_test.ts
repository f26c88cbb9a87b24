/** Traces of the real program: what arrives, and what a receiver that fails costs. */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { OtlpReceiver, type ReceiverMode } from "../support/otlp_receiver.ts";
import { startProxy } from "../support/proxy.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { EMPTY, onTerminal, openChat } from "../support/terminal_chat.ts";

const TOKEN = "otlp-token-0123456789abcdefABCDEF";
const bash = (command: string): Turn => ({ calls: [{ name: "bash", args: { command } }] });
const telemetry = (url: string, more = "") =>
  `[telemetry]\notlp = "${url}"\nheaders = { Authorization = "Bearer \${OTLP_TOKEN}" }\n${more}\n`;
/** Any command may run, whatever jail the machine has. */
const ALLOW = '[permissions]\nallow = ["Bash"]\n[sandbox]\nbash = "off"\n';

Deno.test("a run sends its spans with the resource and headers, and the model hears nothing of it", async () => {
  const replies = [bash("echo $OTLP_TOKEN-$OTEL_EXPORTER_OTLP_HEADERS"), { text: "done" }];
  await using model = startModelServer([...replies, ...replies], { check: { prefix: false } });
  await using receiver = new OtlpReceiver();
  await using off = await makeWorld(mockConfig(model.url, ALLOW));
  await using world = await makeWorld(mockConfig(model.url, telemetry(receiver.url) + ALLOW));
  const env = {
    OTLP_TOKEN: TOKEN,
    OTEL_EXPORTER_OTLP_HEADERS: `x-tenant=${TOKEN}`,
    OTEL_SERVICE_NAME: "agents",
    OTEL_RESOURCE_ATTRIBUTES: `deployment.environment.name=test,deployment.id=${TOKEN}`,
  };
  const unused = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  assertEquals((await off.run(["run", "go"], { env: unused })).code, 0);
  assertEquals(receiver.requests, 0);
  const done = await world.run(["run", "go"], { env });
  assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
  const names = receiver.spans.map(({ name }) => name).sort();
  assertEquals(names, ["chat mock-1", "chat mock-1", "execute_tool bash", "invoke_agent reasonix"]);
  for (const { resource } of receiver.spans) {
    assertEquals(resource["service.name"], "agents");
    assertMatch(String(resource["service.version"]), /^\d+[.]\d+[.]\d+/);
    assertEquals(resource["deployment.environment.name"], "test");
  }
  const [head = "", body = ""] = (receiver.raw[0] ?? "").split("\n\n");
  assert(head.includes(`authorization: Bearer ${TOKEN}`) && head.includes(`x-tenant: ${TOKEN}`), head);
  assert(!body.includes(TOKEN));
  const chat = receiver.spans.find(({ kind }) => kind === "client");
  assertEquals(chat?.attributes["server.port"], model.port);
  const [, plain, , observed] = model.requests.map(({ body }) =>
    body.replaceAll(off.dir, world.dir).replaceAll("call_3_0", "call_1_0")
  );
  assertEquals(observed, plain);
  assertEquals(model.requests.some(({ body }) => body.includes(TOKEN)), false);
});

Deno.test("nothing is exported, nor loaded for it, before the first reply", async () => {
  const held = Promise.withResolvers<void>();
  await using model = startModelServer([{ text: "done", before: held.promise }]);
  await using receiver = new OtlpReceiver();
  const metrics = `[telemetry]\notlp = "${receiver.url}"\nsignals = ["metrics"]\nnames = "claude_code"\n`;
  await using world = await makeWorld(mockConfig(model.url, metrics));
  // An exporter sends the count of sessions as soon as there is one.
  const child = await world.spawn(["run", "go"], { env: { OTEL_METRIC_EXPORT_INTERVAL: "1" } });
  while (model.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assertEquals(receiver.requests, 0);
  held.resolve();
  assertEquals((await finished(child)).code, 0);
  assert(receiver.metric("claude_code.session.count"));
});

Deno.test("with env the variables of OpenTelemetry name the receiver", async () => {
  await using model = startModelServer([bash("true"), { text: "done" }]);
  await using all = new OtlpReceiver();
  await using traces = new OtlpReceiver();
  await using world = await makeWorld(mockConfig(model.url, '[telemetry]\notlp = "env"\n' + ALLOW));
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: all.url,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${traces.url}/v1/traces`,
  };
  assertEquals((await world.run(["run", "go"], { env })).code, 0);
  assertEquals(traces.spans.length, 4);
  assert(all.metrics.length > 0 && all.spans.length === 0);
});

Deno.test("telemetry goes through the proxy of the environment, except to this machine and to what NO_PROXY names", async () => {
  await using model = startModelServer([], { check: { prefix: false }, fallback: { text: "done" } });
  await using receiver = new OtlpReceiver();
  await using proxy = startProxy();
  const port = new URL(receiver.url).port;
  const run = async (host: string, more: Record<string, string> = {}) => {
    const config = `[telemetry]\notlp = "http://${host}:${port}"\nsignals = ["traces"]\n`;
    await using world = await makeWorld(mockConfig(model.url, config));
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "", ...more };
    const { code, stderr } = await world.run(["run", "go"], { env });
    assertEquals(code, 0, stderr);
    const asked = proxy.asked.splice(0);
    return {
      asked,
      spans: receiver.spans.splice(0).length,
      failed: stderr.includes("Cannot send telemetry"),
    };
  };
  assertEquals(await run("collector.test"), {
    asked: [`POST http://collector.test:${port}/v1/traces HTTP/1.1`],
    spans: 2,
    failed: false,
  });
  assertEquals(await run("127.0.0.1"), { asked: [], spans: 2, failed: false });
  const exempt = await run("collector.test", { NO_PROXY: "collector.test" });
  assertEquals(exempt, { asked: [], spans: 0, failed: true });
});

Deno.test("a body can be compressed, and a certificate that cannot be read is named", async () => {
  await using model = startModelServer([], { check: { prefix: false }, fallback: { text: "done" } });
  const encodings: (string | null)[] = [];
  const bodies: string[] = [];
  await using receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    encodings.push(request.headers.get("content-encoding"));
    const body = request.body?.pipeThrough(new DecompressionStream("gzip"));
    bodies.push(await new Response(body).text());
    return Response.json({});
  });
  const url = `http://127.0.0.1:${receiver.addr.port}`;
  await using world = await makeWorld(
    mockConfig(model.url, `[telemetry]\notlp = "${url}"\nsignals = ["traces"]\n`),
  );
  const compressed = await world.run(["run", "go"], { env: { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" } });
  assertEquals([compressed.code, encodings], [0, ["gzip"]], compressed.stderr);
  assert(bodies[0]?.includes("invoke_agent reasonix"), bodies[0]);
  const unread = await world.run(["run", "go"], {
    env: { OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: "/none.pem" },
  });
  assertEquals([unread.code, encodings.length], [0, 1]);
  const problem = 'Cannot use OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE "/none.pem": there is no such file';
  assert(unread.stderr.includes(problem), unread.stderr);
});

const FAILURES = [
  ["dead", "tcp connect error"],
  ["hang", "no answer within 1 s"],
  [500, "HTTP 500"],
  [503, "HTTP 503"],
] as const satisfies [ReceiverMode | "dead", string][];

for (const [mode, problem] of FAILURES) {
  Deno.test(`a receiver that is ${mode} costs one line, and the end does not wait for it`, async () => {
    await using model = startModelServer([bash("true"), { text: "done" }]);
    await using receiver = new OtlpReceiver();
    if (mode === "dead") await receiver[Symbol.asyncDispose]();
    else receiver.mode = mode;
    await using world = await makeWorld(
      mockConfig(model.url, telemetry("http://localhost:1", 'signals = ["traces"]') + ALLOW),
    );
    // Only the bound of the program ends the wait.
    const env = {
      OTLP_TOKEN: TOKEN,
      OTEL_EXPORTER_OTLP_TIMEOUT: "3600000",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    };
    const done = await world.run(["run", "go"], { env });
    assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
    const lines = done.stderr.split("\n").filter((line) => line.includes("telemetry"));
    assertEquals(lines.length, 1, done.stderr);
    assert(
      lines[0]?.includes(`Cannot send telemetry to ${new URL(receiver.url).host}: ${problem}`),
      lines[0],
    );
    assert(lines[0]?.endsWith("; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names the receiver"), lines[0]);
  });
}

onTerminal("a chat that waited for its receiver says so when it has ended", async () => {
  await using model = startModelServer([{ text: "done" }]);
  await using receiver = new OtlpReceiver();
  receiver.mode = "hang";
  await using chat = await openChat(mockConfig(model.url, `[telemetry]\notlp = "${receiver.url}"\n`));
  await chat.terminal.shows(EMPTY);
  await chat.enter("go");
  await chat.terminal.shows("done");
  await chat.terminal.shows(EMPTY);
  await chat.terminal.press("C-d");
  await chat.terminal.shows("left-with-0");
  assertEquals((await chat.terminal.history()).match(/! Cannot send telemetry to/g)?.length, 1);
});

Deno.test("a wrong address of a receiver is an error that hides its password, and OTEL_SDK_DISABLED is off", async () => {
  await using model = startModelServer([{ text: "done" }]);
  const failed = async (otlp: string, env: Record<string, string> = {}) => {
    await using world = await makeWorld(mockConfig(model.url, `[telemetry]\notlp = "${otlp}"\n`));
    const { code, stderr } = await world.run(["run", "go"], { env });
    return [code, stderr.split("\n")[0]];
  };
  const error = (address: string, from: string) => [
    6,
    `error: Cannot export telemetry to "${address}": ${from} is no http address`,
  ];
  assertEquals(await failed("ftp://me:s3cret@h"), error("ftp://[secret]@h", "[telemetry] otlp"));
  for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]) {
    assertEquals(await failed("env", { [name]: "collector" }), error("collector", name));
  }
  assertEquals((await failed("http://127.0.0.1:1", { OTEL_SDK_DISABLED: "true" }))[0], 0);
});

Deno.test("a run that is ended from outside sends what it has done", async () => {
  await using model = startModelServer([bash("touch begun; sleep 600")]);
  await using receiver = new OtlpReceiver();
  await using world = await makeWorld(mockConfig(model.url, telemetry(receiver.url) + ALLOW));
  const child = await world.spawn(["run", "go"], { env: { OTLP_TOKEN: TOKEN } });
  while (!await Deno.stat(`${world.dir}/begun`).catch(() => undefined)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill("SIGTERM");
  assertEquals((await finished(child)).code, 143);
  const turn = receiver.spans.find(({ name }) => name === "invoke_agent reasonix");
  assertEquals(turn?.attributes["reasonix.turn.reason"], "terminated");
  assertEquals(receiver.spans.length, 3);
});

Deno.test("each message of a chat is a trace of its conversation", async () => {
  await using model = startModelServer([{ text: "one" }, { text: "two" }]);
  await using receiver = new OtlpReceiver();
  await using world = await makeWorld(mockConfig(model.url, telemetry(receiver.url)));
  const done = await world.run([], { stdin: "first\nsecond\n", env: { OTLP_TOKEN: TOKEN } });
  assertEquals([done.code, done.stdout], [0, "one\ntwo\n"], done.stderr);
  const roots = receiver.spans.filter(({ parent }) => parent === undefined);
  assertEquals(roots.map(({ attributes }) => attributes["reasonix.turn"]).sort(), [1, 2]);
  assertEquals(new Set(roots.map(({ trace }) => trace)).size, 2);
  assertEquals(new Set(receiver.spans.map(({ attributes }) => attributes["gen_ai.conversation.id"])).size, 1);
});

Deno.test("tasks of a file name themselves, and a receiver that fails is reported once for all", async () => {
  await using model = startModelServer([], { check: { prefix: false }, fallback: { text: "done" } });
  await using receiver = new OtlpReceiver();
  await using world = await makeWorld(mockConfig(model.url, telemetry(receiver.url)));
  const tasks = ["one", "two", "three"];
  await world.write("work.jsonl", tasks.map((id) => JSON.stringify({ id, prompt: id })).join("\n"));
  const run = async () => {
    const args = ["run", "--tasks", "work.jsonl", "--fresh", "--jobs", "1"];
    const done = await world.run(args, { env: { OTLP_TOKEN: TOKEN } });
    assertEquals(done.code, 0, done.stderr);
    return done.stderr.split("\n").filter((line) => line.includes("Cannot send telemetry")).length;
  };
  assertEquals(await run(), 0);
  const turns = receiver.spans.filter(({ parent }) => parent === undefined);
  assertEquals(turns.map(({ resource }) => resource["reasonix.task"]), tasks);
  assertEquals(turns.map(({ resource }) => resource["reasonix.batch"]), tasks.map(() => "work.jsonl"));
  receiver.mode = 500;
  assertEquals(await run(), 1);
});
