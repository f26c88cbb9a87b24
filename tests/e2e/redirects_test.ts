/** Redirects of each kind to another origin: nothing reaches it, and one line reports the redirect. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { fakeLlama } from "../support/fake_llama.ts";
import { startModelServer } from "../support/model_server.ts";
import { type Finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { type Redirect, REDIRECTS, sendersOf, type TwoOrigins, twoOrigins } from "../support/redirects.ts";

const KEY = "sk-the-key-0123456789";
const OWN = "own-header-0123456789";
const env = { TEST_API_KEY: KEY };

/** A user's entry of a kind, with a key and a separate header. */
function entryText(kind: string, { first }: TwoOrigins): string {
  return `default_model = "mine"\n\n[[providers]]\nname = "mine"\nkind = "${kind}"\nbase_url = "${first}/v1"\n` +
    `model = "m"\napi_key_env = "TEST_API_KEY"\nheaders = { "X-Own" = "${OWN}" }\n`;
}

interface Stage extends AsyncDisposable {
  readonly world: World;
  readonly origins: TwoOrigins;
}

async function stage(status: Redirect, config: (origins: TwoOrigins) => string): Promise<Stage> {
  const origins = twoOrigins(status);
  const world = await makeWorld(config(origins));
  return {
    world,
    origins,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await origins[Symbol.asyncDispose]();
    },
  };
}

function assertRefused({ code, stdout, stderr }: Finished, { reached, second }: TwoOrigins, status: number) {
  const shown = `${stdout}${stderr}`;
  assertEquals(reached, [], `${status} was followed`);
  assert(code !== 0, shown);
  assertStringIncludes(shown, `${second}/`);
  assertStringIncludes(shown, "not followed");
  assert(!shown.includes(KEY) && !shown.includes(OWN), shown);
}

for (const kind of ["openai", "responses", "anthropic", "google"]) {
  Deno.test(`run with a provider of kind ${kind} sends nothing to another origin after any redirect`, async () => {
    for (const status of REDIRECTS) {
      await using there = await stage(status, (origins) => entryText(kind, origins));
      const finished = await there.world.run(["run", "hello"], { env });
      assertRefused(finished, there.origins, status);
      assertStringIncludes(finished.stderr, `answered with status ${status}; the request was redirected to`);
      assertStringIncludes(finished.stderr, "write its address into base_url");
      const sent = there.origins.redirected.filter((one) => one.startsWith("POST /v1"));
      assertEquals(sent.length, 1, sent.join());
    }
  });
}

Deno.test({
  name: "run with a managed llama-server sends nothing to another origin after any redirect",
  ignore: Deno.build.os === "windows",
  async fn() {
    for (const status of REDIRECTS) {
      await using there = await stage(status, () => "");
      const { world, origins } = there;
      const { binary, model } = fakeLlama(world.home, { redirect: [status, origins.second] });
      const config =
        `default_model = "own"\n\n[[providers]]\nname = "own"\nkind = "llamacpp"\nmodel = "tiny"\n\n` +
        `[providers.server]\nbinary = "${binary}"\nmodel_path = "${model}"\n`;
      await Deno.writeTextFile(`${world.home}/config.toml`, config);
      assertRefused(await world.run(["run", "hello"], { env }), origins, status);
    }
  },
});

Deno.test("doctor --online and models refresh send nothing to another origin, whatever the redirect", async () => {
  for (const status of REDIRECTS) {
    await using there = await stage(status, (origins) => entryText("openai", origins));
    const { world, origins } = there;
    const [doctor, refresh] = await Promise.all([
      world.run(["doctor", "--online"], { env }),
      world.run(["models", "refresh", "--from", `${origins.first}/api.json`], { env }),
    ]);
    assertRefused(doctor, origins, status);
    assertRefused(refresh, origins, status);
    assert(origins.redirected.includes("GET /api.json"), origins.redirected.join());
  }
});

Deno.test("run reports a redirect of an MCP server to another origin in one line", async () => {
  await using origins = twoOrigins(307);
  // Longer than the wait before the second start.
  const before = new Promise((resolve) => setTimeout(resolve, 1_500));
  await using model = startModelServer([{ text: "Hi", before }]);
  const server = `\n[[plugins]]\nname = "far"\ntype = "http"\nurl = "${origins.first}/mcp"\n`;
  await using world = await makeWorld(mockConfig(model.url) + server);
  const { code, stdout, stderr } = await world.run(["run", "hello"]);
  assertEquals([code, stdout], [0, "Hi\n"], stderr);
  const lines = stderr.split("\n").filter((line) => line.startsWith("! "));
  assertEquals(lines, [
    `! MCP server far cannot be used: ${origins.first}/mcp leads to ${origins.second}/mcp ` +
    "(307 Temporary Redirect), which is not followed; correct the url of the server",
  ]);
  assertEquals(origins.reached, []);
});

Deno.test("run sends no telemetry to another origin after any redirect, and says so in one line", async () => {
  for (const status of REDIRECTS) {
    await using model = startModelServer([{ text: "Hi" }]);
    await using there = await stage(
      status,
      ({ first }) =>
        mockConfig(model.url, `\n[telemetry]\notlp = "${first}"\nheaders = { "X-Own" = "${OWN}" }\n`),
    );
    const { world, origins } = there;
    const { code, stdout, stderr } = await world.run(["run", "hello"]);
    assertEquals([code, stdout, origins.reached], [0, "Hi\n", []], stderr);
    const [line = "", ...more] = stderr.split("\n").filter((line) => line.startsWith("! "));
    assertEquals(more, []);
    assertStringIncludes(line, "Cannot send telemetry to");
    assertStringIncludes(line, "which is not followed");
    assert(origins.redirected.includes("POST /v1/traces"), origins.redirected.join());
  }
});

Deno.test("this file redirects every sender that is tested through the program", () => {
  assertEquals(sendersOf("program").sort(), [
    "cli/commands/reports.ts",
    "src/features/telemetry/exporter.ts",
    "src/provider/wire/http_stream.ts",
    "src/reports/doctor.ts",
  ]);
});
