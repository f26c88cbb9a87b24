/**
 * An editor: the official client of the Agent Client Protocol on the streams of the program. Every line in
 * both directions is kept and checked with the schema that the SDK ships.
 */
import {
  client as clientApp,
  type ClientCapabilities,
  type ClientContext,
  type ClientRequestHandlersByMethod,
  type InitializeResponse,
  methods,
  type PromptRequest,
  PROTOCOL_VERSION,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import SCHEMA from "@agentclientprotocol/sdk/schema" with { type: "json" };
import { Validator } from "@cfworker/json-schema";
import { type AcpOptions as ServerOptions, serveAcp } from "../../src/frontend/acp/mod.ts";
import { FRONTENDS, Output } from "../../src/frontend/mod.ts";
import type { World } from "./program.ts";

// deno-lint-ignore no-explicit-any
type Message = any;

interface TapeLine {
  readonly from: "client" | "agent";
  readonly message: Message;
}

export interface AcpOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A module that is evaluated before the program. */
  readonly preload?: string;
  readonly capabilities?: ClientCapabilities;
  /** Answers to requests of the agent, by method; others are answered with "method not found". */
  readonly on?: Partial<ClientRequestHandlersByMethod>;
  /** False: the test sends the first request. */
  readonly initialize?: false;
  /** False: lines are kept and not checked, for long runs. */
  readonly check?: false;
}

/** A server at the other end of two pipes. */
interface Served {
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  /** The exit code and what the server has logged, once it has ended. */
  readonly ended: Promise<{ readonly code: number; readonly stderr: string }>;
}

/** Starts `reasonix acp` with a client. Lines that break the schema are thrown by `end`. */
export async function startAcp(world: World, options: AcpOptions = {}) {
  const { args = [], env, cwd, preload } = options;
  const child = await world.spawn(["acp", ...args], {
    stdin: "open",
    ...(env ? { env } : {}),
    ...(cwd === undefined ? {} : { cwd }),
    ...(preload === undefined ? {} : { preload }),
  });
  const stderr = new Response(child.stderr).text();
  const ended = Promise.all([child.status, stderr]).then(([{ code }, text]) => ({ code, stderr: text }));
  const { stdin, stdout } = child;
  return { child, ...await connectAcp({ stdin, stdout, ended }, { ...options, directory: world.dir }) };
}

/** Serves a client in this process. */
export async function serveHere(
  server: Omit<ServerOptions, "input" | "out" | "inLanguage" | "signal" | "lines">,
  options: AcpOptions & { readonly directory: string },
) {
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const output = new TransformStream<Uint8Array, Uint8Array>();
  const writer = output.writable.getWriter();
  let stalled: PromiseWithResolvers<void> | undefined;
  const out = new Output({
    async write(bytes) {
      await stalled?.promise;
      await writer.write(bytes.slice());
      return bytes.length;
    },
  });
  const ended = serveAcp({
    ...server,
    input: input.readable,
    out,
    lines: FRONTENDS.lines,
    inLanguage: (error) => Promise.resolve(error),
    signal: new AbortController().signal,
  }).then(async (isCut) => {
    await out.flush();
    await writer.close();
    return { code: isCut ? 143 : 0, stderr: "" };
  });
  return {
    ...await connectAcp({ stdin: input.writable, stdout: output.readable, ended }, options),
    /** Stops or resumes reading. */
    stall(on: boolean): void {
      stalled?.resolve();
      stalled = on ? Promise.withResolvers() : undefined;
    },
    /** Characters that wait for the client. */
    waiting: () => out.waiting,
  };
}

async function connectAcp(
  { stdin, stdout, ended }: Served,
  options: AcpOptions & { readonly directory: string },
) {
  const { capabilities = {}, on = {} } = options;
  const tape = new Tape(options.check !== false);
  const input = stdin.getWriter();
  const encoder = new TextEncoder();
  const raw = (text: string | Uint8Array) =>
    input.write(typeof text === "string" ? encoder.encode(text) : text);
  const closing = new AbortController();
  const text = stdout.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>, {
    signal: closing.signal,
  });
  const stream = {
    readable: text.pipeThrough(new LineStream()).pipeThrough(
      new TransformStream<string, Message>({
        transform: (line, to) => {
          const message = tape.add("agent", line);
          if (message !== undefined && message.id !== null) to.enqueue(message);
        },
        flush: () => tape.end(),
      }),
    ),
    writable: new WritableStream<Message>({
      write: async (message) => {
        tape.add("client", JSON.stringify(message));
        await raw(`${JSON.stringify(message)}\n`);
      },
    }),
  };
  const app = clientApp({ name: "test" });
  for (const [method, handler] of Object.entries(on)) app.onRequest(method as never, handler as never);
  const connection = app.connect(stream);
  const agent: ClientContext = connection.agent;
  const initialized: InitializeResponse | undefined = options.initialize === false
    ? undefined
    : await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "test", version: "1" },
      clientCapabilities: capabilities,
    });
  return {
    agent,
    initialized,
    tape,
    raw,
    /** Updates of a session so far, or of all. */
    updates: (sessionId?: string): SessionUpdate[] =>
      tape.lines.filter(({ message: { method, params } }) =>
        method === methods.client.session.update &&
        (sessionId === undefined || params.sessionId === sessionId)
      ).map(({ message }) => message.params.update),
    /** The answer of a request that fails. */
    async error(method: string, params: unknown): Promise<{ code: number; message: string; data?: unknown }> {
      const answer = await agent.request(method as never, params as never).then(
        (result) => ({ code: 0, message: JSON.stringify(result) }),
        ({ code, message, data }) => ({ code, message, data }),
      );
      return answer;
    },
    /** Opens a session in a directory, by default that of the options. */
    async newSession(cwd = options.directory): Promise<string> {
      return (await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
    },
    /** Sends a prompt; resolves with the stop reason. */
    async prompt(sessionId: string, text: string): Promise<StopReason> {
      const prompt: PromptRequest = { sessionId, prompt: [{ type: "text", text }] };
      return (await agent.request(methods.agent.session.prompt, prompt)).stopReason;
    },
    /** Closes the pipe that the program writes to. */
    async closeOutput(): Promise<void> {
      closing.abort();
      await connection.closed;
    },
    /** Ends the input and waits for the program. */
    async end(): Promise<{ code: number; stderr: string }> {
      await input.close().catch(() => {});
      const end = await ended;
      await connection.closed;
      if (tape.problems.length > 0) throw new Error(`Lines break the protocol:\n${tape.problems.join("\n")}`);
      return end;
    },
  };
}

/** The lines of a run in both directions, in the order in which this side saw them. */
class Tape {
  readonly lines: TapeLine[] = [];
  readonly problems: string[] = [];
  readonly #check: boolean;
  /** Methods of requests without an answer, by the side that answers and id. */
  readonly #asked = new Map<string, string>();
  #wake = Promise.withResolvers<void>();
  #ended = false;

  constructor(check: boolean) {
    this.#check = check;
  }

  add(from: TapeLine["from"], line: string): Message {
    let message: Message;
    try {
      message = JSON.parse(line);
    } catch {
      this.problems.push(`${from}: no JSON: ${line.slice(0, 200)}`);
      return undefined;
    }
    this.lines.push({ from, message });
    if (this.#check) this.#checkLine(from, message);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
    return message;
  }

  end(): void {
    this.#ended = true;
    this.#wake.resolve();
  }

  /** Resolves with the first line of the agent, now or later, for which a predicate holds. */
  async seen(holds: (message: Message) => boolean, from: TapeLine["from"] = "agent"): Promise<Message> {
    for (let at = 0;;) {
      for (; at < this.lines.length; at++) {
        const line = this.lines[at];
        if (line?.from === from && holds(line.message)) return line.message;
      }
      if (this.#ended) throw new Error("The program ended before the line came");
      await this.#wake.promise;
    }
  }

  /** Position of the first line of a side for which a predicate holds; -1: none. */
  at(holds: (message: Message) => boolean, from: TapeLine["from"] = "agent"): number {
    return this.lines.findIndex((line) => line.from === from && holds(line.message));
  }

  #checkLine(from: TapeLine["from"], message: Message): void {
    const other = from === "client" ? "agent" : "client";
    const { id, method, params, result, error } = message;
    const wrong = (why: string) =>
      this.problems.push(`${from}: ${why}: ${JSON.stringify(message).slice(0, 500)}`);
    if (message.jsonrpc !== "2.0") wrong("no jsonrpc");
    if (method === undefined) {
      const asked = this.#asked.get(`${from} ${id}`);
      this.#asked.delete(`${from} ${id}`);
      if (error !== undefined) {
        if (!Number.isInteger(error.code) || typeof error.message !== "string") wrong("no error");
      } else if (asked === undefined) wrong("answer to no request");
      else this.#fits(definition(asked, from, "Response"), result, wrong);
      return;
    }
    const isRequest = "id" in message;
    if (isRequest) this.#asked.set(`${other} ${id}`, method);
    const name = method.startsWith("$/")
      ? "CancelRequestNotification"
      : definition(method, other, isRequest ? "Request" : "Notification");
    // What a client sends wrong is what a test is about.
    if (from === "agent") this.#fits(name, params, wrong);
  }

  #fits(name: string | undefined, value: unknown, wrong: (why: string) => void): void {
    if (name === undefined) return wrong("unknown method");
    let validator = VALIDATORS.get(name);
    if (!validator) {
      validator = new Validator({ $ref: `#/$defs/${name}`, $defs: SCHEMA.$defs } as never, "2020-12");
      VALIDATORS.set(name, validator);
    }
    const { valid, errors } = validator.validate(value);
    if (!valid) wrong(`no ${name} (${errors.at(-1)?.instanceLocation}: ${errors.at(-1)?.error})`);
  }
}

const VALIDATORS = new Map<string, Validator>();

/** The definition of a method's message, by the side that handles the method. */
function definition(method: string, side: string, kind: "Request" | "Response" | "Notification") {
  const found = Object.entries(SCHEMA.$defs).find(([name, each]) =>
    "x-method" in each && each["x-method"] === method && each["x-side"] === side && name.endsWith(kind)
  );
  return found?.[0];
}

/** Cuts text into lines. */
class LineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(piece, to) {
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        lines.filter((line) => line !== "").forEach((line) => to.enqueue(line));
      },
      flush: (to) => rest === "" ? undefined : to.enqueue(rest),
    });
  }
}
