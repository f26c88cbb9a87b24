import { type Chunk, errorMessage, type Message, type Prefix, ReasonixError } from "../../core/mod.ts";
import type { Clock } from "../kind.ts";
import { type ModelRequest, type Provider, wrapProvider } from "../provider.ts";
import {
  CASSETTE_VERSION,
  type CassetteHeader,
  type Exchange,
  type IgnoreRule,
  type Looseness,
  type RecordedChunk,
  type RecordedRequest,
  Template,
  toolPrints,
} from "./format.ts";

export interface RecordOptions {
  /** Cassette to write; an existing file is replaced. */
  readonly file: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly loose?: readonly Looseness[];
  readonly ignore?: readonly IgnoreRule[];
  /** Keeps the time between chunks when given. */
  readonly clock?: Clock;
  readonly delays?: boolean;
}

interface Progress {
  readonly conversation: number;
  count: number;
  last: Message | undefined;
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
  readonly #progress = new WeakMap<readonly Message[], Progress>();
  #conversations = 0;

  constructor(options: RecordOptions) {
    this.#options = options;
    this.#template = new Template(options.values ?? {});
  }

  async start(provider: Provider): Promise<void> {
    const { file, values = {}, loose, ignore } = this.#options;
    const header: CassetteHeader = {
      cassette: CASSETTE_VERSION,
      provider: provider.name,
      model: provider.model.id,
      values: Object.keys(values),
      ...(loose ? { loose } : {}),
      ...(ignore ? { ignore } : {}),
    };
    try {
      await Deno.writeTextFile(file, `${JSON.stringify(header)}\n`);
    } catch (error) {
      throw new ReasonixError(`Cannot record to ${file}: ${errorMessage(error)}`, {
        exit: "usage",
        remedy: "name a file in an existing, writable directory",
      });
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
      let before = this.#now();
      for await (const chunk of provider.stream(request, signal)) {
        const now = this.#now();
        const stopped = chunk.type === "error" && chunk.error.kind === "aborted";
        ended = !stopped && (chunk.type === "error" || chunk.type === "done");
        if (!stopped) reply.push(delayed(this.#template.hideChunk(chunk), now - before));
        before = now;
        const problem = ended || stopped ? await write() : undefined;
        yield problem ?? chunk;
      }
    } finally {
      if (!written) await write();
    }
  }

  #now(): number {
    return this.#options.delays ? this.#options.clock?.now() ?? Date.now() : 0;
  }

  /** The part of the request that its conversation did not have before. */
  #request({ messages, prefix }: ModelRequest): { conversation: number; recorded: RecordedRequest } {
    let progress = this.#progress.get(messages);
    if (progress === undefined) {
      progress = { conversation: this.#conversations++, count: 0, last: undefined, prefix: undefined };
      this.#progress.set(messages, progress);
    }
    const continues = progress.count <= messages.length && messages[progress.count - 1] === progress.last;
    const from = continues ? progress.count : 0;
    const recorded: RecordedRequest = {
      from,
      ...(progress.prefix === prefix
        ? {}
        : { system: this.#template.hide(prefix.system), tools: toolPrints(prefix.tools) }),
      messages: messages.slice(from).map((message) => this.#template.message(message)),
    };
    progress.count = messages.length;
    progress.last = messages.at(-1);
    progress.prefix = prefix;
    return { conversation: progress.conversation, recorded };
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

function delayed(chunk: RecordedChunk, ms: number): RecordedChunk {
  return ms >= 1 ? { ...chunk, delay: Math.round(ms) } : chunk;
}
