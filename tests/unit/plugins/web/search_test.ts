import { PluginError } from "../../../../plugins/common/plugin.ts";
import { type Network, resolveName, sendRequest } from "../../../../plugins/web/fetch.ts";
import { search, SEARCH_SERVICES, searchKey } from "../../../../plugins/web/search.ts";
import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";

const NETWORK: Network = {
  allowed: [],
  proxies: { except: [] },
  maxBytes: 5e6,
  seconds: 20,
  resolve: resolveName,
};
const KEY = "key-1234";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A fake of every service: records requests and sends the next answer. */
function startFake() {
  const asked: Asked[] = [];
  let next: () => Response = () => new Response("");
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    const body = text === "" ? undefined : JSON.parse(text);
    asked.push({ method: request.method, url: pathname + search, headers: request.headers, body });
    return next();
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const hosts: string[] = [];
  return {
    asked,
    hosts,
    origin,
    answers: (make: () => Response) => next = make,
    /** Sends to the fake whatever names the host of a service. */
    ask: (service: string, key: string | undefined = KEY, count = 3) =>
      search(
        { service, server: `${origin}/searx/`, keyVariable: searchKey(service), key },
        'größe & "maß"',
        count,
        ({ url, ...options }) => {
          const { origin: host, pathname, search } = new URL(url);
          hosts.push(host);
          return sendRequest(
            NETWORK,
            new URL(origin + pathname + search),
            options,
            true,
            AbortSignal.timeout(20_000),
          );
        },
      ),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const hits = (text: string, value: (n: number) => unknown = (n) => `text ${n}`) =>
  [1, 2, 3, 4].map((n) => ({ title: `T ${n}`, url: `https://e.test/${n}`, [text]: value(n) }));
const QUERY = new URLSearchParams({ q: 'größe & "maß"' }).toString();

Deno.test("each search service gets its documented request with the key, and its results arrive", async () => {
  await using fake = startFake();
  const rows: Record<
    string,
    { host: string; request: string; headers: Record<string, string>; body?: unknown; answer: unknown }
  > = {
    brave: {
      host: "https://api.search.brave.com",
      request: `GET /res/v1/web/search?${QUERY}&count=3`,
      headers: { "x-subscription-token": KEY, accept: "application/json" },
      answer: { type: "search", web: { results: hits("description", (n) => `<strong>text</strong> ${n}`) } },
    },
    tavily: {
      host: "https://api.tavily.com",
      request: "POST /search",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: { query: 'größe & "maß"', max_results: 3 },
      answer: { results: hits("content").map((hit) => ({ ...hit, score: 0.5 })) },
    },
    exa: {
      host: "https://api.exa.ai",
      request: "POST /search",
      headers: { "x-api-key": KEY, "content-type": "application/json" },
      body: { query: 'größe & "maß"', numResults: 3, contents: { highlights: true } },
      answer: { results: hits("highlights", (n) => ["text", `${n}`]) },
    },
    searxng: {
      host: fake.origin,
      request: `GET /searx/search?${QUERY}&format=json`,
      headers: { accept: "application/json" },
      answer: { results: hits("content") },
    },
  };
  assertEquals(Object.keys(rows), Object.keys(SEARCH_SERVICES));
  for (const [service, { host, request, headers, body, answer }] of Object.entries(rows)) {
    fake.answers(() => Response.json(answer));
    const found = await fake.ask(service);
    const separator = service === "exa" ? " … " : " ";
    const expected = [1, 2, 3].map((n) => ({
      title: `T ${n}`,
      url: `https://e.test/${n}`,
      description: `text${separator}${n}`,
    }));
    assertEquals(found, expected, service);
    const last = fake.asked.at(-1);
    assertEquals(`${last?.method} ${last?.url}`, request);
    assertEquals(fake.hosts.at(-1), host);
    assertEquals(last?.body, body);
    for (const [name, value] of Object.entries(headers)) {
      assertEquals(last?.headers.get(name), value, `${service} ${name}`);
    }
  }
});

Deno.test("a refused key, a used-up plan, a limit of requests and a strange answer are said in words", async () => {
  await using fake = startFake();
  const failure = (service: string, key?: string) =>
    fake.ask(service, key).then(
      () => "no failure",
      (error) => error instanceof PluginError ? error.text : `${error}`,
    );
  const rows: [string, () => Response, string][] = [
    [
      "brave",
      () => Response.json({ error: { detail: "bad token", code: "X" } }, { status: 401 }),
      "Brave Search refuses the key in BRAVE_API_KEY (401: bad token); check the key",
    ],
    [
      "tavily",
      () => Response.json({ detail: { error: "limit" } }, { status: 432 }),
      "Tavily says that the plan of this key is used up (432: limit)",
    ],
    [
      "exa",
      () => Response.json({ error: "no credits" }, { status: 402 }),
      "Exa says that the plan of this key is used up (402: no credits)",
    ],
    [
      "brave",
      () => new Response("", { status: 429, headers: { "retry-after": "7" } }),
      "gets too many requests or its quota is used up (429); try again in 7 s",
    ],
    ["tavily", () => new Response("", { status: 429 }), "(429); try again later"],
    [
      "searxng",
      () => new Response("<h1>no", { status: 403 }),
      "SearXNG refuses the request (403); its settings.yml must list json under search.formats",
    ],
    ["exa", () => new Response("", { status: 503 }), "Exa has a failure (503)"],
    [
      "exa",
      () => Response.json({ message: "bad\nquery" }, { status: 400 }),
      "Exa does not accept the request (400: bad query)",
    ],
    ["tavily", () => new Response("<html>"), "Tavily answers with something else than search results"],
    [
      "brave",
      () => Response.json({ web: 1 }),
      "Brave Search answers with something else than search results",
    ],
    [
      "searxng",
      () => new Response(null, { status: 302, headers: { location: "http://169.254.169.254/" } }),
      "SearXNG does not accept the request (302)",
    ],
  ];
  for (const [service, answer, expected] of rows) {
    fake.answers(answer);
    const text = await failure(service);
    assertStringIncludes(text, expected);
    assertEquals(text.includes("\n") || text.includes(KEY), false, text);
  }
  const before = fake.asked.length;
  assertStringIncludes(await failure("brave", ""), "the environment variable BRAVE_API_KEY is not set");
  assertStringIncludes(await failure("exa", "a\r\nb"), "has characters that no key has");
  assertEquals(fake.asked.length, before);
  fake.answers(() => Response.json({ type: "search", query: {} }));
  assertEquals(await fake.ask("brave"), []);
});
