import type { AuthProvider, isSpecType, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { message, ReasonixError } from "../../core/mod.ts";
import { loadSdk } from "../sdk.ts";
import type { ServerLog } from "../server_log.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { httpTransport } from "./http.ts";
import { serverSpawner, type SpawnContext, StdioTransport } from "./stdio.ts";
import { isRecord } from "../../util/json.ts";

export interface TransportOptions {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly spawn: SpawnContext;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth?: AuthProvider | undefined;
}

/** A transport that is not started. */
export interface ServerTransport {
  readonly transport: Transport;
  readonly ended: () => Deno.CommandStatus | undefined;
  /** The probe of the era was answered after the older greeting. */
  readonly answeredLate: () => boolean;
  /** Returns the entries of lists that were filtered since the last time. */
  readonly refused: () => Refused;
  /** Retry-After in seconds, by status. */
  readonly waits: ReadonlyMap<number, number>;
}

/** Creates the transport of a server. Throws a ReasonixError for an unsupported one. */
export async function openTransport(options: TransportOptions): Promise<ServerTransport> {
  const { spec, log, spawn, headers, auth } = options;
  const filter = new AnswerFilter((await loadSdk()).isSpecType);
  const accept = (message: JSONRPCMessage) => filter.accept(message);
  const waits = new Map<number, number>();
  const shared = { refused: () => filter.take(), waits };
  if (spec.type === "stdio") {
    const transport = new StdioTransport({ spawn: await serverSpawner(spec, spawn), log, accept });
    return { transport, ended: () => transport.ended, answeredLate: () => transport.answeredLate, ...shared };
  }
  if (spec.type === "http") {
    const notNow = (status: number, seconds: number) => void waits.set(status, seconds);
    const transport = await httpTransport({ spec, headers, auth, accept, notNow });
    return { transport, ended: () => undefined, answeredLate: () => false, ...shared };
  }
  throw new ReasonixError(message`The transport "sse" is an older one that is not supported`, {
    remedy:
      message`set type = "http" for it: most servers speak streamable HTTP at the same or a similar address`,
  });
}

/** Entries of lists for which the SDK would refuse the whole list. */
export type Refused = Readonly<Record<keyof typeof LISTS, readonly unknown[]>>;

const LISTS = {
  tools: "Tool",
  prompts: "Prompt",
  resources: "Resource",
  resourceTemplates: "ResourceTemplate",
} as const;

const MAX_SHOWN = 2_000;

/**
 * Filters parts for which the SDK would refuse a whole answer: sets wrong entries of lists aside, and turns
 * unknown content into text.
 */
class AnswerFilter {
  readonly #isSpecType: typeof isSpecType;
  #refused = noneRefused();

  constructor(guards: typeof isSpecType) {
    this.#isSpecType = guards;
  }

  accept(message: JSONRPCMessage): JSONRPCMessage {
    if (!("result" in message) || !isRecord(message.result)) return message;
    let result: Record<string, unknown> = message.result;
    for (const key of Object.keys(LISTS) as (keyof typeof LISTS)[]) {
      const list = result[key];
      if (!Array.isArray(list)) continue;
      const refused = list.filter((entry) => !this.#isSpecType[LISTS[key]](entry));
      if (refused.length === 0) continue;
      this.#refused[key].push(...refused);
      result = { ...result, [key]: list.filter((entry) => !refused.includes(entry)) };
    }
    const { content } = result;
    if (Array.isArray(content) && !content.every((block) => this.#isSpecType.ContentBlock(block))) {
      result = { ...result, content: content.map((block) => this.#block(block)) };
    }
    return result === message.result ? message : { ...message, result };
  }

  take(): Refused {
    const refused = this.#refused;
    this.#refused = noneRefused();
    return refused;
  }

  #block(block: unknown): unknown {
    if (this.#isSpecType.ContentBlock(block)) return block;
    const json = JSON.stringify(block) ?? "";
    const shown = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN).toWellFormed()}… [cut]` : json;
    return { type: "text", text: `[content of an unknown kind: ${shown}]` };
  }
}

function noneRefused(): Record<keyof typeof LISTS, unknown[]> {
  return { tools: [], prompts: [], resources: [], resourceTemplates: [] };
}
