/** Wrappers of a provider keep all of its optional capabilities. */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Chunk } from "../../../src/core/mod.ts";
import type { ModelRequest, Provider } from "../../../src/provider/mod.ts";
import { recordProvider } from "../../../src/provider/cassette/record.ts";
import { withTextTools } from "../../../src/provider/tool_modes/text_tools.ts";
import { Fallback } from "../../../src/run/fallback.ts";
import { HELLO } from "../../support/model_client.ts";

/** Settings are not used. */
const LOADED = { config: { agent: { max_cost: 0 } } } as never;
const PREFIX = {
  system: "Be brief",
  tools: [{ name: "look", description: "Looks", parameters: { type: "object", properties: {} } }],
};

/** A provider class whose members use private state; the type requires every optional member. */
class Whole implements Required<Provider> {
  readonly name = "whole";
  readonly model = { provider: "whole", id: "m", vision: false };
  readonly remoteMode = "asks";
  readonly #asked: string[] = [];
  #last: ModelRequest | undefined;

  get asked(): readonly string[] {
    return this.#asked;
  }

  get last(): ModelRequest | undefined {
    return this.#last;
  }

  async *stream(request: ModelRequest): AsyncGenerator<Chunk, void> {
    yield await this.#note("stream", request, { type: "done", reason: "stop" });
  }

  async *warmUp(request: ModelRequest): AsyncGenerator<Chunk, void> {
    yield await this.#note("warmUp", request, { type: "done", reason: "stop" });
  }

  sentPrefix(prefix: typeof PREFIX): typeof PREFIX {
    this.#asked.push("sentPrefix");
    return prefix;
  }

  askWindow(): Promise<number> {
    this.#asked.push("askWindow");
    return Promise.resolve(8192);
  }

  count(request: ModelRequest): Promise<number> {
    return this.#note("count", request, 7);
  }

  #note<T>(name: string, request: ModelRequest, value: T): Promise<T> {
    this.#asked.push(name);
    this.#last = request;
    return Promise.resolve(value);
  }
}

/** Reads every optional member of a provider and returns those it has. */
async function useAll(provider: Provider): Promise<readonly string[]> {
  const { signal } = new AbortController();
  const request = { prefix: PREFIX, messages: HELLO };
  const uses: { readonly [K in keyof Required<Provider>]: () => unknown } = {
    name: () => provider.name,
    model: () => provider.model,
    remoteMode: () => provider.remoteMode,
    stream: () => Array.fromAsync(provider.stream(request, signal)),
    warmUp: () => provider.warmUp && Array.fromAsync(provider.warmUp(request, signal)),
    sentPrefix: () => provider.sentPrefix?.(PREFIX),
    askWindow: () => provider.askWindow?.(),
    count: () => provider.count?.(request, signal),
  };
  const has = [];
  for (const [name, use] of Object.entries(uses)) if (await use() !== undefined) has.push(name);
  return has.toSorted();
}

const ALL = [
  "askWindow",
  "count",
  "model",
  "name",
  "remoteMode",
  "sentPrefix",
  "stream",
  "warmUp",
];

Deno.test("a wrapped provider keeps all capabilities", async () => {
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  const wrappers: readonly ((inner: Provider) => Provider | Promise<Provider>)[] = [
    (inner) => recordProvider(inner, { file }),
    (inner) => withTextTools(inner, "pseudo"),
    (inner) => withTextTools(inner, "none"),
    (inner) => withTextTools(inner, "official with text"),
    (inner) => recordProvider(withTextTools(inner, "pseudo"), { file }),
    (first) => new Fallback({ loaded: LOADED, first, chain: [], create: () => Promise.reject() }).provider,
  ];
  try {
    for (const wrap of wrappers) {
      const inner = new Whole();
      assertEquals(await useAll(await wrap(inner)), ALL);
      for (const name of ["askWindow", "count", "warmUp", "stream"]) {
        assert(inner.asked.includes(name), name);
      }
    }
    const poor: Provider = { name: "p", model: new Whole().model, stream: (r) => new Whole().stream(r) };
    assertEquals(await useAll(await recordProvider(poor, { file })), ["model", "name", "stream"]);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a cassette does not contain the warm-up", async () => {
  const file = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    const provider = await recordProvider(new Whole(), { file });
    await Array.fromAsync(
      provider.warmUp?.({ prefix: PREFIX, messages: HELLO }, new AbortController().signal) ?? [],
    );
    assertEquals((await Deno.readTextFile(file)).trim().split("\n").length, 1);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("a provider with text tools counts tokens of the converted request", async () => {
  const inner = new Whole();
  const provider = withTextTools(inner, "pseudo");
  await provider.count?.({ prefix: PREFIX, messages: HELLO }, new AbortController().signal);
  assertEquals(inner.last?.prefix.tools, []);
  assert(inner.last?.prefix.system.includes("look"));
});
