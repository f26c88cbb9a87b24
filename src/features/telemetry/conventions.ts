/** Attributes that spans and metrics share, by the conventions that docs/telemetry.md names. */
import type { Attributes, AttributeValue } from "@opentelemetry/api";
import type { ObservedSession, OperationOf } from "./operations.ts";

/** Settings of what is exported. */
export interface ContentOptions {
  /** Prompts, answers, arguments and results are exported. */
  readonly content: boolean;
  readonly redact: (text: string) => string;
}

/** Values of attributes; undefined: not known. */
export type Values = Readonly<Record<string, AttributeValue | undefined>>;

/** The known values, their texts redacted. */
export function attributesOf(values: Values, redact: (text: string) => string): Attributes {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? redact(value) : value]]
    ),
  );
}

/** Names of vendors in the conventions, where they are others than those that `reasonix setup` gives. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
};

export type ModelRequest = OperationOf<"request" | "retry">;

/** Milliseconds of a request or an attempt at it, and until its first chunk came. */
export function timesOf(request: ModelRequest) {
  const { kind, at, span, sent, first } = request;
  return {
    durationMs: Math.max(0, at - (kind === "retry" ? sent : span.from)),
    firstChunkMs: first === undefined ? undefined : Math.max(0, first - sent),
  };
}

/** Reports whether a call was executed: it was neither refused nor skipped. */
export function isExecuted({ end }: OperationOf<"call">): boolean {
  return end !== undefined && (end.outcome === "ok" || end.outcome === "error" || end.durationMs > 0);
}

/** The model of a request. */
export function modelValues({ provider, model }: ModelRequest): Values {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": PROVIDER_NAMES[provider] ?? provider,
    "gen_ai.request.model": model,
  };
}

/** The server of a request, where it is that of its session. */
export function serverValues({ provider, session }: ModelRequest): Values {
  const server = provider === session.provider ? session.server : undefined;
  return { "server.address": server?.address, "server.port": server?.port };
}

/** The agent that works in a session; the user's own one has a name, too. */
export function agentName({ agent = "reasonix" }: ObservedSession): string {
  return agent;
}
