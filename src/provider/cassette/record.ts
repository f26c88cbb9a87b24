import { type Chunk, errorMessage, type Message, message, type Prefix, usageError } from "../../core/mod.ts";
import { type ModelRequest, type Provider, wrapProvider } from "../provider.ts";
import { ConversationStates } from "../wire/request_buffer.ts";
import {
  CASSETTE_VERSION,
  type CassetteHeader,
  type Exchange,
  type RecordedChunk,
  type RecordedRequest,
  Template,
  toolPrints,
} from "./format.ts";

export interface RecordOptions {
  /** Cassette to write; an existing file is replaced. */
  readonly file: string;
  readonly values?: Readonly<Record<string, string>>;
}

interface Progress {
  readonly conversation: number;
  prefix: Prefix | undefined;
}

export async function recordProvider(provider: Provider, options: RecordOptions): Promise<Provider> {
  const recorder = new Recorder(options);
  await recorder.start(provider);
  return wrapProvider(provider, {
    stream: (request, signal) => recorder.stream(provider, request, signal),
  });
}

class Recorder {
  readonly #options: RecordOptions;
  readonly #template: Template;
  readonly #progress = new ConversationStates<Progress>();
  #conversations = 0;

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#template = new Template(options.values ?? {});
  }

  async start(provider: Provider): Promise<void> {
    const { file, values = {} } = this.#options;
    const header: CassetteHeader = {
      cassette: CASSETTE_VERSION,
      provider: provider.name,
      model: provider.model.id,
      values: Object.keys(values),
    };
    try {
      await Deno.writeTextFile(file, `${JSON.stringify(header)}\n`);
    } catch (error) {
      throw usageError(
        message`Cannot record to ${file}: ${errorMessage(error)}`,
        message`name a file in an existing, writable directory`,
      );
    }
  }

  async *stream(provider: Provider, request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void> {
    const { conversation, recorded } = this.#request(request);
    const reply: RecordedChunk[] = [];
    let ended = false;
    let written = false;
    const write = () => {
      written = true;
      return this.#write({ conversation, request: recorded, reply, ...(ended ? {} : { hang: true }) });
    };
    try {
      for await (const chunk of provider.stream(request, signal)) {
        const stopped = chunk.type === "error" && chunk.error.kind === "aborted";
        ended = !stopped && (chunk.type === "error" || chunk.type === "done");
        if (!stopped && chunk.type !== "call_progress") reply.push(this.#template.hideChunk(chunk));
        const problem = ended || stopped ? await write() : undefined;
        yield problem ?? chunk;
      }
    } finally {
      if (!written) await write();
    }
  }

  /** The part of the request that its conversation did not have before. */
  #request({ messages, prefix }: ModelRequest): { conversation: number; recorded: RecordedRequest } {
    const known = this.#progress.get(messages);
    const begin = () => known ?? { conversation: this.#conversations++, prefix: undefined };
    const { state, added } = this.#progress.read(messages, begin);
    const isNewPrefix = state.prefix !== prefix;
    state.prefix = prefix;
    const recorded: RecordedRequest = {
      from: messages.length - added.length,
      ...(isNewPrefix ? { system: this.#template.hide(prefix.system), tools: toolPrints(prefix.tools) } : {}),
      messages: added.map((message: Message) => this.#template.message(message)),
    };
    return { conversation: state.conversation, recorded };
  }

  async #write(exchange: Exchange): Promise<Chunk | undefined> {
    try {
      await Deno.writeTextFile(this.#options.file, `${JSON.stringify(exchange)}\n`, { append: true });
      return undefined;
    } catch (error) {
      const message = `Could not write the cassette ${this.#options.file}: ${errorMessage(error)}`;
      return { type: "error", error: { kind: "protocol", message } };
    }
  }
}
