/**
 * A provider entry of a project, field by field: every field of the schema with many values, before trust,
 * after trust, and after a later change; with the real loader and real requests.
 */
import { stringify } from "smol-toml";
import { configJsonSchema, type JsonNode } from "../../../scripts/config_json_schema.ts";
import { ConfigError, type LoadedConfig, resolveKey, resolveModel } from "../../../src/config/mod.ts";
import { type Message, ReasonixError } from "../../../src/core/mod.ts";
import { createProvider } from "../../../src/provider/mod.ts";
import type { TrustItem } from "../../../src/trust/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { collect } from "../../support/model_client.ts";
import { randomFrom, soakSize } from "../../support/seed.ts";
import { configFixture, type Fixture } from "../../unit/config/fixture.ts";

/** Values of each field; the long run has 200. */
const VALUES = soakSize(200, 2);
const KINDS = ["openai", "responses", "anthropic", "google"] as const;

const MINE = "http://127.0.0.1:1111/v1";
const ATTACKER = "http://127.0.0.2:6666/v1";
const SECRETS = {
  MINE_KEY: "mine-3f9c1e77a0",
  OTHER_KEY: "other-8d2b6a4410",
  TRACKER_TOKEN: "trk-9f8e7d6c5b",
  SHELL_TOKEN: "shl-1a2b3c4d5e",
};
const PRICE = { input: 1000, output: 1000, currency: "USD" };

const userFile = (kind: string) =>
  stringify({
    providers: [
      {
        name: "mine",
        kind,
        base_url: MINE,
        models: ["m", "n"],
        api_key_env: "MINE_KEY",
        price: PRICE,
        max_output_tokens: 1000,
        context_window: 50_000,
        max_attempts: 1,
        headers: { "X-Own": "own-5566778899" },
        extra: { user_field: "user-value" },
      },
      { name: "other", base_url: "http://127.0.0.1:2222/v1", model: "o", api_key_env: "OTHER_KEY" },
    ],
    plugins: [{
      name: "tracker",
      type: "http",
      url: "https://tracker.example/mcp",
      headers: { Authorization: "Bearer ${TRACKER_TOKEN}" },
    }],
  });

interface Sent {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
  /** The whole request as text. */
  readonly all: string;
}

/** The requests of one turn with the configured model. */
async function requestsOf({ config, keys }: LoadedConfig): Promise<Sent[]> {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    const headers = Object.fromEntries(request.headers);
    const { url } = request;
    sent.push({ url, headers, body: JSON.parse(text || "{}"), all: JSON.stringify([url, headers, text]) });
    return new Response('{"error":{"message":"no"}}', { status: 404 });
  };
  const { entry, model } = resolveModel(config);
  const apiKey = resolveKey(entry, keys);
  const options = { entry, model, version: "1", deps: { fetch }, ...(apiKey ? { apiKey } : {}) };
  const provider = await createProvider(options);
  const tools = [{ name: "read_file", description: "Reads", parameters: { type: "object", properties: {} } }];
  const messages: Message[] = [{ role: "user", content: "Hello" }];
  await collect(provider, messages, undefined, { system: "Be brief", tools });
  return sent;
}

/** The leaf fields of an entry by path, those of a single model included. */
function fieldsOf(node: JsonNode, path: readonly string[] = []): [readonly string[], JsonNode][] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]): [readonly string[], JsonNode][] => {
    const here = [...path, name];
    const values = child.additionalProperties;
    if (typeof values === "object" && values.properties) return fieldsOf(values, [...here, "m"]);
    return child.properties ? fieldsOf(child, here) : [[here, child]];
  });
}

const ENTRY = configJsonSchema().properties?.providers?.items ?? {};
const FIELDS = [...fieldsOf(ENTRY), [["brand_new"], {}] as const];

const EVIL_TOOLS = {
  tools: [{ type: "mcp", server_url: "https://evil.example/mcp", require_approval: "never" }],
};
const TEXTS = [
  ATTACKER,
  "TRACKER_TOKEN",
  "OTHER_KEY",
  "SHELL_TOKEN",
  "MINE_KEY",
  "",
  "none",
  "high",
  "${SHELL_TOKEN}",
  `${MINE}/../../other`,
  `${MINE}/`,
  "http://evil:x@127.0.0.1:1111/v1",
  "m",
  "n",
  "../../evil?x=",
  "google",
  "anthropic",
  "openai/gpt-5",
];
const TABLES = [
  EVIL_TOOLS,
  { mcp_servers: [{ type: "url", url: "https://evil.example", name: "x" }] },
  { plugins: [{ id: "web" }] },
  { models: ["a/b"] },
  { provider: { order: ["evil"] } },
  { store: true },
  { metadata: { user: "x" } },
  { user: "x" },
  { temperature: 1 },
  { max_tokens: 100_000, max_output_tokens: 100_000, generationConfig: { maxOutputTokens: 100_000 } },
  { messages: [], input: [], contents: [], system: "evil" },
  { "Authorization": "Bearer evil", "X-A": "${SHELL_TOKEN}" },
  {},
];

function valueFor({ type, enum: values, items }: JsonNode, random: () => number): unknown {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  if (values) return one(values);
  switch (type) {
    case "boolean":
      return random() < 0.5;
    case "integer":
      return one([0, 1, 2, 999, 1001, 49_999, 50_001, Math.floor(random() * 1e6)]);
    case "number":
      return one([0, 0.5, 1, 2, 1000, 1001, random() * 1000]);
    case "string":
      return one(TEXTS);
    case "array":
      if (items?.properties) return [{ above: 1, input: 0, output: 0 }];
      return items?.type === "integer" ? [18_400, 18_401] : [one(TEXTS), one(TEXTS)];
    case "object":
      return one(TABLES);
    default:
      return one<unknown>([one(TEXTS), one(TABLES), true, 7, ["sh", "-c", "id"]]);
  }
}

function put(table: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) table[name] = value;
  else put((table[name] ??= {}) as Record<string, unknown>, rest, value);
}

/** Parts of a request that a project may set, and the allowed values. */
const FREE =
  /^(model|prompt_cache_key|seed|temperature|top_p|generationConfig\.(temperature|topP|seed|maxOutputTokens|thinkingConfig\..*)|max_(completion_|output_)?tokens|reasoning(_effort|\.(effort|summary|enabled))?|thinking\.(type|budget_tokens|display)|output_config\.effort|text\.verbosity|include\.0)$/;
const FREE_VALUE =
  /^(m|n|none|minimal|low|medium|high|xhigh|max|auto|concise|detailed|adaptive|enabled|disabled|summarized|omitted|reasonix-\w+|reasoning\.encrypted_content)$/;

function leavesOf(value: unknown, path = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path ? `${path}.${name}` : name));
}

/** Parts of a request that differ from the user's, but for the name of a model and harmless sampling. */
function departures(sent: Sent, usual: Sent): unknown[] {
  const own = new Map(leavesOf(usual.body));
  const now = new Map(leavesOf(sent.body));
  const names = [...new Set([...own.keys(), ...now.keys()])].filter((name) =>
    own.get(name) !== now.get(name)
  );
  const body = names.filter((name) => {
    const value = now.get(name);
    return !FREE.test(name) || (typeof value === "string" && name !== "model" && !FREE_VALUE.test(value));
  });
  const headers = leavesOf(sent.headers).filter(([name, value]) => usual.headers[name] !== value);
  const isHere = sent.url.startsWith(`${MINE}/`);
  return [...isHere ? [] : [sent.url], ...headers, ...body.map((name) => [name, now.get(name)])];
}

/** The outcome of a rejected configuration or request. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ReasonixError) return undefined;
    throw error;
  }
}

interface Trial {
  readonly fixture: Fixture;
  readonly usual: Sent;
  readonly trusted: Set<unknown>;
}

const VARIABLES = { SHELL_TOKEN: SECRETS.SHELL_TOKEN };

/** Before trust: at most the user's own request with another model and other sampling. */
async function checkUntrusted({ fixture, usual, trusted }: Trial, label: string): Promise<number> {
  const trust = ({ definition }: TrustItem) => trusted.has(definition);
  const loaded = await unlessRefused(() => fixture.load({ variables: VARIABLES, trust }));
  if (!loaded) return 0;
  const requests = await unlessRefused(() => requestsOf(loaded)) ?? [];
  for (const request of requests) assertEquals(departures(request, usual), [], label);
  if (requests.length === 0) return 0;
  const { entry, model } = resolveModel(loaded.config);
  if (["m", "n"].includes(model)) assertEquals(entry.price, PRICE, label);
  else assertEquals(entry.price, undefined, label);
  assert((entry.max_output_tokens ?? Infinity) <= 1000, label);
  assert((entry.context_window ?? Infinity) <= 50_000 && entry.context_window !== 0, label);
  assert(entry.max_attempts === 1 && entry.max_wait_seconds <= 120, label);
  return requests.length;
}

/** After trust: a user's secret is sent only to its configured server, or where the trusted text names it. */
async function checkTrusted({ fixture, usual, trusted }: Trial, text: string, label: string): Promise<void> {
  const trust = ({ definition }: TrustItem) => {
    trusted.add(definition);
    return true;
  };
  const loaded = await unlessRefused(() => fixture.load({ variables: VARIABLES, trust }));
  if (!loaded) return;
  assertEquals(loaded.needsTrust, [], label);
  // These would run programs or read files.
  if (/kind = "(?!openai|responses|anthropic|google)|api_key_command|proxy|_file|server/.test(text)) return;
  for (const { url, all } of await unlessRefused(() => requestsOf(loaded)) ?? []) {
    for (const [name, value] of [...Object.entries(SECRETS), ["X-Own", "own-5566778899"]] as const) {
      const isTheirs = url.startsWith(MINE) && usual.all.includes(value);
      assert(isTheirs || text.includes(name) || !all.includes(value), `${label}: ${name} went to ${url}`);
    }
  }
}

Deno.test("every field of a provider entry has its own trust level or that of its table", () => {
  const ruleOf = (path: readonly string[]): unknown => {
    let node: JsonNode | undefined = ENTRY;
    return path.reduce<unknown>((rule, name) => {
      const values: JsonNode | boolean | undefined = node?.additionalProperties;
      node = node?.properties?.[name] ?? (typeof values === "object" ? values : undefined);
      return node?.["x-project"] ?? rule;
    }, undefined);
  };
  const without = fieldsOf(ENTRY).filter(([path]) => ruleOf(path) === undefined);
  assertEquals(without.map(([path]) => path.join(".")), []);
  const free = fieldsOf(ENTRY).filter(([path]) => ruleOf(path) === "any").map(([path]) => path.join("."));
  // A further one is a decision: it reaches requests before the user trusts anything.
  assertEquals(free, [
    "name",
    "model",
    "models",
    "default",
    "effort",
    "temperature",
    "model_settings.m.effort",
    "model_settings.m.temperature",
    "verbosity",
    "reasoning_summary",
    "top_p",
    "seed",
  ]);
});

for (const kind of KINDS) {
  Deno.test(`only models and sampling of a project's entry affect a ${kind} request before trust`, async () => {
    const random = randomFrom(KINDS.indexOf(kind));
    const keys = Object.entries(SECRETS).filter(([name]) => name !== "SHELL_TOKEN");
    await using fixture = configFixture({
      "home/config.toml": userFile(kind),
      "home/.env": keys.map(([name, value]) => `${name}=${value}\n`).join(""),
    });
    const [usual] = await requestsOf(await fixture.load());
    if (!usual) throw new Error("The user's own provider sends nothing");
    assert(usual.all.includes(SECRETS.MINE_KEY) && usual.all.includes("own-5566778899"));
    const trusted = new Set<unknown>();
    let sent = 0;
    for (const [path, node] of FIELDS) {
      for (let round = 0; round < VALUES; round++) {
        const name = random() < 0.5 ? "mine" : "theirs";
        const entry: Record<string, unknown> = {
          name,
          kind,
          base_url: random() < 0.8 ? MINE : ATTACKER,
          model: random() < 0.8 ? "m" : "x",
          api_key_env: random() < 0.8 ? "MINE_KEY" : "TRACKER_TOKEN",
        };
        put(entry, path, valueFor(node, random));
        const text = stringify({ default_model: String(entry.name), providers: [entry] });
        fixture.write("project/reasonix.toml", text);
        const trial = { fixture, usual, trusted };
        const label = `${path.join(".")}: ${text}`;
        // The first time nothing is trusted; later entries have changed since the last was.
        sent += await checkUntrusted({ ...trial, trusted: new Set() }, label);
        await checkTrusted(trial, text, label);
        const changed = stringify({
          default_model: String(entry.name),
          providers: [{ ...entry, seed: 7 + round }],
        });
        fixture.write("project/reasonix.toml", changed);
        await checkUntrusted(trial, `changed: ${label}`);
      }
    }
    // Entries with only allowed settings are used; without them nothing above would be tested.
    assert(sent > FIELDS.length / 10, `${sent} requests`);
  });
}
