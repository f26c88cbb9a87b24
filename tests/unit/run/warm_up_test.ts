import { assemble } from "../../../src/features/mod.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { startModelServer } from "../../support/model_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("a warm-up sends, records and changes nothing, and does not affect the first request", async () => {
  await using temp = await makeTempDir();
  const server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using _server = server;
  const paths = { cwd: `${temp.path}/work`, home: `${temp.path}/home`, env: () => undefined };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const config = {
    default_model: "mock",
    providers: [{ name: "mock", kind: "openai", base_url: server.url, model: "mock-1" }],
  };
  const open = async () =>
    await assemble({
      paths,
      loaded: await loadTrustedConfig({ ...paths, flags: config, noFiles: true }, {}),
    });
  {
    await using warm = await open();
    const files = () => [...Deno.readDirSync(paths.home)].map(({ name }) => name);
    const before = files();
    const seen: string[] = [];
    await warm.warmUp((event) => void seen.push(event.type));
    assertEquals([seen[0], seen.at(-1)], ["session.start", "turn.state"]);
    assert(seen.includes("message.delta"), "the reply was read to its end");
    assertEquals(files(), before);
    assertEquals([server.requests.length, warm.session.state.lastSeq], [0, 0]);
    assertEquals((await warm.run("say one")).answer, "one");
    assertEquals(warm.session.state.turns.map(({ prompt }) => prompt), ["say one"]);
  }
  await using plain = await open();
  await plain.run("say one");
  const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
  assertEquals(first, second);
});
