/** The protocol of a scripted MCP server, by hand, for any transport. */
import { type Behaviour, type Message, NEW_VERSION, OLD_VERSION } from "./behaviour.ts";
import { callTool, InputNeeded } from "./call_tool.ts";
import { PNG, PROMPTS, RESOURCES, TEMPLATES, toolsOf } from "./offer.ts";

type Params = Readonly<Record<string, unknown>>;
type Send = (message: Message) => void;

const HEAD = "io.modelcontextprotocol/";
const INFO = { name: "scripted", version: "1.0.0" };
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: false },
  completions: {},
};

class Refusal extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

/** One connection, or all requests of the new era over HTTP. */
export class Session {
  readonly #behaviour: Behaviour;
  readonly #notify: Send;
  readonly #die: () => void;
  readonly #running = new Map<unknown, AbortController>();
  readonly #asked = new Map<unknown, (answer: Message) => void>();
  readonly #listeners = new Map<unknown, Send>();
  #late = false;
  #isOld = false;
  readonly #turns = new Map<string, number>();
  #questions = 0;

  /** `notify` sends notifications in the old era; `die` ends the process. */
  constructor(behaviour: Behaviour, notify: Send, die: () => void) {
    this.#behaviour = behaviour;
    this.#notify = notify;
    this.#die = die;
  }

  /** Handles one message; its responses go to `send`. Settles after the answer, if there is one. */
  async receive(message: Message, send: Send): Promise<void> {
    const { id, method, params = {} } = message;
    if (method === undefined) return this.#asked.get(id)?.(message);
    if (this.#behaviour.diesOn === method) return this.#die();
    if (method === "notifications/cancelled") return this.cancel(params.requestId);
    if (id === undefined || id === null) return;
    if (this.#behaviour.silentOn?.includes(method)) return await new Promise(() => {});
    if (method === "subscriptions/listen") return this.#listen(message, send);
    try {
      const result = await this.#answer(message, send);
      if (result !== undefined) send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (error instanceof InputNeeded) return send({ jsonrpc: "2.0", id, result: error.question });
      const { code, data } = error instanceof Refusal ? error : { code: -32603, data: undefined };
      const text = error instanceof Error ? error.message : String(error);
      send({ jsonrpc: "2.0", id, error: { code, message: text, ...(data === undefined ? {} : { data }) } });
    } finally {
      this.#running.delete(id);
    }
  }

  /** Ends a request without an answer. */
  cancel(id: unknown): void {
    this.#listeners.delete(id);
    this.#running.get(id)?.abort();
  }

  /** Changes the list of tools with a notification. */
  change(): void {
    this.#late = !this.#late;
    const method = "notifications/tools/list_changed";
    if (this.#isOld) this.#notify({ jsonrpc: "2.0", method });
    for (const [id, send] of this.#listeners) {
      send({ jsonrpc: "2.0", method, params: { _meta: { [`${HEAD}subscriptionId`]: id } } });
    }
  }

  async #answer(message: Message, send: Send): Promise<unknown> {
    const { method = "", params = {} } = message;
    const { era = "both" } = this.#behaviour;
    const isNew = `${HEAD}protocolVersion` in ((params._meta ?? {}) as Params);
    if (isNew && era === "old") throw new Refusal(-32601, `Method not found: ${method}`);
    if (!isNew && era === "new") {
      const data = { supported: [NEW_VERSION], requested: params.protocolVersion ?? OLD_VERSION };
      throw new Refusal(-32022, "Unsupported protocol version", data);
    }
    if (!isNew) this.#isOld = true;
    if (method === "initialize") return this.#welcome(params);
    if (method === "ping") return {};
    const result = method === "tools/call"
      ? await this.#call(message, send, isNew)
      : this.#read(method, params);
    if (!isNew || "resultType" in result) return result;
    const meta = { _meta: { ...result._meta as Params | undefined, [`${HEAD}serverInfo`]: INFO } };
    return { ...result, ...meta, resultType: "complete", ttlMs: 0, cacheScope: "private" };
  }

  #welcome({ protocolVersion }: Params): Params {
    const known = [OLD_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"].includes(String(protocolVersion));
    return {
      protocolVersion: known ? protocolVersion : OLD_VERSION,
      capabilities: CAPABILITIES,
      serverInfo: INFO,
      instructions: "Scripted for tests.",
    };
  }

  #read(method: string, params: Params): Params {
    switch (method) {
      case "server/discover":
        return {
          supportedVersions: [NEW_VERSION],
          capabilities: CAPABILITIES,
          instructions: "Scripted for tests.",
        };
      case "tools/list":
        return this.#page("tools", toolsOf(this.#behaviour, this.#late), params);
      case "prompts/list":
        return this.#page("prompts", PROMPTS, params);
      case "resources/list":
        return this.#page("resources", RESOURCES, params);
      case "resources/templates/list":
        return this.#page("resourceTemplates", TEMPLATES, params);
      case "prompts/get":
        return promptOf(params);
      case "resources/read":
        return resourceOf(String(params.uri));
      case "completion/complete":
        return completionOf(params);
      case "logging/setLevel":
        return {};
    }
    throw new Refusal(-32601, `Method not found: ${method}`);
  }

  #page(key: string, entries: readonly unknown[], { cursor }: Params): Params {
    const { pageSize = Infinity, endlessPages, shuffled } = this.#behaviour;
    if (endlessPages) return { [key]: entries.slice(0, 1), nextCursor: String(Number(cursor ?? 0) + 1) };
    if (cursor === undefined) this.#turns.set(key, (this.#turns.get(key) ?? 0) + 1);
    const turn = shuffled ? (this.#turns.get(key) ?? 0) % entries.length : 0;
    const ordered = [...entries.slice(turn), ...entries.slice(0, turn)];
    const from = Number(cursor ?? 0);
    const next = from + pageSize < ordered.length ? { nextCursor: String(from + pageSize) } : {};
    return { [key]: ordered.slice(from, from + pageSize), ...next };
  }

  async #call({ id, params = {} }: Message, send: Send, isNew: boolean): Promise<Params> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    if (this.#behaviour.logs) {
      const said = { level: "warning", logger: "disk", data: { full: "\x1b[31m世界" } };
      send({ jsonrpc: "2.0", method: "notifications/message", params: said });
    }
    const { progressToken } = (params._meta ?? {}) as Params;
    return await callTool(String(params.name), (params.arguments ?? {}) as Params, {
      signal: controller.signal,
      progress: (progress, total, message) => {
        if (progressToken === undefined) return;
        const values = { progressToken, progress, total, message };
        send({ jsonrpc: "2.0", method: "notifications/progress", params: values });
      },
      ask: (method, question) =>
        isNew ? askAgain(method, question, params) : this.#ask(method, question, send),
      change: () => this.change(),
      die: this.#die,
    });
  }

  async #ask(method: string, params: Params, send: Send): Promise<unknown> {
    const id = `question-${++this.#questions}`;
    const answer = new Promise<Message>((resolve) => this.#asked.set(id, resolve));
    send({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answer;
    return error === undefined ? result : { refused: error };
  }

  #listen({ id, params = {} }: Message, send: Send): void {
    this.#listeners.set(id, send);
    const notifications = params.notifications ?? {};
    const _meta = { [`${HEAD}subscriptionId`]: id };
    const method = "notifications/subscriptions/acknowledged";
    send({ jsonrpc: "2.0", method, params: { notifications, _meta } });
  }
}

/** The new era: the answer comes with the same call again. */
function askAgain(method: string, question: Params, params: Params): Promise<unknown> {
  const answers = (params.inputResponses ?? {}) as Params;
  if ("question" in answers) return Promise.resolve(answers.question);
  return Promise.reject(
    new InputNeeded({
      resultType: "input_required",
      inputRequests: { question: { method, params: question } },
      requestState: "asked once",
    }),
  );
}

function promptOf({ name, arguments: args = {} }: Params): Params {
  const values = args as Params;
  if (name !== "greet" && name !== "plain") throw new Refusal(-32602, `Unknown prompt: ${name}`);
  if (name === "greet" && typeof values.name !== "string") {
    throw new Refusal(-32602, "Missing argument: name");
  }
  const text = name === "greet" ? `Greet ${values.name}, ${values.tone ?? "warmly"}.` : "A plain prompt.";
  return { description: "Scripted", messages: [{ role: "user", content: { type: "text", text } }] };
}

function resourceOf(uri: string): Params {
  if (uri === "scripted://picture") return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
  const page = /^scripted:\/\/page\/(.+)$/.exec(uri)?.[1];
  if (page === undefined) throw new Refusal(-32002, "Resource not found", { uri });
  return { contents: [{ uri, mimeType: "text/plain", text: `page ${page}\n` }] };
}

function completionOf({ argument }: Params): Params {
  const { value } = argument as { value: string };
  const values = ["warmly", "coldly", "Wörld"].filter((known) => known.startsWith(value));
  return { completion: { values, total: values.length, hasMore: false } };
}
