import { ReasonixError } from "../core/mod.ts";
import { type CreateOptions, createProvider, listModels } from "./create_provider.ts";
import { ProviderFailure } from "./errors.ts";

export interface CheckFailure {
  /** False when no server answered at all. */
  readonly reached: boolean;
  readonly auth: boolean;
  readonly message: string;
}

export interface ProviderCheck {
  /** Undefined when it has no list. */
  readonly models?: readonly string[];
  readonly failure?: CheckFailure;
}

type CheckOptions = Omit<CreateOptions, "model" | "record">;

/** Lists the models of an endpoint; without a list, asks `model` for a word. Server errors do not reject. */
export async function checkProvider(
  options: CheckOptions & { readonly model?: string },
  signal: AbortSignal,
): Promise<ProviderCheck> {
  const { model, ...rest } = options;
  try {
    return { models: await listModels(rest, signal) };
  } catch (error) {
    if (!(error instanceof ReasonixError) || error.exit === "config") throw error;
    const failure = failureOf(error);
    if (!failure.reached || failure.auth) return { failure };
    if (model === undefined) return lacksList(error) ? {} : { failure };
    const refused = await askOneWord({ ...rest, model }, signal);
    return refused ? { failure: refused } : {};
  }
}

/** Asks a model for one word; undefined when it begins to answer. */
export async function askOneWord(
  options: Omit<CreateOptions, "record">,
  signal: AbortSignal,
): Promise<CheckFailure | undefined> {
  const enough = new AbortController();
  const provider = await createProvider({ ...options, entry: { ...options.entry, max_attempts: 1 } });
  const request = {
    prefix: { system: "Answer with one word.", tools: [] },
    messages: [{ role: "user", content: "Say OK." }] as const,
  };
  try {
    for await (const chunk of provider.stream(request, AbortSignal.any([signal, enough.signal]))) {
      if (chunk.type !== "error") return undefined;
      const { kind, message } = chunk.error;
      const late = kind === "aborted" && signal.aborted;
      return {
        reached: !late && kind !== "connection" && kind !== "timeout",
        auth: kind === "auth",
        message: late ? `Provider "${options.entry.name}" did not answer in time` : message,
      };
    }
    return undefined;
  } finally {
    enough.abort();
  }
}

function failureOf(error: ReasonixError): CheckFailure {
  const kind = error.cause instanceof ProviderFailure ? error.cause.error.kind : "connection";
  return { reached: kind !== "connection", auth: kind === "auth", message: error.message };
}

/** Statuses of a server without such a page. */
const NO_PAGE: readonly (number | undefined)[] = [404, 405, 501];

function lacksList({ cause }: ReasonixError): boolean {
  if (!(cause instanceof ProviderFailure)) return false;
  return NO_PAGE.includes(cause.error.status) || cause.error.kind === "protocol";
}
