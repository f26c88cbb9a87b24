/** The scripted servers of the other tests follow the protocol unless a test requires otherwise. */
import { assert, assertEquals } from "../../support/assert.ts";
import { type Behaviour, type Message, NEW_VERSION, OLD_VERSION } from "../../support/mcp/behaviour.ts";
import { startHttpMcpServer } from "../../support/mcp/http_mcp_server.ts";
import { readRecord, scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const META = { "io.modelcontextprotocol/protocolVersion": NEW_VERSION };
const PROBE: Message = { jsonrpc: "2.0", id: 0, method: "server/discover", params: { _meta: META } };
const WELCOME: Message = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: OLD_VERSION, capabilities: {} },
};
const ECHO: Message = {
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "echo", arguments: { text: "世界" } },
};

/** Sends messages to a server's standard input, closes it, and returns the parsed answers. */
async function talk(behaviour: Behaviour, messages: readonly Message[]): Promise<Message[]> {
  const { command, args } = scriptedServer(behaviour);
  const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(messages.map((line) => `${JSON.stringify(line)}\n`).join("")));
  await writer.close();
  const output = new TextDecoder().decode((await child.output()).stdout);
  return output.split("\n").flatMap((line) => line.startsWith('{"jsonrpc"') ? [JSON.parse(line)] : []);
}

const codes = (answers: readonly Message[]) => answers.map(({ id, error }) => [id, error?.code]);

Deno.test("a scripted server answers requests of its protocol versions and rejects others", async () => {
  assertEquals(codes(await talk({ era: "old" }, [PROBE, WELCOME])), [[0, -32601], [1, undefined]]);
  assertEquals(codes(await talk({ era: "new" }, [PROBE, WELCOME])), [[0, undefined], [1, -32022]]);
  assertEquals(codes(await talk({}, [PROBE, WELCOME])), [[0, undefined], [1, undefined]]);
});

Deno.test("a scripted server records requests, and is noisy, silent or dead on request", async () => {
  await using temp = await makeTempDir();
  const record = `${temp.path}/record`;
  const answers = await talk({ era: "old", noise: true, silentOn: ["initialize"], record }, [WELCOME, ECHO]);
  assertEquals(answers.filter(({ id }) => id !== 99999).map(({ result }) => result), [
    { content: [{ type: "text", text: "世界" }] },
  ]);
  assert(answers.length > 1, "it made no noise");
  const noted = (await readRecord(record)).map(({ what, method }) => method ?? what);
  assertEquals(noted, ["start", "initialize", "tools/call", "end of input"]);
  assertEquals(await talk({ diesOn: "tools/call" }, [ECHO, WELCOME]), []);
});

Deno.test("a scripted HTTP server has sessions in the old protocol and resumes a broken stream", async () => {
  await using server = startHttpMcpServer({ era: "old", breaksOn: "echo" });
  const post = (message: Message, headers: Record<string, string> = {}) =>
    fetch(server.url, { method: "POST", body: JSON.stringify(message), headers });
  const welcome = await post(WELCOME);
  const session = { "mcp-session-id": welcome.headers.get("mcp-session-id") ?? "" };
  assertEquals((await welcome.json()).result.protocolVersion, OLD_VERSION);
  assertEquals(await post(PROBE).then((response) => response.json()).then(({ error }) => error.code), -32601);
  const broken = await (await post(ECHO, session)).text();
  const last = /^id: (.+)$/m.exec(broken)?.[1] ?? "";
  const rest = await (await fetch(server.url, { headers: { ...session, "last-event-id": last } })).text();
  assertEquals(JSON.parse(/^data: (.+)$/m.exec(rest)?.[1] ?? "").result.content[0].text, "世界");
  assertEquals(server.sessions, 1);
  server.forgetSessions();
  const gone = await post(ECHO, session);
  assertEquals([gone.status, await gone.text()], [404, "Session not found"]);
  assertEquals(server.methods, ["initialize", "server/discover", "tools/call", "tools/call"]);
});
