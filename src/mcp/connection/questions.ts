import type {
  Client,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from "@modelcontextprotocol/client";
import type { CallClock } from "./call_clock.ts";

/** A directory that a server may look at. */
export interface McpRoot {
  /** `file://…` */
  readonly uri: string;
  readonly name: string;
}

/** Answers what servers ask the host. Each part is absent where nobody can answer; servers are told so. */
export interface McpQuestions {
  readonly roots: () => readonly McpRoot[];
  /** Asks the person: a form, or to open an address. */
  readonly elicit?: (
    server: string,
    params: ElicitRequestParams,
    signal: AbortSignal,
  ) => Promise<ElicitResult>;
  /** Lets the session's model write a message for a server, after the person agreed. */
  readonly sample?: (
    server: string,
    params: CreateMessageRequestParams,
    signal: AbortSignal,
  ) => Promise<CreateMessageResult>;
}

/** Has a connection answer its server; time that a question takes is not charged to calls. */
export function answerQuestions(
  client: Client,
  { server, questions, clock }: { server: string; questions: McpQuestions; clock: CallClock },
): void {
  const { roots, elicit, sample } = questions;
  client.setRequestHandler("roots/list", () => ({ roots: [...roots()].map((root) => ({ ...root })) }));
  if (elicit) {
    client.setRequestHandler(
      "elicitation/create",
      (request, context) => clock.paused(() => elicit(server, request.params, context.mcpReq.signal)),
    );
  }
  if (sample) {
    client.setRequestHandler(
      "sampling/createMessage",
      (request, context) => clock.paused(() => sample(server, request.params, context.mcpReq.signal)),
    );
  }
}
