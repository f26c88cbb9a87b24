import { createProvider, type Embeddings } from "../../../src/provider/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { InstantClock, providerEntry } from "../../support/model_client.ts";

interface Asked {
  readonly path: string;
  readonly body: { readonly model: string; readonly input: readonly string[] };
  readonly authorization: string | null;
}

type Answer = (asked: Asked, number: number) => Response | Promise<Response>;

/** A vector that identifies its text. */
const vectorOf = (text: string) => [text.length, text.codePointAt(0) ?? 0, 0.5];

const good: Answer = ({ body }) =>
  Response.json({
    object: "list",
    model: body.model,
    data: body.input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }))
      .reverse(),
    usage: { prompt_tokens: body.input.length * 3, total_tokens: body.input.length * 3 },
  });

async function embed(
  answer: Answer,
  texts: readonly string[],
  fields: Record<string, unknown> = {},
  signal?: AbortSignal,
) {
  const asked: Asked[] = [];
  const clock = new InstantClock();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    asked.push({
      path: pathname,
      body: await request.json(),
      authorization: request.headers.get("authorization"),
    });
    return await answer(asked.at(-1) as Asked, asked.length);
  });
  const entry = providerEntry({
    base_url: `http://127.0.0.1:${server.addr.port}/v1`,
    max_attempts: 3,
    ...fields,
  });
  const provider = await createProvider({
    entry,
    model: "chat",
    version: "1",
    apiKey: "sk-embed-0123456789abc",
    deps: { clock },
  });
  let found: Embeddings | undefined;
  let error: unknown;
  try {
    found = await provider.embed?.(texts, "small-embed", signal);
  } catch (thrown) {
    error = thrown;
  }
  return { found, error, asked, waits: clock.waits };
}

Deno.test("embed returns vectors in the order of the texts, whatever the order of the reply", async () => {
  const texts = ["a", "中文", "🙂 emoji", "x".repeat(500)];
  const { found, asked } = await embed(good, texts);
  assertEquals(found, { vectors: texts.map(vectorOf), inputTokens: 12 });
  assertEquals(asked, [{
    path: "/v1/embeddings",
    body: { model: "small-embed", input: texts },
    authorization: "Bearer sk-embed-0123456789abc",
  }]);
});

Deno.test("embed sends long lists in batches and adds up their tokens", async () => {
  const many = Array.from({ length: 150 }, (_, index) => `text ${index}`);
  const { found, asked } = await embed(good, many);
  assertEquals(found, { vectors: many.map(vectorOf), inputTokens: 450 });
  assertEquals(asked.map(({ body }) => body.input.length), [64, 64, 22]);
  const long = ["l".repeat(150_000), "m".repeat(150_000), "n".repeat(300_000), "o"];
  const batches = (await embed(good, long)).asked.map(({ body }) => body.input.length);
  assertEquals(batches, [1, 1, 1, 1]);
});

Deno.test("embed sends no request for an empty list, and refuses an empty text before any request", async () => {
  const none = await embed(good, []);
  assertEquals([none.found, none.asked], [{ vectors: [], inputTokens: 0 }, []]);
  const empty = await embed(good, ["a", " \n"]);
  assert(empty.error instanceof ReasonixError);
  assertEquals(empty.error.message, 'Cannot embed text 1 with provider "test": it is empty');
  assertEquals(empty.asked, []);
});

Deno.test("embed leaves tokens unknown where the server does not count them", async () => {
  const answer: Answer = ({ body }) =>
    Response.json({ data: body.input.map((_, index) => ({ index, embedding: [1] })) });
  assertEquals((await embed(answer, ["a"])).found, { vectors: [[1]], inputTokens: undefined });
});

Deno.test("embed repeats a request after 429 and 503", async () => {
  const answer: Answer = (asked, number) =>
    number < 3
      ? Response.json({ error: { message: "busy" } }, {
        status: number === 1 ? 429 : 503,
        headers: { "retry-after": "2" },
      })
      : good(asked, number);
  const { found, waits, asked } = await embed(answer, ["a"]);
  assertEquals([found?.vectors, waits, asked.length], [[vectorOf("a")], [2000, 2000], 3]);
});

const data = (...items: unknown[]) => Response.json({ data: items });
const STRANGE: readonly (readonly [what: string, answer: Answer, message: RegExp, requests: number])[] = [
  ["too few vectors", () => data({ index: 0, embedding: [1] }), /sent 1 vectors for 2 texts/, 1],
  [
    "an index twice",
    () => data({ index: 0, embedding: [1] }, { index: 0, embedding: [2] }),
    /two vectors with the index 0/,
    1,
  ],
  [
    "an index out of range",
    () => data({ index: 0, embedding: [1] }, { index: 2, embedding: [2] }),
    /with the index 2 for 2 texts/,
    1,
  ],
  ["no index", () => data({ embedding: [1] }, { embedding: [2] }), /with the index undefined/, 1],
  [
    "different dimensions",
    () => data({ index: 0, embedding: [1] }, { index: 1, embedding: [1, 2] }),
    /of 1 and of 2 dimensions/,
    1,
  ],
  [
    "words as numbers",
    () => data({ index: 0, embedding: ["1"] }, { index: 1, embedding: [2] }),
    /no vector of numbers with the index 0/,
    1,
  ],
  [
    "base64",
    () => data({ index: 0, embedding: "AACAPw==" }, { index: 1, embedding: [2] }),
    /no vector of numbers/,
    1,
  ],
  [
    "an empty vector",
    () => data({ index: 0, embedding: [] }, { index: 1, embedding: [2] }),
    /no vector of numbers/,
    1,
  ],
  [
    "a web page",
    () => new Response("<html><h1>Sign in</h1></html>"),
    /did not answer with vectors: <html>/,
    1,
  ],
  ["a chat completion", () => Response.json({ choices: [] }), /did not answer with vectors/, 1],
  [
    "401",
    () => Response.json({ error: { message: "bad key sk-embed-0123456789abc" } }, { status: 401 }),
    /status 401: bad key \[redacted\]/,
    1,
  ],
  [
    "404",
    () => Response.json({ error: { message: "model small-embed not found" } }, { status: 404 }),
    /the model name "small-embed"/,
    1,
  ],
  ["500 each time", () => new Response("broken", { status: 500 }), /gave up after 3 attempts/, 3],
  [
    "a redirect",
    () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:9/elsewhere" } }),
    /status 307; the request was redirected to http:\/\/127.0.0.1:9\/elsewhere, which is not followed/,
    1,
  ],
];

for (const [what, answer, message, requests] of STRANGE) {
  Deno.test(`embed rejects where the server answers with ${what}`, async () => {
    const { found, error, asked } = await embed(answer, ["a", "b"]);
    assert(error instanceof ReasonixError, String(error));
    assertEquals([found, error.exit, asked.length], [undefined, "provider", requests]);
    assert(message.test(error.message), error.message);
    assert(!error.message.includes("sk-embed-"), error.message);
  });
}

Deno.test("embed rejects when vectors of two requests have different dimensions", async () => {
  const answer: Answer = ({ body }, number) =>
    data(...body.input.map((_, index) => ({ index, embedding: number === 1 ? [1, 2] : [1, 2, 3] })));
  const { error } = await embed(answer, Array.from({ length: 65 }, () => "a"));
  assert(error instanceof ReasonixError && /of 2 and of 3 dimensions/.test(error.message), String(error));
});

Deno.test("embed stops with the reason of its signal", async () => {
  const stop = new AbortController();
  const release = Promise.withResolvers<Response>();
  const answer: Answer = () => {
    stop.abort(new Error("enough"));
    return release.promise;
  };
  stop.signal.addEventListener("abort", () => setTimeout(() => release.resolve(new Response("late")), 50));
  const { error } = await embed(answer, ["a"], {}, stop.signal);
  assertEquals((error as Error).message, "enough");
  const before = await embed(good, ["a"], {}, AbortSignal.abort(new Error("too late")));
  assertEquals([(before.error as Error).message, before.asked], ["too late", []]);
});
