/**
 * One session that switches between models: over every wire, and to the same model at another provider.
 * Each server refuses what its vendor refuses, so parts of another model would end the run.
 */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type ModelServer, type RecordedRequest, startModelServer } from "../support/model_server.ts";
import { makeWorld, type World } from "../support/program.ts";
import { WIRES } from "../support/wires/wires.ts";

/** Kinds whose replies have parts that only their own model can read. */
const SEALING = Object.keys(WIRES).filter((kind) => kind !== "openai").length;

/** Servers by the name of their entry: two of each wire, which offer the same model. */
type Servers = Readonly<Record<string, ModelServer>>;

function startServers(): Servers {
  return Object.fromEntries(
    Object.entries(WIRES).flatMap(([kind, wire]) =>
      ["a", "b"].map((letter) => [`${kind}-${letter}`, startModelServer([], { wire: wire() })])
    ),
  );
}

function config(servers: Servers): string {
  const entries = Object.entries(servers).map(([name, { url, wire }]) => {
    const more = Object.entries(wire.entry ?? {}).map(([key, value]) => `${key} = ${toml(value)}\n`).join("");
    return `[[providers]]\nname = "${name}"\nkind = "${wire.kind}"\nbase_url = "${url}"\nmodel = "same"\n` +
      `context_window = 100000\nsupplemental_prompt = "You speak through ${name}."\n${more}`;
  });
  return entries.join("\n");
}

function toml(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value).map(([key, each]) => `${key} = ${toml(each)}`).join(", ")} }`;
}

/** The replies of a server in one turn: it thinks, reads a file, and answers. */
function visit(server: ModelServer, turn: number): void {
  server.push(
    {
      reasoning: `secret thought ${turn} 思考`,
      calls: [{ name: "read_file", args: { path: `note${turn}.txt` } }],
    },
    { text: `answer ${turn} 🦊` },
  );
}

/** Names of the entries, twice: the provider changes at every step, the kind at every second one. */
function route(servers: Servers): string[] {
  const names = Object.keys(servers);
  return [...names, ...names];
}

interface LoggedPart {
  readonly provider: string;
  readonly data: unknown;
}

async function logged(
  world: World,
  id = "",
): Promise<{ events: Record<string, unknown>[]; parts: LoggedPart[] }> {
  const shown = await world.run(["session", "show", ...(id ? [id] : []), "--json"]);
  const text = shown.stdout;
  const events = text.trimStart().startsWith("[")
    ? JSON.parse(text)
    : text.trim().split("\n").map((line) => JSON.parse(line));
  const parts = events.flatMap((event: { parts?: LoggedPart[] }) => event.parts ?? []);
  return { events, parts };
}

/** Texts of a part that only its own model may see again. */
function sealed(value: unknown): string[] {
  if (typeof value === "string") return value.length >= 16 ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(sealed) : [];
}

function checkTexts(request: RecordedRequest | undefined, said: readonly string[]): void {
  const body = JSON.stringify(request?.json);
  for (const text of said) assertStringIncludes(body, text);
}

const task = (turn: number) => `question ${turn} 任务`;
const answer = (turn: number) => `answer ${turn} 🦊`;

/** The model changes of the session; no server received sealed parts of another one. */
async function checkSession(world: World, servers: Servers, steps: readonly string[]): Promise<void> {
  const { events, parts } = await logged(world);
  const resets = events.filter(({ type }) => type === "context.prefix");
  assertEquals(resets.map(({ reason, provider }) => [reason, provider]), [
    ["start", steps[0]],
    ...steps.slice(1).map((name) => ["model", name]),
  ]);
  for (const [name, { requests }] of Object.entries(servers)) {
    const of = (own: boolean) =>
      new Set(
        parts.filter(({ provider }) => own === (provider === name)).flatMap(({ data }) => sealed(data)),
      );
    // A server may sign the same text as another one does.
    for (const text of of(false).difference(of(true))) {
      const written = JSON.stringify(text).slice(1, -1);
      assert(requests.every(({ body }) => !body.includes(written)), `${name}: ${text}`);
    }
  }
  assertEquals(new Set(parts.map(({ provider }) => provider)).size, 2 * SEALING);
  const notices = events.flatMap(({ type, text }) => type === "notice" ? [String(text)] : []);
  const second = steps[1];
  const left = `Signed reasoning of ${steps[0]}/same is left out of requests: ${second}/same cannot take it`;
  assert(notices.includes(left), notices.join("\n"));
}

Deno.test("runs of one session with different models lose no text and send no parts of other vendors", async () => {
  const servers = startServers();
  try {
    await using world = await makeWorld(config(servers));
    const steps = route(servers);
    for (const [turn, name] of steps.entries()) {
      const server = servers[name] as ModelServer;
      visit(server, turn);
      await world.write(`note${turn}.txt`, `note ${turn}\n`);
      const flags = turn === 0 ? [] : ["-c"];
      const { code, stdout, stderr } = await world.run(["run", ...flags, "-m", `${name}/same`, task(turn)]);
      assertEquals([code, stdout.trim()], [0, answer(turn)], stderr);
      const request = server.requests.at(-1);
      const earlier = steps.slice(0, turn).flatMap((_, at) => [task(at), answer(at), `note ${at}`]);
      checkTexts(request, [`You speak through ${name}.`, ...earlier, task(turn)]);
    }
    await checkSession(world, servers, steps);
  } finally {
    for (const server of Object.values(servers)) await server.close();
  }
});

Deno.test("a chat that changes its model with every message loses no text and sends no parts of others", async () => {
  const servers = startServers();
  try {
    await using world = await makeWorld(config(servers));
    const steps = route(servers);
    for (const [turn, name] of steps.entries()) {
      visit(servers[name] as ModelServer, turn);
      await world.write(`note${turn}.txt`, `note ${turn}\n`);
    }
    const lines = steps.flatMap((name, turn) => turn === 0 ? [task(0)] : [`/model ${name}/same`, task(turn)]);
    const { code, stdout, stderr } = await world.run([], { stdin: `${lines.join("\n")}\n` });
    assertEquals(code, 0, stderr);
    for (const [turn, name] of steps.entries()) {
      assertStringIncludes(stdout, answer(turn));
      checkTexts(servers[name]?.requests.at(turn < steps.length / 2 ? 1 : 3), [
        `You speak through ${name}.`,
        ...steps.slice(0, turn).flatMap((_, at) => [task(at), answer(at), `note ${at}`]),
        task(turn),
      ]);
    }
    await checkSession(world, servers, steps);
  } finally {
    for (const server of Object.values(servers)) await server.close();
  }
});
