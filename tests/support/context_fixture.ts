/** A real agent, a real provider and a scripted server with a limited context window. */
import { Compaction, type CompactionOptions, type CompactionSettings } from "../../src/context/mod.ts";
import type { Event, Message } from "../../src/core/mod.ts";
import { BUILTINS, type Tool, ToolRegistry } from "../../src/tool/mod.ts";
import { agentFixture, type Fixture } from "./agent_fixture.ts";
import { InstantClock, openClient } from "./model_client.ts";
import { type RecordedRequest, type ScriptedTurn, startModelServer, type Turn } from "./model_server.ts";

/** Tokens as this server counts them: four characters each. */
export function serverTokens(request: RecordedRequest): number {
  return Math.ceil(request.body.length / 4);
}

export function lastMessage(request: RecordedRequest): { role: string; content: string } {
  const { role, content } = request.json.messages.at(-1);
  return { role, content: typeof content === "string" ? content : JSON.stringify(content) };
}

export function isSummaryRequest(request: RecordedRequest): boolean {
  return lastMessage(request).content.includes("[The conversation is about to be shortened.");
}

const TOO_LONG: Turn = {
  status: 400,
  body: { error: { code: "context_length_exceeded", message: "maximum context length exceeded" } },
};

export interface ContextFixture extends AsyncDisposable {
  readonly agent: Fixture;
  readonly compaction: Compaction;
  readonly server: ReturnType<typeof startModelServer>;
  /** Archived messages, one list per compaction. */
  readonly archived: (readonly Message[])[];
  compactions(): Extract<Event, { type: "compaction" }>[];
  notices(): string[];
}

export interface ContextOptions {
  readonly window: number;
  /** The window that the server accepts; the declared window when absent. */
  readonly realWindow?: number;
  readonly settings?: Partial<CompactionSettings>;
  readonly reply: (request: RecordedRequest) => Turn;
  readonly tools?: readonly Tool[];
  readonly checkPrefix?: boolean;
  readonly carry?: (message: Message) => string | undefined;
  readonly hooks?: CompactionOptions["hooks"];
  /** Runs before each request, ahead of compaction. */
  readonly beforeStep?: (recorder: Fixture["recorder"]) => Promise<void>;
}

export async function contextFixture(options: ContextOptions): Promise<ContextFixture> {
  const limit = options.realWindow ?? options.window;
  const answer: ScriptedTurn = (request) => {
    // A request is checked before its answer: an earlier declaration does not apply to the next one.
    server.expectNoReset();
    if (limit > 0 && serverTokens(request) > limit) return TOO_LONG;
    const turn = options.reply(request);
    return { usage: { input: serverTokens(request), output: 20 }, ...turn };
  };
  const server = startModelServer([], { fallback: answer, check: { prefix: options.checkPrefix ?? true } });
  const provider = await openClient(server, {
    clock: new InstantClock(),
    entry: { context_window: options.window, max_attempts: 2 },
  });
  const archived: (readonly Message[])[] = [];
  const late: { compaction?: Compaction; recorder?: Fixture["recorder"] } = {};
  const agent = await agentFixture(provider, options.tools ?? [], {
    betweenSteps: async (signal) => {
      if (late.recorder) await options.beforeStep?.(late.recorder);
      await late.compaction?.betweenSteps(signal);
    },
    onContextOverflow: async (signal) => await late.compaction?.onContextOverflow(signal) ?? false,
  });
  late.recorder = agent.recorder;
  const compaction = late.compaction = new Compaction({
    provider,
    conversation: agent.recorder,
    settings: {
      auto: true,
      ratio: 0.8,
      strategy: "summarize",
      prune: true,
      maxSummaryTokens: 0,
      ...options.settings,
    },
    window: () => provider.model.contextWindow ?? 0,
    describe: new ToolRegistry(BUILTINS).describe,
    archive: (messages) => `/archive/${archived.push(messages)}.jsonl`,
    ...(options.carry ? { carry: options.carry } : {}),
    ...(options.hooks ? { hooks: options.hooks } : {}),
  });
  agent.recorder.subscribe((event) => {
    if (event.type === "compaction") server.expectReset();
  });
  return {
    agent,
    compaction,
    server,
    archived,
    compactions: () => agent.events.flatMap((event) => event.type === "compaction" ? [event] : []),
    notices: () => agent.events.flatMap((event) => event.type === "notice" ? [event.text] : []),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
