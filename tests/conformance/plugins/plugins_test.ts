/** Each plugin of the list in its process, behind the bare client of the SDK. */
import * as z from "zod";
import { PLUGINS } from "../../../plugins/plugins.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { startModelServer } from "../../support/model_server.ts";
import { openPlugin, type PluginStage } from "../../support/plugin_client.ts";
import { answer, startRawServer } from "../../support/raw_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const METHOD_NOT_FOUND = -32601;

interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  /** The text of its result. */
  readonly text: RegExp;
  readonly stage?: Pick<PluginStage, "settings" | "providers" | "providerHosts">;
}

/** One call of each plugin. `site` and `model` are ports of servers on loopback. */
function callOf(plugin: string, site: number, model: number): Call {
  const calls: Readonly<Record<string, Call>> = {
    documents: { name: "read_document", arguments: { path: "a.html" }, text: /\n1\t## Kept backups$/ },
    example: { name: "echo", arguments: { text: "Kept" }, text: /^Kept$/ },
    map: { name: "outline", arguments: { path: "a.ts" }, text: /a\.ts:1 export function keep/ },
    persona: {
      name: "persona_review",
      arguments: { content: "The plan", personas: ["Ada"] },
      text: /^## Ada\n\nAda likes it$/,
      stage: {
        providers: [
          { name: "mock", kind: "openai", base_url: `http://127.0.0.1:${model}/v1`, models: ["m"] },
        ],
        providerHosts: [`127.0.0.1:${model}`],
      },
    },
    rag: {
      name: "rag_update",
      arguments: { index: "docs" },
      text: /^docs: 1 file, 1 chunk/,
      stage: { settings: { indexes: { docs: { path: "." } } } },
    },
    web: {
      name: "web_open",
      arguments: { url: `http://127.0.0.1:${site}/page` },
      text: /\n1\tKept backups$/,
      stage: { settings: { allow_private: ["127.0.0.1"] } },
    },
  };
  const call = calls[plugin];
  if (!call) throw new Error(`The plugin ${plugin} has no call here`);
  return call;
}

for (const { name } of PLUGINS) {
  Deno.test(`the plugin ${name} answers a bare client, refuses bad arguments, and ends with its input`, async () => {
    await using temp = await makeTempDir();
    await using site = startRawServer({ page: answer("<p>Kept backups</p>") });
    await using model = startModelServer([], {
      check: { prefix: false },
      fallback: () => ({ text: "Ada likes it" }),
    });
    const [workspace, home] = [`${temp.path}/work`, `${temp.path}/home`];
    await Deno.mkdir(workspace);
    await Deno.mkdir(home);
    await Deno.writeTextFile(`${workspace}/a.html`, "<h1>Kept backups</h1>");
    await Deno.writeTextFile(`${workspace}/a.md`, "# Kept backups\n");
    await Deno.writeTextFile(`${workspace}/a.ts`, "export function keep() {}\n");
    const { text, stage, ...call } = callOf(name, site.port, Number(new URL(model.url).port));
    const plugin = await openPlugin(name, { workspace, home, ...stage });
    try {
      const { client } = plugin;
      assertEquals(client.getServerVersion()?.name, name);
      const { tools } = await client.listTools();
      assert(tools.length > 0);
      for (const tool of tools) {
        assert(tool.description !== undefined && tool.annotations !== undefined, tool.name);
        assertEquals(tool.inputSchema.type, "object");
        const required = tool.inputSchema.required ?? [];
        // No argument of a tool is an empty table.
        const bad = Object.fromEntries(required.map((key) => [key, {}]));
        const answer = client.callTool({ name: tool.name, arguments: bad });
        if (required.length === 0) await answer;
        else assert(await answer.then(({ isError }) => isError === true, () => true), tool.name);
      }
      const unknown = client.callTool({ name: "no_such_tool", arguments: {} });
      assert(await unknown.then(({ isError }) => isError === true, () => true));

      // Canceled as soon as it is sent.
      const stop = new AbortController();
      const { transport } = client;
      assert(transport !== undefined);
      const send = transport.send.bind(transport);
      transport.send = (message, options) => {
        const sent = send(message, options);
        if ("method" in message && message.method === "tools/call") stop.abort();
        return sent;
      };
      const canceled = client.callTool(call, { signal: stop.signal });
      assertEquals(await canceled.then(() => "done", () => "canceled"), "canceled");
      transport.send = send;

      const { isError, content: [first] } = await client.callTool(call);
      assertEquals([isError ?? false, first?.type], [false, "text"], JSON.stringify(first));
      assertMatch(first?.type === "text" ? first.text : "", text);
      const other = client.request({ method: "no/such" }, z.unknown());
      assertEquals(await other.then(() => undefined, ({ code }) => code), METHOD_NOT_FOUND);
      assertEquals((await client.listTools()).tools.length, tools.length);
    } finally {
      await plugin.client.close();
    }
    // The transport closes the input, and reports the end of the process.
    await plugin.closed;
    assertEquals(plugin.log(), "");
  });
}

Deno.test("the list returns the permissions of a process for settings of any shape", () => {
  const facts = { workspace: "/w", state: "/s", home: "/h", providerHosts: [] };
  const values = [null, 1, "x", [null], [1], { a: null }, { a: 1 }, { a: { path: 1 } }];
  const keys = ["indexes", "allow_private", "search", "searxng_url", "key_env"];
  for (const { name, permissions } of PLUGINS) {
    for (const value of values) {
      for (const key of keys) {
        const { read = [], write = [] } = permissions({ ...facts, settings: { [key]: value } });
        const known = [...read, ...write].filter((path) => /^\/[wsh](?:\/|$)/.test(path));
        assert(read.length + write.length - known.length <= 1, `${name}: ${[...read]}`);
      }
    }
  }
});
