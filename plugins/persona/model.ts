/** Runs of a model: through a granted provider, or as messages that the model of the client writes. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type CreateMessageRequestParams,
  inputRequired,
  type InputRequiredResult,
  type McpServer,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { type GrantedProvider, type PluginContext, PluginError } from "../common/plugin.ts";
import type { Call } from "../common/tool.ts";

export interface Run {
  /** Names the run in one call of the tool. */
  readonly key: string;
  readonly system: string;
  readonly text: string;
}

const Outcome = z.union([z.strictObject({ text: z.string() }), z.strictObject({ error: z.string() })]);
type Outcome = z.infer<typeof Outcome>;

/** What a client of the newer revision returns with its answers. */
const State = z.object({ asked: z.array(z.string()), outcomes: z.array(z.tuple([z.string(), Outcome])) });
const Message = z.object({
  content: z.object({ type: z.literal("text"), text: z.string() }),
  stopReason: z.string().optional(),
});

const AT_ONCE = 4;
const MAX_TOKENS = 1_500;
/** Requests of a client wait for a person. */
const CLIENT_MS = 3_600_000;
const REMEDY = 'set providers = ["NAME"] in the entry of this plugin, or use a client that answers sampling';
/** Asks the host to report a failure as a result; an error would end the call with all its runs. */
const FAILURE_AS_RESULT = { "reasonix/failure": "result" };

/**
 * The runs of one call of a tool. A client of the newer revision gets a few requests as the result and
 * repeats the call with its answers and the outcomes so far, which decide nothing but the text of the result.
 */
export class ModelRuns {
  readonly #outcomes: Map<string, Outcome>;
  /** Helps where no run succeeds. */
  readonly remedy: string | undefined;
  readonly #model: string | undefined;
  /** Absent: the client repeats the call. */
  readonly #ask: ((run: Run) => Promise<Outcome>) | undefined;

  constructor(
    server: McpServer,
    { providers: [first, ...others] }: PluginContext,
    { request, signal }: Call,
    model: string | undefined,
  ) {
    this.#model = model;
    this.#outcomes = resumed(request);
    this.remedy = first ? undefined : REMEDY;
    if (first) {
      const [provider, id] = chosen([first, ...others], first, model);
      this.#ask = async ({ system, text }) => {
        const { chat } = await import("../common/providers.ts");
        const messages = [{ role: "system", content: system }, { role: "user", content: text }] as const;
        return { text: await chat(provider, id, messages, signal) };
      };
      return;
    }
    const envelope = request.envelope as Readonly<Record<string, { sampling?: unknown }>> | undefined;
    const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
    if (capabilities?.sampling === undefined) {
      throw new PluginError(
        "Cannot run a model: the client answers no sampling, and no provider is granted",
        REMEDY,
      );
    }
    if (envelope) return;
    this.#ask = async (run) =>
      outcomeOf(await request.requestSampling(this.#params(run), { signal, timeout: CLIENT_MS }));
  }

  /** Fills in the outcomes; resolves to a result if the client must answer first. */
  async run(runs: readonly Run[], progress: Call["progress"]): Promise<InputRequiredResult | undefined> {
    const open = runs.filter(({ key }) => !this.#outcomes.has(key));
    const ask = this.#ask;
    if (!ask) return open.length === 0 ? undefined : this.#required(open.slice(0, AT_ONCE));
    let done = 0;
    const next = async () => {
      for (let run = open.shift(); run; run = open.shift()) {
        const outcome = await ask(run).catch((error: Error) => ({ error: error.message }));
        this.#outcomes.set(run.key, outcome);
        done++;
        progress(`${run.key}: ${"text" in outcome ? "done" : "failed"}`);
      }
    };
    const timer = setInterval(() => progress(`${done} of ${runs.length} done`), 1000);
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    } finally {
      clearInterval(timer);
    }
  }

  outcomeOf(key: string): Outcome {
    return this.#outcomes.get(key) ?? { error: "it was not run" };
  }

  #params({ system, text }: Run): CreateMessageRequestParams {
    return {
      systemPrompt: system,
      messages: [{ role: "user", content: { type: "text", text } }],
      maxTokens: MAX_TOKENS,
      ...(this.#model === undefined ? {} : { modelPreferences: { hints: [{ name: this.#model }] } }),
    };
  }

  #required(runs: readonly Run[]): InputRequiredResult {
    const state = { asked: runs.map(({ key }) => key), outcomes: [...this.#outcomes] };
    const inputRequests = Object.fromEntries(runs.map((run) => {
      const params = { ...this.#params(run), metadata: FAILURE_AS_RESULT };
      return [run.key, inputRequired.createMessage(params)];
    }));
    return inputRequired({ inputRequests, requestState: JSON.stringify(state) });
  }
}

/** `model` may begin with the name of a granted provider. */
function chosen(
  providers: readonly GrantedProvider[],
  first: GrantedProvider,
  model: string | undefined,
): [GrantedProvider, string] {
  const named = providers.find(({ name }) => model?.startsWith(`${name}/`));
  const provider = named ?? first;
  const models = Array.isArray(provider.models) ? provider.models : [];
  const id = named ? model?.slice(named.name.length + 1) : model;
  const found = id ?? provider.default ?? provider.model ?? models[0];
  if (typeof found === "string" && found !== "") return [provider, found];
  throw new PluginError(`The provider ${provider.name} names no model`, "set `model` in its entry");
}

function resumed({ requestState, inputResponses = {} }: Call["request"]): Map<string, Outcome> {
  const text = requestState<string>();
  if (text === undefined) return new Map();
  const { asked, outcomes } = State.parse(JSON.parse(text));
  return new Map([...outcomes, ...asked.map((key) => [key, outcomeOf(inputResponses[key])] as const)]);
}

function outcomeOf(answer: unknown): Outcome {
  const message = Message.safeParse(answer);
  if (!message.success) return { error: "the client did not answer with a text" };
  const { content: { text }, stopReason } = message.data;
  if (stopReason === "error") return { error: text };
  return text.trim() === "" ? { error: "the model answered nothing" } : { text: text.trim() };
}
