import type { Client } from "@modelcontextprotocol/client";
import { errorMessage } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { VERSION } from "../../util/version.ts";
import type { CallClock } from "./call_clock.ts";
import { explain } from "./explain.ts";
import { answerQuestions, type McpQuestions } from "./questions.ts";
import { loadSdk } from "./sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import type { ServerLog } from "../server_log.ts";

export interface ClientOptions {
  readonly spec: McpServerSpec;
  readonly log: ServerLog;
  readonly questions: McpQuestions;
  /** The server says that a list of it is another one now. */
  readonly changed: () => void;
}

/**
 * Time that a server may take to answer the probe; older ones may say nothing at all. It includes the start
 * of its process, which may have to be fetched first.
 */
const PROBE_MS = 10_000;

/** Characters of a log message of a server that are kept. */
const MAX_SAID = 2_000;

/** The SDK's client of one server, not connected: what it says of itself, and how it answers questions. */
export async function createClient(options: ClientOptions, clock: CallClock): Promise<Client> {
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
      // What is left of a short limit is enough for a greeting in the older way.
      probe: { timeoutMs: Math.min(PROBE_MS, (spec.startupMs || Infinity) / 3) },
    },
    // Results are shown to the model as they are; a schema that cannot be read must not stop a call.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
    listChanged: {
      tools: { autoRefresh: false, debounceMs: 50, onChanged: changed },
      prompts: { autoRefresh: false, debounceMs: 50, onChanged: changed },
      resources: { autoRefresh: false, debounceMs: 50, onChanged: changed },
    },
  });
  answerQuestions(client, { server: spec.name, questions, clock });
  client.setNotificationHandler("notifications/message", ({ params: { level, logger = "", data } }) => {
    const said = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    log.note(oneLine(`${[logger, level].filter(Boolean).join(" ")}: ${said}`, MAX_SAID));
  });
  client.onerror = (error) => log.note(errorMessage(explain(error, { spec })));
  return client;
}
