/** The record of a server between runs. */
import { pluginEntry } from "../../support/config_entries.ts";
import { ListingCache, type ServerRecord } from "../../../src/mcp/listing.ts";
import { serverSpecs } from "../../../src/mcp/mod.ts";
import { McpServer } from "../../../src/mcp/server.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openMcp, scripted } from "../../support/mcp/mcp_fixture.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

/** A cache whose first write ends after a concurrent second one. */
class SlowCache extends ListingCache {
  readonly begun = Promise.withResolvers<void>();
  readonly #second = Promise.withResolvers<void>();
  #writes = 0;

  override async write(definition: string, record: ServerRecord): Promise<void> {
    const isFirst = this.#writes++ === 0;
    this.begun.resolve();
    if (isFirst) {
      await Promise.race([
        this.#second.promise,
        new Promise((resolve) => setTimeout(resolve, 1000)),
      ]);
    }
    await super.write(definition, record);
    if (!isFirst) this.#second.resolve();
  }
}

Deno.test("a slow server that becomes ready is recorded as ready, even on a slow disk", async () => {
  await using temp = await makeTempDir();
  const [spec] = await serverSpecs([pluginEntry(scripted("late"))], {
    cwd: temp.path,
    callSeconds: 60,
  });
  if (spec === undefined) throw new Error("There is no spec");
  const cache = new SlowCache(temp.path);
  const server = new McpServer({
    spec,
    home: temp.path,
    cache,
    connection: () => Promise.resolve({ headers: () => Promise.resolve({}) }),
    spawn: { guard: undefined, environment: () => Promise.resolve(Deno.env.toObject()) },
    questions: { roots: () => [] },
    onChange: () => {},
  });
  const overdue = server.overdue(1);
  await cache.begun.promise;
  await Promise.all([overdue, server.start()]);
  assertEquals(cache.read(spec.definition).failure, undefined);
  assertEquals(cache.read(spec.definition).listing?.tools.length, server.listing.tools.length);
  await server.close();
});

Deno.test("the record of a server has no arguments, address or environment", async () => {
  const secret = "k3y9f8a7b6c5d4e3f2a1";
  const { command, args } = scriptedServer();
  const own = { command, args: [...args, `--token=${secret}`], env: { KEY: secret } };
  await using mcp = await openMcp([
    { name: "local", ...own },
    { name: "far", type: "http", url: `http://127.0.0.1:9/mcp?key=${secret}`, headers: { "X-Key": secret } },
  ]);
  await mcp.servers.start();
  assertEquals(mcp.servers.status.map(({ state }) => state), ["ready", "failed"]);
  for (const directory of ["cache/mcp", "logs/mcp"]) {
    for (const { name } of Deno.readDirSync(`${mcp.home}/${directory}`)) {
      const text = await Deno.readTextFile(`${mcp.home}/${directory}/${name}`);
      assert(text.length > 0 && !text.includes(secret), `${directory}/${name}: ${text}`);
    }
  }
});

Deno.test("unknown tool names in the configuration are reported with a similar name", async () => {
  const more = {
    enabled_tools: ["echo", "size"],
    disabled_tools: ["sizes"],
    tool_timeout_seconds: { wait: 1 },
  };
  await using mcp = await openMcp([scripted("s", {}, more)]);
  assertEquals(mcp.servers.status[0]?.problems, []);
  await mcp.servers.start();
  assertEquals(mcp.servers.status[0]?.problems, [
    "disabled_tools names sizes, which it does not offer; did you mean size?",
  ]);
});

Deno.test("only a server that was too slow is known to the next run", async () => {
  await using temp = await makeTempDir();
  const home = `${temp.path}/home`;
  const entries = [scripted("slow", { startSeconds: 30 }, { cwd: temp.path })];
  {
    await using mcp = await openMcp(entries, { home });
    void mcp.servers.start();
  }
  await using second = await openMcp(entries, { home });
  assertEquals(second.servers.unknown().length, 1);
  await second.servers.named("slow").overdue(5);
  await using third = await openMcp(entries, { home });
  assertEquals(third.servers.unknown().length, 0);
});
