import { type KnownServer, loadServerWork, redactorOf, type RunPaths } from "../../assembly/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import { formatLocation, writtenText } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";

/** An MCP server in the report. */
export interface ServerReport {
  readonly name: string;
  /** In a few words: what it offers, or why it is not used. */
  readonly state: string;
  readonly place?: string;
}

/** Starts that take longer keep whoever waits for them. */
const SLOW_MS = 5_000;

interface Asked {
  readonly online: boolean;
  readonly texts: Texts["doctor"];
}

/** Reports the MCP servers: from what is remembered, or with `online` from a start of each. */
export async function serverPart(
  paths: RunPaths,
  loaded: LoadedConfig,
  { online, texts }: Asked,
  problems: string[],
): Promise<ServerReport[]> {
  const { knownServers } = await loadServerWork();
  const redact = redactorOf(loaded);
  const known = await knownServers(paths, loaded, { start: online });
  return known.map((server) => {
    const { place, status } = server;
    const name = oneLine(server.name, 60);
    const failed = status?.state === "failed" || status?.state === "needs-auth";
    const state = oneLine(redact(stateOf(server, texts)), 400);
    if (online && failed) problems.push(`${name}: ${state}`);
    return { name, state, ...(place === undefined ? {} : { place: terminalSafe(formatLocation(place)) }) };
  });
}

function stateOf({ name, state, why = "", remedy, status }: KnownServer, texts: Texts["doctor"]): string {
  if (state === "off") return texts.serverOff;
  if (!status) return remedy === undefined ? why : texts.withRemedy(why, remedy);
  const { greetedMs = 0, listedMs = 0, detail, lastFailure, isKnown } = status;
  if (status.state === "failed" || status.state === "needs-auth") {
    return texts.withRemedy(
      texts.serverBroken(writtenText(status.said, detail ?? status.state)),
      texts.tryServer(name),
    );
  }
  if (lastFailure !== undefined) {
    return texts.withRemedy(
      texts.serverFailed(writtenText(status.lastFailureSaid, lastFailure)),
      texts.tryServer(name),
    );
  }
  if (!isKnown) return texts.serverUnknown;
  const offers = texts.serverOffers(status.tools, status.prompts, status.resources);
  if (status.state !== "ready") return offers;
  const ms = greetedMs + listedMs;
  const ready = texts.serverReady(offers, ms);
  return ms > SLOW_MS ? texts.withRemedy(ready, texts.serverSlow) : ready;
}
