import type { SamplingMessage } from "@modelcontextprotocol/client";
import { type Cost, costOf, type Message, type NewEvent, ReasonixError, type Usage } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import type { McpQuestions } from "./connection.ts";
import type { ElicitationHandler } from "./elicitation.ts";
import type { Provider } from "../provider/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

export interface SamplingHandler extends Pick<ElicitationHandler, "asker" | "texts" | "notify"> {
  readonly provider: Provider;
  /** Tokens, in and out, that each server may use in this run. */
  readonly budget: number;
  readonly record: (event: NewEvent) => void | Promise<void>;
}

const CHARS_PER_TOKEN = 4;
const MAX_OUTPUT = 4_000;
const EXCERPT = 600;

/** Lets servers use the session's model: with the user's approval, without tools, within a budget. */
export class Sampling {
  readonly #handler: SamplingHandler;
  readonly #used = new Map<string, number>();
  readonly #granted = new Set<string>();

  constructor(handler: SamplingHandler) {
    this.#handler = handler;
  }

  readonly sample: NonNullable<McpQuestions["sample"]> = async (server, params, signal) => {
    const { provider } = this.#handler;
    const name = oneLine(server, 60);
    const messages = params.messages.map((each) => messageOf(each, provider.model.vision));
    const system = params.systemPrompt ?? "";
    const input = Math.ceil(
      messages.reduce((sum, { content }) => sum + content.length, system.length) / CHARS_PER_TOKEN,
    );
    const used = this.#used.get(server) ?? 0;
    const room = this.#handler.budget - used - input;
    const output = Math.min(params.maxTokens, MAX_OUTPUT, room, provider.model.maxOutputTokens ?? Infinity);
    await this.#permitted(
      server,
      { name, input, output, system, last: messages.at(-1)?.content ?? "" },
      signal,
    );
    const reply = await this.#listen({ system, messages, output }, signal);
    const spent = reply.usage
      ? reply.usage.inputTokens + reply.usage.outputTokens
      : input + Math.ceil(reply.text.length / CHARS_PER_TOKEN);
    this.#used.set(server, (this.#used.get(server) ?? 0) + spent);
    await this.#record(name, messages, reply);
    if (reply.problem !== undefined) throw new ReasonixError(reply.problem);
    return {
      role: "assistant",
      model: provider.model.id,
      content: { type: "text", text: reply.text },
      stopReason: reply.cut ? "maxTokens" : "endTurn",
    };
  };

  /** Throws a ReasonixError, which the server reads, without the user's approval. */
  async #permitted(server: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const { asker, notify, budget } = this.#handler;
    const texts = await this.#handler.texts();
    const { name, output } = wanted;
    if (output <= 0) {
      notify(texts.overBudget(name, this.#used.get(server) ?? 0, budget));
      throw new ReasonixError("The budget for messages of the model is used up");
    }
    if (!asker) {
      notify(texts.nobodyAllows(name));
      throw new ReasonixError("No user is available to allow a message of the model");
    }
    if (this.#granted.has(server)) return;
    const options = [{ label: texts.once }, { label: texts.session }, { label: texts.decline }];
    const question = questionText(wanted, texts);
    const [answer] = await asker.ask([{ question, options, multiple: false }], signal) ?? [];
    signal.throwIfAborted();
    if (answer?.[0] === texts.session) this.#granted.add(server);
    else if (answer?.[0] !== texts.once) throw new ReasonixError("The user declined");
  }

  async #listen({ system, messages, output }: Request, signal: AbortSignal): Promise<Reply> {
    const reply: Reply = { text: "", started: performance.now() };
    const request = { prefix: { system, tools: [] }, messages, maxOutputTokens: output };
    for await (const chunk of this.#handler.provider.stream(request, signal)) {
      if (chunk.type === "text") reply.text += chunk.text;
      else if (chunk.type === "usage") reply.usage = chunk.usage;
      else if (chunk.type === "done") reply.cut = chunk.reason === "length";
      else if (chunk.type === "error") reply.problem = chunk.error.message;
      else if (chunk.type === "retry" && chunk.discarded) reply.text = "";
    }
    signal.throwIfAborted();
    return reply;
  }

  /** Records the messages and the usage in the session. */
  async #record(server: string, messages: readonly Message[], reply: Reply): Promise<void> {
    const { record, provider, notify } = this.#handler;
    const { usage, text } = reply;
    if (text === "" && !usage) return;
    const cost: Cost | undefined = usage && costOf(usage, provider.model.price);
    const content = `[for MCP server ${server}]\n${messages.at(-1)?.content ?? ""}`;
    // Both at once: a reply of the agent must not come in between.
    const asked = record({ type: "message.user", content, origin: "summary" });
    const answered = record({
      type: "message.end",
      step: 0,
      model: provider.model.id,
      content: text,
      ...(reply.problem === undefined ? {} : { interrupted: true }),
      ...(usage ? { usage } : {}),
      ...(cost ? { cost } : {}),
      durationMs: Math.round(performance.now() - reply.started),
    });
    await Promise.all([asked, answered]);
    const texts = await this.#handler.texts();
    if (usage) notify(texts.wrote(server, usage.inputTokens, usage.outputTokens), "info");
  }
}

interface Wanted {
  readonly name: string;
  readonly input: number;
  readonly output: number;
  readonly system: string;
  readonly last: string;
}

interface Request {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly output: number;
}

interface Reply {
  text: string;
  readonly started: number;
  usage?: Usage;
  cut?: boolean;
  problem?: string;
}

function questionText({ name, input, output, system, last }: Wanted, texts: Texts["mcp_questions"]): string {
  return [
    texts.wantsMessage(name, input, output),
    ...(system === "" ? [] : [texts.systemOf(oneLine(system, EXCERPT))]),
    texts.lastOf(oneLine(last, EXCERPT)),
  ].join("\n");
}

function messageOf({ role, content }: SamplingMessage, vision: boolean): Message {
  const blocks = Array.isArray(content) ? content : [content];
  const texts = blocks.map((block) => block.type === "text" ? block.text : `[${block.type}]`);
  if (role === "assistant") return { role, content: texts.join("\n") };
  const images = blocks.flatMap((block) =>
    vision && block.type === "image" ? [{ mime: block.mimeType, data: block.data }] : []
  );
  return { role: "user", content: texts.join("\n"), ...(images.length > 0 ? { images } : {}) };
}
