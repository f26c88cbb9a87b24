import type { CallToolResult } from "@modelcontextprotocol/client";
import { buildAccessScope, gateOptions, SandboxSession } from "../../../src/assembly/mod.ts";
import { EXIT, ReasonixError } from "../../../src/core/mod.ts";
import type { OfferedTool } from "../../../src/mcp/mod.ts";
import { createGate } from "../../../src/permission/mod.ts";
import { preparedCall } from "../../../src/tool/mod.ts";
import { isRecord, parseJson } from "../../../src/util/json.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import type { CliContext } from "../../terminal/process.ts";
import { openNamed, type OpenServers } from "./open.ts";

interface CallFlags {
  readonly json?: boolean;
}

/** Calls a tool of a server by hand, as the model would, and prints what comes back. */
export async function call(
  this: CliContext,
  flags: CallFlags,
  ...[name, tool, text = "{}"]: [server: string, tool: string, args?: string]
): Promise<void> {
  const args = argumentsOf(text === "-" ? await new Response(Deno.stdin.readable).text() : text);
  await openNamed(this, { name }, async (open) => {
    const server = open.servers.named(name);
    await server.start();
    const life = new AbortController();
    const result = await server.use(async (connection) => {
      const offered = toolOf(open, name, tool);
      await requireAllowed(open, offered.name, args);
      return await connection.call(offered.info.name, args, {
        signal: life.signal,
        limitMs: server.spec.callMs(offered.info.name),
        progress: (line) => this.process.stderr.write(`· ${line.trimEnd()}\n`),
      });
    }, life.signal);
    const { stdout } = this.process;
    if (flags.json) stdout.json(result);
    else stdout.write(resultText(result));
    if (result.isError) this.process.exitCode = EXIT.failed;
  });
}

function argumentsOf(text: string): Record<string, unknown> {
  const args = parseJson(text);
  if (isRecord(args)) return args;
  throw new ReasonixError(
    `Cannot use ${JSON.stringify(text.slice(0, 80))} as arguments: it is no JSON object`,
    {
      exit: "usage",
      remedy: `write them in quotes, such as '{"text": "hello"}', or - to read them from standard input`,
    },
  );
}

function toolOf({ servers }: OpenServers, server: string, tool: string): OfferedTool {
  const offered = servers.offers();
  const found = offered.find(({ info, name }) => info.name === tool || name === tool);
  if (found) return found;
  const names = offered.map(({ info }) => info.name);
  const near = suggestNames(tool, names);
  const there = names.length === 0 ? "it has none" : `its tools are ${names.slice(0, 30).join(", ")}`;
  throw new ReasonixError(`The MCP server "${server}" offers no tool "${tool}"`, {
    exit: "usage",
    remedy: near.length > 0 ? `did you mean ${near.join(" or ")}?` : there,
  });
}

/** A person who types the call needs not be asked about it; what the rules refuse stays refused. */
async function requireAllowed(
  { paths, loaded, servers }: OpenServers,
  name: string,
  args: Record<string, unknown>,
): Promise<void> {
  const scope = buildAccessScope(paths, loaded.config, undefined);
  const jail = new SandboxSession({ paths, loaded, workspace: scope.workspace, unconfined: scope.full });
  const gate = createGate(
    gateOptions({ paths, loaded, scope, openJail: jail.open, onAsk: undefined, record: () => {} }),
  );
  try {
    const tool = servers.tools().find((each) => each.name === name);
    if (!tool) throw new TypeError("The server offers the tool");
    const prepared = preparedCall({ id: "call", name, arguments: JSON.stringify(args) }, tool, args);
    const { decision, reason, rule, origin } = await gate.explain(prepared);
    if (decision !== "deny") return;
    const place = origin === undefined ? "" : ` (${origin})`;
    const why = rule === undefined ? reason.replace(/^blocked: /, "") : `the rule ${rule}${place} forbids it`;
    throw new ReasonixError(`Cannot call ${name}: ${why}`, {
      exit: "blocked",
      remedy: "change the rule, or call another tool",
    });
  } finally {
    await jail.close();
  }
}

/** The texts of a result; other content is named. */
function resultText({ content, structuredContent }: CallToolResult): string {
  const texts = content.map((block): string => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
      case "audio":
        return `[${block.type}: ${block.mimeType}, ${block.data.length} characters of base64; --json prints them]`;
      case "resource_link":
        return `[resource ${block.uri}]`;
      case "resource":
        return "text" in block.resource
          ? block.resource.text
          : `[resource ${block.resource.uri}; --json prints it]`;
    }
  });
  if (texts.length === 0 && structuredContent !== undefined) {
    texts.push(JSON.stringify(structuredContent, null, 2));
  }
  const text = texts.filter((each) => each !== undefined).join("\n");
  return text === "" ? "(no output)\n" : `${text}\n`;
}
