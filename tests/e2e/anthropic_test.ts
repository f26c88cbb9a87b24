import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";
import { anthropicWire, type BlockAnswer } from "../support/wires/anthropic.ts";

/** The configurations of the vendor's page, pointed at a server of the same wire on this machine. */
function configsOfPage(url: string): readonly string[] {
  const page = Deno.readTextFileSync(new URL("../../docs/providers/anthropic.md", import.meta.url));
  return [...page.matchAll(/^```toml\n(.*?)^```/gms)].map(([, text = ""]) =>
    text.replaceAll(/https:\/\/[^/"]+/g, url)
  );
}

const KEYS = {
  ANTHROPIC_API_KEY: "sk-ant-1",
  DEEPSEEK_API_KEY: "k2",
  MOONSHOT_API_KEY: "k3",
  ZAI_API_KEY: "k4",
};

Deno.test("the configurations of the page about the Messages API work unchanged", async () => {
  for (const style of ["adaptive", "budget"] as const) {
    await using server = startModelServer([], {
      fallback: (request) => ({ text: `ok ${new Headers(request.headers).get("x-api-key")}` }),
      check: { prefix: false },
      wire: { ...anthropicWire({ thinking: style }), isCompletion: (path) => path.endsWith("/v1/messages") },
    });
    for (const config of configsOfPage(server.url)) {
      await using world = await makeWorld(config);
      for (const [, name = ""] of config.matchAll(/^name = "(.*)"$/gm)) {
        if ((name === "deepseek-messages") !== (style === "budget")) continue;
        const { code, stdout, stderr } = await world.run(["run", "--model", name, "hello"], { env: KEYS });
        assertEquals(code, 0, `${name}: ${stderr}`);
        assertMatch(stdout, name === "kimi-messages" ? /^ok null/ : /^ok \S+/, name);
      }
    }
    assert(server.requests.length > 0);
  }
});

Deno.test("a run with the Messages API reports unsent settings and the reason of a refusal", async () => {
  const declined: BlockAnswer = {
    text: "I ",
    stop: { stop_reason: "refusal", stop_details: { category: "bio", explanation: "Not this one." } },
  };
  await using server = startModelServer([{ text: "Hello" }, declined as Turn], {
    wire: anthropicWire(),
  });
  await using world = await makeWorld(
    `[[providers]]\nname = "claude"\nkind = "anthropic"\nbase_url = "${server.url}"\nmodel = "claude-opus-4-8"\n` +
      'facts = "anthropic"\ntemperature = 0.1\n',
  );
  const first = await world.run(["run", "hello"]);
  assertEquals([first.stdout, first.code], ["Hello\n", 0], first.stderr);
  assertStringIncludes(first.stderr, "temperature is not sent: claude-opus-4-8 would refuse the request");
  const second = await world.run(["run", "-c", "and now?"]);
  assertEquals(second.code === 0, false);
  assertStringIncludes(second.stderr, "declines to give it (bio: Not this one.)");
});

Deno.test("context --exact asks the server for the count of the next request, and nothing else does", async () => {
  const counts: Record<string, unknown>[] = [];
  await using counter = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/v1/messages/count_tokens") return new Response("no such page", { status: 404 });
      counts.push(await request.json());
      return Response.json({ input_tokens: 4321 });
    },
  );
  const config = (kind: string) =>
    `[[providers]]\nname = "claude"\nkind = "${kind}"\nbase_url = "http://127.0.0.1:${counter.addr.port}"\n` +
    'model = "claude-opus-4-8"\nfacts = "anthropic"\n';
  await using world = await makeWorld(config("anthropic"));
  const report = JSON.parse((await world.run(["context", "--json", "--exact"])).stdout);
  assertEquals([report.tokens, report.measure], [4321, "reported"]);
  assertEquals(Object.keys(counts[0] ?? {}).sort(), ["messages", "model", "system", "thinking", "tools"]);
  await world.run(["context"]);
  assertEquals(counts.length, 1);
  await using other = await makeWorld(config("openai"));
  const refused = await other.run(["context", "--exact"]);
  assertStringIncludes(refused.stderr, 'Provider "claude" of kind "openai" counts no tokens beforehand');
  assertEquals(refused.code === 0, false);
});
