/** The program with its managed llama-server. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { processStart } from "../../src/util/process.ts";
import { type FakeLlama, fakeLlama, type FakeModel } from "../support/fake_llama.ts";
import { finished, makeWorld, type World } from "../support/program.ts";

const ignore = Deno.build.os === "windows";

interface Stage extends AsyncDisposable {
  readonly world: World;
  readonly fake: FakeLlama;
}

async function stage(behaviour: FakeModel = {}, server = ""): Promise<Stage> {
  const world = await makeWorld();
  const fake = fakeLlama(world.home, behaviour);
  await Deno.writeTextFile(`${world.home}/config.toml`, entryText(fake, server));
  return { world, fake, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

function entryText({ binary, model }: FakeLlama, more = ""): string {
  return `default_model = "own"\n\n[[providers]]\nname = "own"\nkind = "llamacpp"\nmodel = "tiny"\n\n` +
    `[providers.server]\nbinary = "${binary}"\nmodel_path = "${model}"\n${more}`;
}

async function gone({ fake }: Stage): Promise<void> {
  const end = performance.now() + 20_000;
  while (fake.starts().some(({ pid }) => processStart(pid) !== undefined)) {
    assert(performance.now() < end, "a server runs still");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

Deno.test({
  name: "run starts the server, reports that it loads the model, and stops it",
  ignore,
  async fn() {
    await using there = await stage({ loadMs: 800 });
    const { code, stdout, stderr } = await there.world.run(["run", "hello"]);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, /Hello from \d+, request 1\./);
    assertMatch(stderr, /loading model … \d s \(tiny\.gguf, 1 MB\)/);
    await gone(there);
  },
});

Deno.test({
  name: "run --output-format jsonl reports loading in events of the code server",
  ignore,
  async fn() {
    await using there = await stage({ loadMs: 800 });
    const { stdout } = await there.world.run(["run", "--output-format", "jsonl", "hello"]);
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const texts = events.filter(({ type, code }) => type === "notice" && code === "server").map(({ text }) =>
      text
    );
    assertEquals(texts.length, 2);
    assertMatch(texts[1], /^tiny\.gguf is loaded after \d s$/);
    await gone(there);
  },
});

Deno.test({
  name: "run that is killed leaves no server",
  ignore,
  async fn() {
    await using there = await stage({ loadMs: 60_000 });
    const child = await there.world.spawn(["run", "hello"]);
    const end = performance.now() + 20_000;
    while (there.fake.starts().length === 0) {
      assert(performance.now() < end, "no server was started");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.kill("SIGKILL");
    await finished(child);
    await gone(there);
  },
});

Deno.test({
  name: "run with a missing model file ends with one line that names the location of the setting",
  ignore,
  async fn() {
    await using there = await stage();
    await Deno.remove(there.fake.model);
    const { code, stderr } = await there.world.run(["run", "hello"]);
    assertEquals(code, 6);
    assertMatch(stderr, /config\.toml:10:\d+: .*tiny\.gguf does not exist/);
    assertEquals(there.fake.starts(), []);
  },
});

Deno.test({
  name: "doctor and models list show the server and its model, and start nothing",
  ignore,
  async fn() {
    await using there = await stage();
    const report = await there.world.run(["doctor"]);
    assertStringIncludes(report.stdout, "server not running");
    const list = await there.world.run(["models", "list"]);
    assertStringIncludes(list.stdout, "own/tiny");
    assertEquals(there.fake.starts(), []);
    await Deno.chmod(there.fake.binary, 0o644);
    const broken = await there.world.run(["doctor"]);
    assertStringIncludes(broken.stdout, "server cannot be started");
    assertStringIncludes(broken.stdout, "is not executable");
  },
});

Deno.test({
  name: "run does not start a program that an untrusted project names",
  ignore,
  async fn() {
    await using there = await stage();
    await there.world.write("reasonix.toml", entryText(there.fake));
    await Deno.remove(`${there.world.home}/config.toml`);
    const { code, stderr } = await there.world.run(["run", "hello"]);
    assert(code !== 0);
    assertStringIncludes(stderr, "it would run the program");
    assertEquals(there.fake.starts(), []);
  },
});

Deno.test({
  name: "run reports the exit of a server that cannot load its model",
  ignore,
  async fn() {
    await using there = await stage({ diesLoading: 20 });
    const { code, stderr } = await there.world.run(["run", "hello"]);
    assertEquals(code, 5);
    assertMatch(stderr, /ended with exit code 1: .*error loading model: missing tensor/);
  },
});

Deno.test({
  name: "run warns of a server that other machines can reach",
  ignore,
  async fn() {
    await using there = await stage({}, 'host = "0.0.0.0"\n');
    const { code, stdout, stderr } = await there.world.run(["run", "hello"]);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, /Hello from \d+, request 1\./);
    assertStringIncludes(
      stderr.replace(/\s+/g, " "),
      "other machines can reach it, and only its key keeps them out",
    );
    await gone(there);
  },
});
