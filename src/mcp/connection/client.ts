import type { Client } from "@modelcontextprotocol/client";
import { errorMessage } from "../../core/mod.ts";
import { after } from "../../util/timer.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import type { CallClock } from "./call_clock.ts";
import { explain } from "./explain.ts";
import { answerQuestions, type McpQuestions } from "./questions.ts";
import { loadSdk } from "./sdk.ts";
import type { Era } from "../listing/listing_cache.ts";
import type { McpServerSpec } from "../server_spec.ts";
import type { ServerLog } from "../server_log.ts";

export interface ClientOptions {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly questions: McpQuestions;
  /** The server says that a list of it is another one now. */
  readonly changed: () => void;
}

/** What is known of a server's era before it is asked; `answered`: it answered the probe, only too late. */
export type EraHint = Era | "answered" | undefined;

/**
 * Time that a server may take to answer the probe before it is greeted in the older way: servers of the older
 * era may say nothing at all. It includes the start of its process, which may have to be fetched first, so an
 * answer that comes later counts too.
 */
const PROBE_MS = 5_000;
/** The longest the SDK can wait. */
export const NO_LIMIT_MS = 2 ** 31 - 1;

/** Changes of lists that come within this time are one. */
const SETTLE_MS = 50;

/** Characters of a log message of a server that are kept. */
const MAX_SAID = 2_000;

/** The SDK's client of one server, not connected: what it says of itself, and how it answers questions. */
export async function createClient(
  options: ClientOptions,
  { clock, hint }: { clock: CallClock; hint: EraHint },
): Promise<Client> {
  const { Client } = await loadSdk();
  const { spec, questions, log, changed } = options;
  const client = new Client({ name: "reasonix", version: VERSION }, {
    capabilities: {
      roots: {},
      ...(questions.elicit ? { elicitation: { form: {}, url: {} } } : {}),
      ...(questions.sample ? { sampling: {} } : {}),
    },
    versionNegotiation: {
      mode: "auto",
      probe: { timeoutMs: probeMs(spec, hint) },
    },
    // Results are shown to the model as they are; a schema that cannot be read must not stop a call.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  });
  onListChange(client, changed);
  answerQuestions(client, { server: spec.name, questions, clock });
  client.setNotificationHandler("notifications/message", ({ params: { level, logger = "", data } }) => {
    const said = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    log.note(oneLine(`${[logger, level].filter(Boolean).join(" ")}: ${said}`, MAX_SAID));
  });
  client.onerror = (error) => log.note(errorMessage(explain(error, { spec })));
  return client;
}

/** Reports changes of the lists that the server says it reports, several in a row once. */
function onListChange(client: Client, changed: () => void): void {
  let cancel = () => {};
  const soon = (list: "tools" | "prompts" | "resources") => {
    if (!client.getServerCapabilities()?.[list]?.listChanged) return;
    cancel();
    cancel = after(SETTLE_MS, changed);
  };
  client.setNotificationHandler("notifications/tools/list_changed", () => soon("tools"));
  client.setNotificationHandler("notifications/prompts/list_changed", () => soon("prompts"));
  client.setNotificationHandler("notifications/resources/list_changed", () => soon("resources"));
}

/** The lists whose changes a server of the newer era reports on request; undefined where there is none. */
export function reportedLists(client: Client): Parameters<Client["listen"]>[0] | undefined {
  if (client.getProtocolEra() !== "modern") return undefined;
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  const lists = {
    ...(tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
  };
  return Object.keys(lists).length > 0 ? lists : undefined;
}

function probeMs({ startupMs }: McpServerSpec, hint: EraHint): number {
  const startup = startupMs || NO_LIMIT_MS;
  if (hint === "answered") return startup;
  // What is left of the limit is enough for a greeting in the older way.
  return Math.min(hint === "modern" ? NO_LIMIT_MS : PROBE_MS, startup / 3);
}
