import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  collect,
  HELLO,
  InstantClock,
  openClient,
  providerEntry,
  takeStep,
} from "../../../support/model_client.ts";
import { startModelServer, type Turn } from "../../../support/model_server.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { listModels } from "../../../../src/provider/create_provider.ts";
import { googleWire } from "../../../support/wires/google.ts";

/** The outcome of an error response followed by a valid answer. */
async function after(turn: Turn) {
  const clock = new InstantClock();
  await using server = startModelServer([turn, { text: "ok" }], { wire: googleWire() });
  const entry = { api_key_env: "GEMINI_API_KEY" };
  const outcome = await collect(
    await openClient(server, { clock, entry, apiKey: "AIzaSecretSecret" }),
    HELLO,
  );
  return { ...outcome, waits: clock.waits };
}

function refusal(code: number, message: string, details: readonly Record<string, unknown>[] = []): Turn {
  const error = { code, message, status: "RESOURCE_EXHAUSTED", details };
  return { status: code, body: { error } };
}

const QUOTA = "You exceeded your current quota, please check your plan and billing details. ";
const quota = (quotaId: string) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaMetric: "requests", quotaId, quotaValue: "20" }],
});
const retry = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });

Deno.test("google error for a quota per minute is retried after the delay the server asks for", async () => {
  const cases: readonly [Turn, number][] = [
    [refusal(429, QUOTA, [quota("RequestsPerMinutePerProject"), retry("36.4s")]), 36_400],
    [refusal(429, `${QUOTA}Please retry in 2.5s.`), 2500],
    [refusal(429, `${QUOTA}Please retry in 200ms.`), 200],
    [refusal(429, "Resource has been exhausted (e.g. check quota)."), 1000],
  ];
  for (const [turn, wait] of cases) {
    const { text, waits, retries } = await after(turn);
    assertEquals([text, waits], ["ok", [wait]]);
    assertStringIncludes(retries[0]?.reason ?? "", "too many requests");
  }
});

Deno.test("google error for a daily or zero quota is not retried and explains what to do", async () => {
  const day = refusal(429, QUOTA, [quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retry("36s")]);
  const { error, waits } = await after(day);
  assertEquals([error?.kind, error?.status, waits], ["rate_limit", 429, []]);
  assertStringIncludes(error?.message ?? "", "wait for the next day");
  const none = await after(
    refusal(429, `${QUOTA}\n* Quota exceeded for metric: x, limit: 0\nPlease retry in 5s`),
  );
  assertStringIncludes(none.error?.message ?? "", "no quota for the model");
  const limited = await after(refusal(429, `${QUOTA}\n* limit: 0.5, model: x\nPlease retry in 5s`));
  assertEquals(limited.waits, [5000]);
});

Deno.test("google bad request for an invalid key is reported as an authentication error", async () => {
  const detail = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  const { error, waits } = await after(
    refusal(400, "API key not valid. Please pass a valid API key.", [detail]),
  );
  assertEquals([error?.kind, error?.status, waits], ["auth", 400, []]);
  assertStringIncludes(error?.message ?? "", "check the value of GEMINI_API_KEY");
  const depleted = await after(refusal(429, "Your prepayment credits are depleted; manage your billing."));
  assertEquals([depleted.error?.kind, depleted.waits], ["auth", []]);
});

Deno.test("google error in a JSON array is read", async () => {
  const body = JSON.stringify([{
    error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" },
  }]);
  const { text, retries } = await after({ status: 503, body });
  assertEquals(text, "ok");
  assertStringIncludes(retries[0]?.reason ?? "", "The model is overloaded.");
  const listed = await after({ body });
  assertEquals([listed.text, listed.retries.length], ["ok", 1]);
});

Deno.test("google error for a long conversation is a context length error", async () => {
  const message = "The input token count (1048999) exceeds the maximum number of tokens allowed (1048576).";
  const { error } = await after({
    status: 400,
    body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } },
  });
  assertEquals(error?.kind, "context_length");
});

Deno.test("google models are listed from all pages, without models that cannot chat", async () => {
  const pages: Record<string, unknown> = {
    "": {
      models: [
        { name: "models/gemini-3-pro", supportedGenerationMethods: ["generateContent", "countTokens"] },
        { name: "models/embedding-1", supportedGenerationMethods: ["embedContent"] },
        { displayName: "One without a name" },
      ],
      nextPageToken: "p2",
    },
    p2: { models: [{ name: "models/gemini-2.5-flash", supportedGenerationMethods: ["generateContent"] }] },
  };
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = (input) => {
    const url = new URL(String(input));
    asked.push(url.search);
    return Promise.resolve(Response.json(pages[url.searchParams.get("pageToken") ?? ""]));
  };
  const entry = providerEntry({ kind: "google", base_url: "https://example.test/v1beta" });
  assertEquals(await listModels({ entry, version: "1", deps: { fetch } }), [
    "gemini-3-pro",
    "gemini-2.5-flash",
  ]);
  assertEquals(asked, ["?pageSize=1000", "?pageSize=1000&pageToken=p2"]);
  const vertex = providerEntry({
    kind: "google",
    base_url: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google",
  });
  assertEquals(await listModels({ entry: vertex, version: "1", deps: { fetch } }), []);
  assert(asked.length === 2);
});

Deno.test("google request drops a rejected thinkingConfig, and reports it when effort was set", async () => {
  for (const effort of [undefined, "high"]) {
    const refused = {
      status: 400,
      body: { error: { code: 400, message: "Thinking is not enabled for models/m" } },
    };
    await using server = startModelServer([refused, { text: "ok" }, { text: "ok" }], {
      wire: googleWire(),
      check: { prefix: false },
    });
    const provider = await openClient(server, {
      clock: new InstantClock(),
      ...(effort === undefined ? {} : { effort }),
    });
    const first = await collect(provider);
    assertEquals([first.text, first.retries.length], ["ok", effort === undefined ? 0 : 1]);
    await collect(provider);
    const configs = server.requests.map(({ json }) => json.generationConfig?.thinkingConfig !== undefined);
    assertEquals(configs, [true, false, false]);
  }
});

Deno.test("google request drops signatures that the server rejects, and keeps new ones", async () => {
  const wire = googleWire();
  const call = { calls: [{ name: "ls", args: {} }] };
  const corrupted = { status: 400, body: { error: { code: 400, message: "Corrupted thought signature." } } };
  await using server = startModelServer([call, corrupted, call, { text: "ok" }], {
    wire,
    check: { prefix: false },
  });
  const provider = await openClient(server, { clock: new InstantClock() });
  const messages: Message[] = [...HELLO];
  for (let step = 0; step < 3; step++) await takeStep(provider, messages);
  const [first, second] = wire.signatures.given;
  const last = server.requests.at(-1)?.body ?? "";
  assert(first && second && !last.includes(first) && last.includes(second));
  assertEquals([...wire.signatures.dummies], ["ls"]);
});

Deno.test("google request supports models without functions or system prompt, as configured", async () => {
  const message = "Function calling is not enabled for models/gemma-3-27b-it";
  const { error } = await after({ status: 400, body: { error: { code: 400, message } } });
  assertStringIncludes(error?.message ?? "", "tool_mode");
  await using server = startModelServer([{ text: "ok" }], { wire: googleWire() });
  await collect(await openClient(server, { entry: { compat: { system_role: "user" } } }));
  const { systemInstruction, contents } = server.requests[0]?.json;
  assertEquals([systemInstruction, contents[0].parts], [undefined, [{ text: "Be brief" }, {
    text: "Hello",
  }]]);
});
