import https from "node:https";
import { createProvider } from "../../../../src/provider/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { collect, InstantClock, openClient, providerEntry } from "../../../support/model_client.ts";
import { CLIENT_CERTIFICATE, SELF_SIGNED } from "../../../support/self_signed.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const ANSWER =
  'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** A TLS server; with `ca` it requires a client certificate of this authority. */
async function startServer(ca?: string) {
  const wants = ca === undefined ? {} : { ca: [ca], requestCert: true, rejectUnauthorized: true };
  const server = https.createServer({ ...SELF_SIGNED, ...wants }, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(ANSWER);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as { port: number };
  return {
    url: `https://localhost:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function withFiles(test: (path: (name: string) => string) => Promise<void>): Promise<void> {
  await using temp = await makeTempDir();
  const path = (name: string) => `${temp.path}/${name}`;
  const files = {
    "ca.pem": SELF_SIGNED.cert,
    "ca_again.pem": `again\n${SELF_SIGNED.cert}`,
    "other_ca.pem": CLIENT_CERTIFICATE.cert,
    "me.pem": CLIENT_CERTIFICATE.cert,
    "me.key": CLIENT_CERTIFICATE.key,
    "stranger.key": SELF_SIGNED.key,
    "stranger.pem": SELF_SIGNED.cert,
    "prose.txt": "hello",
    "broken.pem": "-----BEGIN CERTIFICATE-----\nzzzz\n-----END CERTIFICATE-----\n",
    "broken.key": "-----BEGIN PRIVATE KEY-----\nzzzz\n-----END PRIVATE KEY-----\n",
    "locked.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIH0\n-----END ENCRYPTED PRIVATE KEY-----\n",
  };
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(path(name), text);
  await test(path);
}

/** Clients stay open until the program ends. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeResources: false, sanitizeOps: false });
}

async function asked(url: string, entry: Record<string, unknown>) {
  const provider = await openClient({ url }, {
    clock: new InstantClock(),
    entry: { max_attempts: 2, ...entry },
  });
  const { text, error, retries } = await collect(provider);
  return { text, message: error?.message ?? "", retries: retries.length };
}

test("a provider trusts only the authority of its ca_file", () =>
  withFiles(async (path) => {
    await using server = await startServer();
    assertEquals((await asked(server.url, { ca_file: path("ca.pem") })).text, "Hi");
    for (const entry of [{}, { ca_file: path("other_ca.pem") }]) {
      const { text, message, retries } = await asked(server.url, entry);
      assertEquals([text, retries], ["", 0]);
      assertStringIncludes(message, "invalid peer certificate");
      assertStringIncludes(message, "ca_file of this provider");
    }
  }));

test("a provider sends its client certificate to a server that requires one", () =>
  withFiles(async (path) => {
    await using server = await startServer(CLIENT_CERTIFICATE.cert);
    // Not the file of another test: that client would continue with the session that it had there.
    const ca_file = path("ca_again.pem");
    const right = { ca_file, client_cert_file: path("me.pem"), client_key_file: path("me.key") };
    assertEquals((await asked(server.url, right)).text, "Hi");
    const without = await asked(server.url, { ca_file });
    assertEquals([without.text, without.retries], ["", 0]);
    assertStringIncludes(without.message, "set client_cert_file and client_key_file");
    const wrong = { ca_file, client_cert_file: path("stranger.pem"), client_key_file: path("stranger.key") };
    assertEquals((await asked(server.url, wrong)).text, "");
  }));

const BAD:
  readonly (readonly [what: string, entry: Record<string, string>, message: RegExp, setting: string])[] = [
    [
      "a ca_file that is not there",
      { ca_file: "none.pem" },
      /^Cannot use ca_file ".*none.pem" of provider "test": there is no such file/,
      "ca_file",
    ],
    ["a directory as ca_file", { ca_file: "." }, /^Cannot use ca_file/, "ca_file"],
    ["a ca_file without a certificate", { ca_file: "prose.txt" }, /it contains no certificate/, "ca_file"],
    ["a broken ca_file", { ca_file: "broken.pem" }, /BadEncoding/, "ca_file"],
    ["a key as ca_file", { ca_file: "me.key" }, /it contains no certificate/, "ca_file"],
    [
      "a certificate without its key",
      { client_cert_file: "me.pem" },
      /client_key_file is missing/,
      "client_cert_file",
    ],
    [
      "a key without its certificate",
      { client_key_file: "me.key" },
      /client_cert_file is missing/,
      "client_key_file",
    ],
    [
      "a key and a certificate mixed up",
      { client_cert_file: "me.key", client_key_file: "me.pem" },
      /no certificate/,
      "client_cert_file",
    ],
    [
      "a certificate twice",
      { client_cert_file: "me.pem", client_key_file: "me.pem" },
      /it contains no key/,
      "client_key_file",
    ],
    [
      "a key of another certificate",
      { client_cert_file: "me.pem", client_key_file: "stranger.key" },
      /is not the key of/,
      "client_key_file",
    ],
    [
      "a broken key",
      { client_cert_file: "me.pem", client_key_file: "broken.key" },
      /^Cannot use client_key_file/,
      "client_key_file",
    ],
    [
      "a broken certificate",
      { client_cert_file: "broken.pem", client_key_file: "me.key" },
      /^Cannot use client_cert_file/,
      "client_cert_file",
    ],
    [
      "a locked key",
      { client_cert_file: "me.pem", client_key_file: "locked.key" },
      /protected by a passphrase/,
      "client_key_file",
    ],
  ];

for (const [what, files, pattern, setting] of BAD) {
  test(`createProvider says which file is wrong with ${what}`, () =>
    withFiles(async (path) => {
      const entry = providerEntry({
        base_url: "https://localhost:1/v1",
        ...Object.fromEntries(Object.entries(files).map(([key, name]) => [key, path(name)])),
      });
      const error = await assertRejects(
        () => createProvider({ entry, model: "m", version: "1" }),
        ReasonixError,
      );
      assert(pattern.test(error.message), error.message);
      assertEquals([error.exit, error.setting], ["config", setting]);
      assert(error.remedy);
    }));
}
