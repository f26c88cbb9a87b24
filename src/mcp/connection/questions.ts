import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from "@modelcontextprotocol/client";

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
