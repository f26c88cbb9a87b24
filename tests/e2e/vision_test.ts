/** Images for a model: scaled, described for a model without vision, or left out. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { makeImage } from "../support/images.ts";
import { type ModelServer, type RecordedRequest, startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";

const USAGE = { input: 1000, output: 100 };

function config(server: ModelServer, { vision, more = "" }: { vision: boolean; more?: string }): string {
  return `default_model = "mock/main"
${more}
[[providers]]
name = "mock"
base_url = "${server.url}"
models = ["main", "eyes"]
vision = ${vision}
price = { input = 1, output = 10 }

[providers.model_settings."eyes"]
vision = true
`;
}

/** The images of a request as data URLs. */
function imagesOf({ json }: RecordedRequest): string[] {
  return json.messages.flatMap(({ content }: { content: unknown }) =>
    Array.isArray(content) ? content.flatMap((part) => part.image_url?.url ?? []) : []
  );
}

Deno.test("an attached image is scaled to the model's limit with a note to the model", async () => {
  await using server = await startModelServer([{ text: "a gradient" }]);
  await using world = await makeWorld(config(server, { vision: true }));
  await Deno.writeFile(`${world.dir}/big.png`, await makeImage(3000, 300));
  const { code, stderr } = await world.run(["run", "-q", "what is on @big.png"]);
  assertEquals([code, stderr], [0, ""]);
  const request = server.requests[0] as RecordedRequest;
  const [url = ""] = imagesOf(request);
  const png = Uint8Array.fromBase64(url.replace("data:image/png;base64,", ""));
  assertEquals(new DataView(png.buffer).getUint32(16), 2048);
  assertStringIncludes(request.body, "[The image: scaled from 3000×300 to 2048×205 pixels]");
});

Deno.test("a damaged image from a tool is left out with a reason, and the turn continues", async () => {
  await using server = await startModelServer([
    { calls: [{ name: "read_file", args: { path: "cut.png" } }] },
    { text: "It is broken." },
  ]);
  await using world = await makeWorld(config(server, { vision: true }));
  await Deno.writeFile(`${world.dir}/cut.png`, (await makeImage(90, 90, { noise: true })).slice(0, 900));
  const { code, stdout, stderr } = await world.run(["run", "look at cut.png"]);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "It is broken.");
  assertStringIncludes(stderr, "The image was not attached: damaged or cut off");
  const request = server.requests[1] as RecordedRequest;
  assertEquals(imagesOf(request), []);
  assertStringIncludes(request.body, "cut.png: PNG image, 90×90 pixels");
  assertStringIncludes(request.body, "[The image was not attached: damaged or cut off");
});

Deno.test("vision_model describes an image once for a model without vision, also after a resume", async () => {
  const lane = ({ json }: RecordedRequest) => `${json.model} ${json.messages.length === 2}`;
  await using server = await startModelServer([
    { text: "A blue gradient.", usage: USAGE },
    { text: "So it is blue.", usage: USAGE },
    { calls: [{ name: "read_file", args: { path: "a.png" } }], usage: USAGE },
    { text: "The same one.", usage: USAGE },
  ], { lane, check: { prefix: false } });
  await using world = await makeWorld(config(server, { vision: false, more: 'vision_model = "mock/eyes"' }));
  await Deno.writeFile(`${world.dir}/a.png`, await makeImage(64, 64));
  const first = await world.run(["run", "what is @a.png"]);
  assertEquals(first.code, 0, first.stderr);
  assertStringIncludes(first.stderr, "The image was described by mock/eyes (1,100 tokens, 0.002 USD)");
  const second = await world.run(["run", "-c", "look at a.png again"]);
  assertEquals(second.code, 0, second.stderr);
  assertEquals(server.requests.map(({ json }) => json.model), ["eyes", "main", "main", "main"]);
  const [seen, described, , again] = server.requests as [RecordedRequest, ...RecordedRequest[]];
  assertEquals(imagesOf(seen).length, 1);
  for (const request of [described, again]) {
    assertEquals(imagesOf(request as RecordedRequest), []);
    assertStringIncludes(request?.body ?? "", "The image, described by mock/eyes:\\nA blue gradient.");
  }
  const stats = await world.run(["stats", "--by", "model", "--json"]);
  assertMatch(stats.stdout, /"key":\s*"eyes"/);
});

Deno.test("an image that vision_model cannot describe is reported, and the run continues", async () => {
  await using server = await startModelServer([
    { status: 400, body: { error: { message: "no pictures today" } } },
    { text: "Then without it." },
  ], { check: { prefix: false } });
  await using world = await makeWorld(config(server, { vision: false, more: 'vision_model = "mock/eyes"' }));
  await Deno.writeFile(`${world.dir}/a.png`, await makeImage(64, 64));
  const { code, stderr } = await world.run(["run", "what is @a.png"]);
  assertEquals(code, 0, stderr);
  assertStringIncludes(stderr, "The image could not be described by mock/eyes");
  assertStringIncludes(server.requests[1]?.body ?? "", "no pictures today");
});

Deno.test("an invalid vision_model is reported with its location", async () => {
  await using server = await startModelServer([]);
  await using world = await makeWorld(config(server, { vision: false, more: 'vision_model = "mock/eyse"' }));
  const { code, stderr } = await world.run(["run", "-q", "go"]);
  assertEquals(code, 6);
  assertStringIncludes(stderr, "config.toml:2:");
  assert(stderr.includes('Unknown model "mock/eyse"'), stderr);
});
