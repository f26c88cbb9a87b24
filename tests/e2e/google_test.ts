/** The kind `google` through the program, with the entries of the page about Gemini. */
import { startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { googleWire } from "../support/wires/google.ts";

const PAGE = new URL("../../docs/providers/google.md", import.meta.url);
const KEY = "AIzaSyNotAKeyOfAnybody00000000000000000";
const API = "https://generativelanguage.googleapis.com";
const VERTEX = "https://europe-west1-aiplatform.googleapis.com";

/** The entries of the page, in order, at another address. */
async function entriesOfPage(origin: string): Promise<readonly string[]> {
  const page = (await Deno.readTextFile(PAGE)).replaceAll(API, origin).replaceAll(VERTEX, origin);
  return [...page.matchAll(/```toml\n([^`]*)```/g)].map(([, entry = ""]) => entry);
}

Deno.test("the entry of the page about Gemini runs a task with thoughts and tools", async () => {
  const script = [
    {
      reasoning: "The file has to be read.",
      text: "Let me look.",
      calls: [{ name: "read_file", args: { path: "a.txt" } }],
    },
    { reasoning: "Now I know.", text: ["It says ", "hello 你好."] },
  ];
  const wire = googleWire({ counts: true });
  await using server = startModelServer(script, { wire });
  const [entry] = await entriesOfPage(new URL(server.url).origin);
  await using world = await makeWorld(`${entry}facts = "google"\n`);
  await world.write("a.txt", "hello 你好\n");
  const env = { GEMINI_API_KEY: KEY };
  const { code, stdout, stderr } = await world.run(["run", "--effort", "low", "what does a.txt say?"], {
    env,
  });
  assertEquals([code, stdout], [0, "It says hello 你好.\n"], stderr);
  assertStringIncludes(stderr, "✓ read a.txt · 1 line");
  assertMatch(stderr, /0\.\d+ USD/);
  const [first, second] = server.requests;
  assertEquals(first?.path, "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse");
  assertEquals([first?.headers.get("x-goog-api-key"), first?.headers.get("authorization")], [KEY, null]);
  assertEquals(first?.json.generationConfig.thinkingConfig, { includeThoughts: true, thinkingLevel: "low" });
  assert(first?.json.tools[0].functionDeclarations.length > 5);
  assert(wire.signatures.given[0] && second?.body.includes(wire.signatures.given[0]));
  assert((wire.inputs[1]?.cached ?? 0) >= (wire.inputs[0]?.input ?? 0) * 0.99);
  assert(!(await world.run(["session", "list", "--json"])).stdout.includes(KEY));
});

Deno.test("the page's entry for Vertex AI sends requests to the URL of the project", async () => {
  await using server = startModelServer([{ text: "Hello." }], {
    wire: {
      ...googleWire({ generation: 2.5 }),
      isCompletion: (path) => path.includes(":streamGenerateContent"),
    },
  });
  const [, entry = ""] = await entriesOfPage(new URL(server.url).origin);
  await using world = await makeWorld(
    entry.replace("gcloud auth print-access-token", "echo ya29.token").replace(
      "facts =",
      'compat = { key_header = "authorization" }\nfacts =',
    ),
  );
  const { code, stdout, stderr } = await world.run(["run", "hello"], {
    env: { GOOGLE_CLOUD_PROJECT: "shop-1" },
  });
  assertEquals([code, stdout], [0, "Hello.\n"], stderr);
  const [first] = server.requests;
  const place = "/v1/projects/shop-1/locations/europe-west1/publishers/google";
  assertEquals(first?.path, `${place}/models/gemini-2.5-pro:streamGenerateContent?alt=sse`);
  assertEquals(first?.headers.get("authorization"), "Bearer ya29.token");
});

Deno.test("a session of another model continues with Gemini and switches back", async () => {
  const wire = googleWire();
  await using chat = startModelServer([
    { text: "One.", calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }] },
    { text: "Read." },
    { text: "Back." },
  ]);
  await using gemini = startModelServer([
    { text: "Two.", calls: [{ name: "read_file", args: { path: "a.txt" } }] },
    { reasoning: "Hm.", text: "Three." },
  ], { wire });
  await using world = await makeWorld(
    `[[providers]]\nname = "chat"\nbase_url = "${chat.url}"\nmodel = "m"\n` +
      `[[providers]]\nname = "gemini"\nkind = "google"\nbase_url = "${gemini.url}"\nmodel = "gemini-3-pro"\n`,
  );
  await world.write("a.txt", "hello\n");
  assertEquals((await world.run(["run", "--quiet", "--model", "chat/m", "a"])).stdout, "Read.\n");
  const there = await world.run(["run", "-c", "--quiet", "--model", "gemini/gemini-3-pro", "b"]);
  assertEquals(there.stdout, "Three.\n", there.stderr);
  assertEquals([...wire.signatures.dummies], ["read_file"]);
  const back = await world.run(["run", "-c", "--model", "chat/m", "c"]);
  assertEquals(back.stdout, "Back.\n", back.stderr);
  assert(!/thoughtSignature|Hm\./.test(chat.requests.at(-1)?.body ?? "thoughtSignature"));
  assertStringIncludes(back.stderr, "gemini/gemini-3-pro");
});
