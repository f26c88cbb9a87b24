/** The lifecycle of a managed llama-server: starting, sharing and ending it, through failures. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { START_FLAGS } from "../../../cli/terminal/start_flags.ts";
import { createProvider } from "../../../src/provider/mod.ts";
import { processStart } from "../../../src/util/process.ts";
import { type FakeLlama, fakeLlama, type FakeModel } from "../../support/fake_llama.ts";
import { collect, providerEntry } from "../../support/model_client.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const AGENT = new URL("../../support/llama_agent.ts", import.meta.url).pathname;
const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;

/** Permissions of the program, which cannot read system information about processes. */
const PERMISSIONS = START_FLAGS.filter((flag) => flag.startsWith("--allow-"));

class Stage implements AsyncDisposable {
  readonly fake: FakeLlama;
  readonly home: string;
  readonly #agents: Agent[] = [];
  readonly #temp: AsyncDisposable;

  private constructor(directory: string, temp: AsyncDisposable, behaviour: FakeModel) {
    this.fake = fakeLlama(directory, behaviour);
    this.home = `${directory}/home`;
    this.#temp = temp;
  }

  static async open(behaviour: FakeModel = {}): Promise<Stage> {
    const temp = await makeTempDir();
    return new Stage(temp.path, temp, behaviour);
  }

  agent(): Agent {
    const agent = new Agent([this.fake.binary, this.fake.model, this.home]);
    this.#agents.push(agent);
    return agent;
  }

  /** A provider in this process. */
  async provider(server: Record<string, unknown> = {}) {
    const entry = providerEntry({
      kind: "llamacpp",
      server: { binary: this.fake.binary, model_path: this.fake.model, ...server },
    });
    return await createProvider({ entry, model: "tiny", version: "1", values: { home: this.home } });
  }

  /** Directory of the only server. */
  get directory(): string {
    const [entry] = [...Deno.readDirSync(`${this.home}/llamacpp`)];
    return `${this.home}/llamacpp/${entry?.name}`;
  }

  /** Started servers that are still running. */
  alive(): number {
    return this.fake.starts().filter(({ pid }) => processStart(pid) !== undefined).length;
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const end = performance.now() + 20_000;
    while (!condition()) {
      assert(performance.now() < end, `it never happened: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  #supervisors(): number[] {
    try {
      return [JSON.parse(Deno.readTextFileSync(`${this.directory}/server.json`)).supervisor.pid];
    } catch {
      return [];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents) await agent.kill();
    const groups = this.#supervisors();
    const pids = [...groups, ...this.fake.starts().map(({ pid }) => pid)];
    for (const target of [...groups.map((pid) => -pid), ...pids]) {
      try {
        Deno.kill(target, "SIGKILL");
      } catch { /* it has ended */ }
    }
    await this.until(() => pids.every((pid) => processStart(pid) === undefined), "all is gone");
    await this.#temp[Symbol.asyncDispose]();
  }
}

class Agent {
  readonly #child: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  #rest = "";

  constructor(args: readonly string[]) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", ...PERMISSIONS, "--no-check", "--quiet", "--config", CONFIG, AGENT, ...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  get pid(): number {
    return this.#child.pid;
  }

  async line(): Promise<string> {
    while (!this.#rest.includes("\n")) {
      const { done, value } = await this.#lines.read();
      if (done) return this.#rest;
      this.#rest += value;
    }
    const at = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, at);
    this.#rest = this.#rest.slice(at + 1);
    return line;
  }

  async reply(): Promise<string> {
    const line = await this.line();
    return line === "begins" ? await this.line() : line;
  }

  async kill(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch { /* it has ended */ }
    await this.#child.stdin.close().catch(() => {});
    await this.#lines.cancel();
    await this.#child.status;
  }

  async end(): Promise<void> {
    await this.#child.stdin.close();
    await this.#child.status;
  }
}

const unix = (name: string, run: () => Promise<void>) =>
  Deno.test({ name: `with its own llama-server ${name}`, ignore: Deno.build.os === "windows", fn: run });

unix("two agents share a server, which survives a killed agent and ends with the last", async () => {
  await using stage = await Stage.open({ loadMs: 300 });
  const [first, second] = [stage.agent(), stage.agent()];
  const replies = await Promise.all([first.reply(), second.reply()]);
  for (const reply of replies) assertMatch(reply, /^Hello from \d+, request [12]\.$/);
  assertEquals(stage.fake.starts().length, 1);
  await first.kill();
  const third = stage.agent();
  assertMatch(await third.reply(), /request 3\.$/);
  await second.kill();
  assertEquals(stage.alive(), 1);
  await third.end();
  await stage.until(() => stage.alive() === 0, "the server ends");
  assertEquals(stage.fake.starts().length, 1);
});

unix("agents killed at any moment leave no server and no blocking lease", async () => {
  await using stage = await Stage.open({ loadMs: 100 });
  for (let round = 0; round < 20; round++) {
    const agent = stage.agent();
    assertEquals(await agent.line(), "begins");
    await new Promise((resolve) => setTimeout(resolve, round * 20));
    await agent.kill();
    await stage.until(() => stage.alive() === 0, `the server of round ${round} ends`);
  }
  assertMatch(await stage.agent().reply(), /^Hello/);
  assertEquals(
    [...Deno.readDirSync(stage.directory)].filter(({ name }) => name.startsWith("pipe-")).length,
    1,
  );
});

unix("a server killed during a reply is restarted once", async () => {
  await using stage = await Stage.open({ crashingStarts: 1 });
  const { text, retries, error } = await collect(await stage.provider());
  assertMatch(text, /^Hello from \d+, request 1\.$/);
  assertEquals(error, undefined);
  assertEquals(retries.map(({ discarded }) => discarded), [true]);
  assertMatch(
    retries[0]?.reason ?? "",
    /signal 9.*CUDA error: out of memory.*server\.log; it is started again$/,
  );
});

unix("a server killed twice is an error with the last lines of its log", async () => {
  await using stage = await Stage.open({ crashingStarts: 2 });
  const { error, retries } = await collect(await stage.provider());
  assertEquals([error?.kind, retries.length], ["server", 1]);
  assertStringIncludes(error?.message ?? "", "CUDA error: out of memory");
  assertEquals(stage.fake.starts().length, 2);
});

unix("a server that listens on other interfaces causes one warning and is used over loopback", async () => {
  await using stage = await Stage.open();
  for (const [host, warned] of [["0.0.0.0", 1], ["127.0.0.1", 0]] as const) {
    const provider = await stage.provider({ host });
    const outcomes = [await collect(provider), await collect(provider)];
    assertEquals(outcomes.map(({ error }) => error), [undefined, undefined]);
    const warnings = outcomes.flatMap(({ chunks }) =>
      chunks.filter((chunk) => chunk.type === "notice" && chunk.level === "warning")
    );
    assertEquals(warnings.length, warned, host);
    for (const warning of warnings) {
      assertMatch(JSON.stringify(warning), /listens on 0\.0\.0\.0: other machines/);
    }
  }
});

unix("a server that cannot load its model reports the reason in one line", async () => {
  await using stage = await Stage.open({ diesLoading: 20 });
  const { error, retries } = await collect(await stage.provider());
  assertEquals(retries.length, 0);
  assertMatch(error?.message ?? "", /ended with exit code 1: .*missing tensor.*\| main: exiting due to/);
  assert(!error?.message.includes("\n"));
});

unix("the error of a version without a flag is quoted", async () => {
  await using stage = await Stage.open({ old: true });
  const { error } = await collect(await stage.provider());
  assertStringIncludes(error?.message ?? "", "error: invalid argument: --no-webui");
});

unix("a port that is taken between check and bind leads to the next one", async () => {
  await using stage = await Stage.open({ takenPorts: [18_700, 18_701] });
  const { text } = await collect(await stage.provider({ port_range: [18_700, 18_703] }));
  assertMatch(text, /^Hello from 1870[23]/);
});

unix("an error reports that all ports are taken", async () => {
  await using stage = await Stage.open();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const { error } = await collect(await stage.provider({ port_range: [port, port] }));
  assertMatch(error?.message ?? "", new RegExp(`has no port: ${port} to ${port} are all taken`));
});

unix("loading that takes too long stops the server with an error that names the setting", async () => {
  await using stage = await Stage.open({ loadMs: 60_000 });
  const { error } = await collect(await stage.provider({ startup_timeout_seconds: 0.5 }));
  assertEquals(error?.kind, "timeout");
  assertStringIncludes(error?.message ?? "", "did not load tiny.gguf within startup_timeout_seconds = 0.5");
  await stage.until(() => stage.alive() === 0, "the server ends");
});

unix(
  "an abort while the model loads ends the request, and the next request finds it loaded",
  async () => {
    await using stage = await Stage.open({ loadMs: 800 });
    const provider = await stage.provider();
    const stop = new AbortController();
    const chunks: string[] = [];
    for await (
      const chunk of provider.stream({ prefix: { system: "s", tools: [] }, messages: [] }, stop.signal)
    ) {
      chunks.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
      if (chunk.type === "notice") stop.abort();
    }
    assertEquals(chunks, ["notice", "aborted"]);
    assertMatch((await collect(provider)).text, /^Hello/);
    assertEquals(stage.fake.starts().length, 1);
  },
);

unix("notices report loading, and the window is read from the server", async () => {
  await using stage = await Stage.open({ loadMs: 900, window: 12_288 });
  const provider = await stage.provider();
  const { chunks } = await collect(provider);
  const notices = chunks.flatMap((chunk) => chunk.type === "notice" ? [chunk.text] : []);
  assertMatch(
    notices.join("\n"),
    /^loading model … \d s \(tiny\.gguf, 1 MB\)\ntiny\.gguf is loaded after \d s$/,
  );
  assertEquals(await provider.askWindow?.(), 12_288);
});

unix("the key is in a private file, and no secret reaches the server", async () => {
  await using stage = await Stage.open();
  Deno.env.set("LLAMACPP_TEST_TOKEN", "hidden");
  await collect(await stage.provider());
  Deno.env.delete("LLAMACPP_TEST_TOKEN");
  const [env, args] = stage.fake.seen();
  const key = Deno.readTextFileSync(`${stage.directory}/key`).trim();
  assert(key.length > 40 && !args.join(" ").includes(key));
  assertEquals((Deno.statSync(`${stage.directory}/key`).mode ?? 0) & 0o777, 0o600);
  assertEquals((Deno.statSync(stage.directory).mode ?? 0) & 0o777, 0o700);
  assert(!JSON.stringify(env).includes("hidden"));
});

unix("a large log is truncated to its end", async () => {
  await using stage = await Stage.open({ noise: 20 });
  const provider = await stage.provider();
  await collect(provider);
  await collect(provider);
  const { size } = Deno.statSync(`${stage.directory}/server.log`);
  assert(size < 25 * 1024 * 1024, `${size} bytes`);
});

for (
  const [what, spoil] of [
    ["broken", (file: string) => Deno.writeTextFileSync(file, "{")],
    ["empty", (file: string) => Deno.writeTextFileSync(file, "")],
    [
      "of another form",
      (file: string) => Deno.writeTextFileSync(file, '{"supervisor":{"pid":1,"start":"1"}}'),
    ],
    ["a directory", (file: string) => Deno.mkdirSync(file)],
    ["a link", (file: string) => Deno.symlinkSync("/etc/passwd", file)],
  ] as const
) {
  unix(`a lease file that is ${what} is replaced`, async () => {
    await using stage = await Stage.open();
    const before = stage.agent();
    await before.reply();
    await before.kill();
    const file = `${stage.directory}/server.json`;
    Deno.removeSync(file);
    spoil(file);
    assertMatch(await stage.agent().reply(), /^Hello/);
    assert(Deno.lstatSync(file).isFile);
  });
}

unix("a lease whose process id belongs to another program kills nothing", async () => {
  await using stage = await Stage.open();
  const before = stage.agent();
  await before.reply();
  await before.kill();
  const other = new Deno.Command("sleep", { args: ["60"], detached: true }).spawn();
  const file = `${stage.directory}/server.json`;
  const lease = JSON.parse(Deno.readTextFileSync(file));
  Deno.writeTextFileSync(file, JSON.stringify({ ...lease, supervisor: { pid: other.pid, start: "1" } }));
  assertMatch(await stage.agent().reply(), /^Hello/);
  assert(processStart(other.pid) !== undefined);
  other.kill("SIGKILL");
  await other.status;
});

unix("a server without its supervisor is stopped by the next start", async () => {
  await using stage = await Stage.open();
  const before = stage.agent();
  await before.reply();
  const { supervisor } = JSON.parse(Deno.readTextFileSync(`${stage.directory}/server.json`));
  Deno.kill(supervisor.pid, "SIGKILL");
  await before.kill();
  const [old] = stage.fake.starts();
  assertMatch(await stage.agent().reply(), /^Hello/);
  await stage.until(() => processStart(old?.pid ?? 0) === undefined, "the old server ends");
  assertEquals(stage.alive(), 1);
});

unix("a symlinked directory is refused", async () => {
  await using stage = await Stage.open();
  const before = stage.agent();
  await before.reply();
  await before.kill();
  const { directory } = stage;
  await Deno.rename(directory, `${stage.home}/elsewhere`);
  await Deno.symlink(`${stage.home}/elsewhere`, directory);
  assertMatch(await stage.agent().reply(), /^error: Cannot keep a server in .*: it is a link/);
});
