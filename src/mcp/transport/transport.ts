import type { AuthProvider, Transport } from "@modelcontextprotocol/client";
import { ReasonixError } from "../../core/mod.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { ServerLog } from "../server_log.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { AnswerFilter, type Refused } from "./answer_filter.ts";
import { httpTransport } from "./http_transport.ts";
import { serverSpawner, type SpawnContext } from "./server_process.ts";
import { StdioTransport } from "./stdio_transport.ts";

export interface TransportOptions {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly spawn: SpawnContext;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth?: AuthProvider | undefined;
}

/** The way to one server, not started. */
export interface ServerTransport {
  readonly transport: Transport;
  /** How its process ended; undefined while it runs, and where there is none. */
  readonly ended: () => Deno.CommandStatus | undefined;
  /** The probe of the server's era was answered after the server had been greeted in the older way. */
  readonly answeredLate: () => boolean;
  /** Entries of lists that were kept from the SDK since the last time. */
  readonly refused: () => Refused;
  /** When the server wants to be asked again, in seconds, by the status of its answer. */
  readonly waits: ReadonlyMap<number, number>;
}

/** Makes the transport that a server asks for. Throws a ReasonixError for one that there is not. */
export async function openTransport(options: TransportOptions): Promise<ServerTransport> {
  const { spec, log, spawn, headers, auth } = options;
  const filter = new AnswerFilter((await loadSdk()).isSpecType);
  const refused = () => filter.take();
  const waits = new Map<number, number>();
  if (spec.type === "stdio") {
    const transport = new StdioTransport({ spawn: await serverSpawner(spec, spawn), log, filter });
    return {
      transport,
      ended: () => transport.ended,
      answeredLate: () => transport.answeredLate,
      refused,
      waits,
    };
  }
  if (spec.type === "http") {
    const notNow = (status: number, seconds: number) => void waits.set(status, seconds);
    const transport = await httpTransport({ spec, headers, auth, filter, notNow });
    return { transport, ended: () => undefined, answeredLate: () => false, refused, waits };
  }
  throw new ReasonixError(`The transport "sse" is an older one that is not supported`, {
    remedy: `set type = "http" for it: most servers speak streamable HTTP at the same or a near address`,
  });
}
