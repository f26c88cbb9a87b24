import { withCommandKey } from "../../../../src/provider/network/command_key.ts";
import { createRedactor } from "../../../../src/util/redact.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { collect, InstantClock, openClient, providerEntry } from "../../../support/model_client.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../../../support/model_server.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

/** A command that prints the next line of a file at each run, then repeats the last, and counts its runs. */
async function keyPrinter(...keys: readonly string[]) {
  const temp = await makeTempDir();
  await Deno.writeTextFile(`${temp.path}/keys`, `${keys.join("\n")}\n`);
  await Deno.writeTextFile(`${temp.path}/runs`, "");
  await Deno.writeTextFile(
    `${temp.path}/print.sh`,
    `cd "$(dirname "$0")"; echo x >> runs; n=$(wc -l < runs); k=$(sed -n "\${n}p" keys); ` +
      `[ -n "$k" ] || k=$(tail -n 1 keys); echo "$k"; echo "some noise" >&2\n`,
  );
  return {
    line: `sh ${temp.path}/print.sh`,
    words: ["sh", `${temp.path}/print.sh`],
    runs: async () =>
      (await Deno.readTextFile(`${temp.path}/runs`)).trim().split("\n").filter(Boolean).length,
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

function accepting(...good: readonly string[]) {
  return (request: RecordedRequest): Turn =>
    good.some((key) => request.headers.get("authorization") === `Bearer ${key}`)
      ? { text: "Hi" }
      : { status: 401, body: { error: { message: "token is expired" } } };
}

const check = { prefix: false };

Deno.test("api_key_command runs once per process, as a line and as words", async () => {
  for (const form of ["line", "words"] as const) {
    await using printer = await keyPrinter("token-one-1234");
    await using server = startModelServer([], { fallback: accepting("token-one-1234"), check });
    const entry = { api_key_command: printer[form], api_key_env: "NOT_USED" };
    const provider = await openClient(server, { entry, apiKey: "not-this-one" });
    assertEquals((await collect(provider)).text, "Hi");
    assertEquals((await collect(await openClient(server, { entry }))).text, "Hi");
    assertEquals(await printer.runs(), 1);
    assertEquals(createRedactor([])("the key token-one-1234"), "the key [redacted]");
  }
});

Deno.test("a server that rejects a key does not change that of another server", async () => {
  await using printer = await keyPrinter("token-one-1234", "token-two-1234");
  await using one = startModelServer([], { fallback: accepting("token-one-1234"), check });
  await using two = startModelServer([], { fallback: accepting("token-two-1234"), check });
  const entry = { api_key_command: printer.line };
  const provider = await openClient(one, { entry });
  await collect(provider);
  assertEquals((await collect(await openClient(two, { entry }))).text, "Hi");
  assertEquals((await collect(provider)).text, "Hi");
  assertEquals(await printer.runs(), 2);
});

Deno.test("a rejected key is fetched again and the request is retried", async () => {
  await using printer = await keyPrinter("token-old-1234", "token-new-1234");
  let good = "token-old-1234";
  await using server = startModelServer([], { fallback: (request) => accepting(good)(request), check });
  const clock = new InstantClock();
  const provider = await openClient(server, { clock, entry: { api_key_command: printer.line } });
  assertEquals((await collect(provider)).text, "Hi");
  good = "token-new-1234";
  const { text, retries, error } = await collect(provider);
  assertEquals([text, error, retries.length], ["Hi", undefined, 1]);
  assertEquals([retries[0]?.discarded, retries[0]?.waitMs, clock.waits], [false, 0, [0]]);
  assertStringIncludes(
    retries[0]?.reason ?? "",
    "refused the key with status 401; api_key_command printed another one",
  );
  assertEquals(await printer.runs(), 2);
});

Deno.test("a command that prints the rejected key again is not run a third time", async () => {
  await using printer = await keyPrinter("token-bad-1234");
  await using server = startModelServer([], { fallback: accepting("token-good-1"), check });
  const provider = await openClient(server, {
    clock: new InstantClock(),
    entry: { api_key_command: printer.line },
  });
  const { error, retries } = await collect(provider);
  assertEquals([error?.kind, error?.status, retries.length, await printer.runs()], ["auth", 401, 0, 2]);
  assertStringIncludes(error?.message ?? "", "api_key_command");
  assert(!error?.message.includes("token-bad-1234"), error?.message);
});

Deno.test("a second rejected key ends the request", async () => {
  await using printer = await keyPrinter(
    "token-a-123456",
    "token-b-123456",
    "token-c-123456",
    "token-d-123456",
  );
  await using server = startModelServer([], { fallback: accepting("token-d-123456"), check });
  const provider = await openClient(server, {
    clock: new InstantClock(),
    entry: { api_key_command: printer.line },
  });
  const first = await collect(provider);
  assertEquals([first.error?.kind, first.retries.length, server.requests.length], ["auth", 1, 2]);
  // The next request of the user tries again.
  assertEquals((await collect(provider)).text, "Hi");
  assertEquals(await printer.runs(), 4);
});

Deno.test("an expired key is fetched again", async () => {
  await using printer = await keyPrinter("token-one-5678", "token-two-5678");
  await using server = startModelServer([], {
    fallback: accepting("token-one-5678", "token-two-5678"),
    check,
  });
  const clock = new InstantClock();
  const entry = { api_key_command: printer.line, api_key_ttl_seconds: 60 };
  const provider = await openClient(server, { clock, entry });
  await collect(provider);
  clock.time += 59_000;
  await collect(provider);
  assertEquals(await printer.runs(), 1);
  clock.time += 2_000;
  const { retries } = await collect(provider);
  assertEquals([await printer.runs(), retries.length], [2, 0]);
  assertEquals(server.requests.at(-1)?.headers.get("authorization"), "Bearer token-two-5678");
});

Deno.test("concurrent requests share one run of the command", async () => {
  await using printer = await keyPrinter("token-same-123");
  await using server = startModelServer([], { fallback: accepting("token-same-123"), check });
  const entry = { api_key_command: printer.line };
  const providers = await Promise.all([1, 2, 3].map(() => openClient(server, { entry })));
  assertEquals((await Promise.all(providers.map((one) => collect(one)))).map(({ text }) => text), [
    "Hi",
    "Hi",
    "Hi",
  ]);
  assertEquals(await printer.runs(), 1);
});

const FAILURES: readonly (readonly [what: string, command: string | string[], message: string])[] = [
  ["fails", "echo sk-half-a-key; echo sk-other >&2; exit 3", "ended with exit code 3; run it in a terminal"],
  ["prints nothing", "true", "printed nothing; it has to print the key and nothing else"],
  ["prints prose", "echo this is no key", "its output is not a key"],
  ["prints two lines", "printf 'a-key-1\\nb-key-2\\n'", "its output is not a key"],
  ["prints without end", "head -c 300000 /dev/zero | tr '\\0' k", "its output is not a key"],
  ["is not there", ["/nowhere/get-key"], "there is no such program"],
];

for (const [what, command, expected] of FAILURES) {
  Deno.test(`a request fails before it is sent when the key command ${what}`, async () => {
    await using server = startModelServer([], { fallback: { text: "Hi" }, check });
    const provider = await openClient(server, {
      clock: new InstantClock(),
      entry: { api_key_command: command },
    });
    const { error, retries } = await collect(provider);
    assertEquals([error?.kind, retries.length, server.requests.length], ["auth", 0, 0]);
    assertStringIncludes(error?.message ?? "", 'No API key for provider "test": api_key_command (');
    assertStringIncludes(error?.message ?? "", expected);
    const rest = (error?.message ?? "").replace(/\(.*?\) (?=failed: )/, "");
    assert(!/sk-|a-key-1|no key here/.test(rest), rest);
  });
}

Deno.test("an abort ends the command with all its processes", async () => {
  await using temp = await makeTempDir();
  await using server = startModelServer([], { fallback: { text: "Hi" }, check });
  const line = `sh -c 'echo $$ > ${temp.path}/pid; exec sleep 600'; echo never`;
  const provider = await openClient(server, { entry: { api_key_command: line } });
  const stop = new AbortController();
  const outcome = collect(provider, undefined, stop.signal);
  let pid = "";
  while (pid === "") {
    pid = await Deno.readTextFile(`${temp.path}/pid`).catch(() => "");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stop.abort();
  assertEquals((await outcome).error?.kind, "aborted");
  for (;;) {
    try {
      Deno.kill(Number(pid), "SIGCONT");
    } catch {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

Deno.test("a request that was aborted before it began starts no command", async () => {
  await using printer = await keyPrinter("token-late-123");
  const { fetch: send } = withCommandKey(
    providerEntry({ base_url: "http://127.0.0.1:9", api_key_command: printer.line }),
    { fetch: () => Promise.resolve(new Response("ok")) },
  );
  await assertRejects(() => send("http://127.0.0.1:9/", { signal: AbortSignal.abort() }), DOMException);
  assertEquals((await send("http://127.0.0.1:9/")).status, 200);
  assertEquals(await printer.runs(), 1);
});

Deno.test("a request right after an abort runs the command again", async () => {
  await using temp = await makeTempDir();
  const mark = `${temp.path}/ran`;
  const line = `if [ -e ${mark} ]; then echo token-again-123; else touch ${mark}; sleep 600; fi`;
  const { fetch: send } = withCommandKey(
    providerEntry({ base_url: "http://127.0.0.1:9", api_key_command: line }),
    { fetch: () => Promise.resolve(new Response("ok")) },
  );
  const stop = new AbortController();
  const first = send("http://127.0.0.1:9/", { signal: stop.signal });
  while (!await Deno.stat(mark).catch(() => undefined)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stop.abort();
  await assertRejects(() => first, DOMException);
  assertEquals((await send("http://127.0.0.1:9/")).status, 200);
});

Deno.test("a command runs in the user's home, outside of any project", async () => {
  await using temp = await makeTempDir();
  await using server = startModelServer([], { fallback: { text: "Hi" }, check });
  await collect(
    await openClient(server, { entry: { api_key_command: `pwd > ${temp.path}/where; echo token-here-12` } }),
  );
  assertEquals(
    (await Deno.readTextFile(`${temp.path}/where`)).trim(),
    await Deno.realPath(Deno.env.get("HOME") ?? "/"),
  );
});
