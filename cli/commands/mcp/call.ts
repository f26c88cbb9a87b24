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
  ...[name = "", tool = "", ...words]: string[]
): Promise<void> {
  const given = await givenArguments(words);
  await openNamed(this, { name }, async (open) => {
    const server = open.servers.named(name);
    await server.start();
    const life = new AbortController();
    const result = await server.use(async (connection) => {
      const offered = toolOf(open, name, tool);
      const args = given(offered.info.schema);
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

type Schema = OfferedTool["info"]["schema"];

const PAIR = /^([^\s={}[\]"]+)=(.*)$/s;

/** Reads the arguments: one JSON object, `-` for standard input, or `key=value` by the types of the tool. */
async function givenArguments(
  words: readonly string[],
): Promise<(schema: Schema) => Record<string, unknown>> {
  const [first = "{}", ...others] = words;
  if (others.length === 0 && !PAIR.test(first)) {
    const args = argumentsOf(first === "-" ? await new Response(Deno.stdin.readable).text() : first);
    return () => args;
  }
  const pairs = words.map((word): readonly [key: string, value: string] => {
    const [, key, value] = PAIR.exec(word) ?? [];
    if (key === undefined || value === undefined) throw unusable(word, "it is no key=value");
    return [key, value];
  });
  const twice = pairs.find(([key], at) => pairs.findIndex((pair) => pair[0] === key) < at);
  if (twice) throw unusable(twice.join("="), `${JSON.stringify(twice[0])} is given twice`);
  return ({ properties }) =>
    Object.fromEntries(
      pairs.map((
        [key, value],
      ) => [key, valueOf(key, value, isRecord(properties) ? properties[key] : undefined)]),
    );
}

/** The value of a word: text where the tool takes text, else what it means as JSON. */
function valueOf(key: string, text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.includes("string")) return text;
  const value = parseJson(text);
  if (value !== undefined) return value;
  if (types.length === 0) return text;
  throw unusable(`${key}=${text}`, `${key} is to be ${types.join(" or ")}`);
}

/** The types that a value may have, as far as its schema names them. */
function typesOf(schema: unknown): readonly unknown[] {
  if (!isRecord(schema)) return [];
  const { type, enum: values, anyOf, oneOf } = schema;
  const named = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const listed = Array.isArray(values) ? values.map((value) => typeof value) : [];
  const branches = [anyOf, oneOf].flatMap((list) => Array.isArray(list) ? list.flatMap(typesOf) : []);
  return [...named, ...listed, ...branches];
}

function argumentsOf(text: string): Record<string, unknown> {
  const args = parseJson(text);
  if (isRecord(args)) return args;
  throw unusable(text, "it is no JSON object");
}

function unusable(text: string, why: string): ReasonixError {
  return new ReasonixError(`Cannot use ${JSON.stringify(text.slice(0, 80))} as arguments: ${why}`, {
    exit: "usage",
    remedy:
      `write text=hello count=3, or JSON in quotes, such as '{"text": "hello"}', or - to read that from ` +
      "standard input",
  });
}

function toolOf({ servers }: OpenServers, server: string, tool: string): OfferedTool {
  const offered = servers.offers();
  const found = offered.find(({ info, name, alias }) => [info.name, name, alias].includes(tool));
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
