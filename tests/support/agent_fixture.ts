/** An agent made of a scripted provider, small real tools and a session in memory. */
import { type AgentDeps, runTurn, type TurnOutcome } from "../../src/agent/mod.ts";
import { RegistryToolbox } from "../../src/run/tools/toolbox.ts";
import { type ControlledDeps, openConversation, Recorder } from "../../src/control/mod.ts";
import { MemoryStore } from "../../src/control/memory_store.ts";
import type { Chunk, Event, Message, ToolCall } from "../../src/core/mod.ts";
import type { Gate } from "../../src/permission/mod.ts";
import type { ModelRequest, Provider } from "../../src/provider/mod.ts";
import { type Tool, ToolRegistry } from "../../src/tool/mod.ts";
import { makeToolContext } from "./tool_context.ts";

export function call(id: string, name: string, args: unknown = {}): Chunk {
  return {
    type: "tool_call",
    call: { id, name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  };
}

export function say(text: string): Chunk[] {
  return [{ type: "text", text }, { type: "done", reason: "stop" }];
}

/** A reply: chunks, or a function that streams them and may wait. */
export type Reply = readonly Chunk[] | ((signal: AbortSignal, request: ModelRequest) => AsyncIterable<Chunk>);

export interface ScriptedProvider extends Provider {
  /** The messages of each request, as they were when it was made. */
  readonly requests: (readonly Message[])[];
}

export function scriptedProvider(
  replies: readonly Reply[],
  model: Partial<Provider["model"]> = {},
): ScriptedProvider {
  const requests: (readonly Message[])[] = [];
  return {
    name: "scripted",
    model: { provider: "scripted", id: "scripted-1", contextWindow: 0, vision: false, ...model },
    requests,
    async *stream(request, signal) {
      const reply = replies[requests.length] ?? say("(script ended)");
      requests.push([...request.messages]);
      yield* typeof reply === "function" ? reply(signal, request) : reply;
    },
  };
}

export function tool(name: string, readOnly: boolean, execute: Tool["execute"]): Tool {
  return { name, description: name, schema: { type: "object", properties: {} }, readOnly, execute };
}

const ALLOW_ALL: Gate = { check: () => ({ decision: "allow", source: "mode" }) };

export interface Fixture {
  readonly recorder: Recorder;
  readonly store: MemoryStore;
  readonly events: Event[];
  run(text: string, signal?: AbortSignal): Promise<TurnOutcome>;
}

export async function agentFixture(
  provider: Provider,
  tools: readonly Tool[] = [],
  parts: Partial<ControlledDeps> = {},
): Promise<Fixture> {
  const registry = new ToolRegistry([], tools);
  const { callId: _i, signal: _s, progress: _p, jail, ...context } = makeToolContext(Deno.cwd());
  const store = new MemoryStore();
  const recorder = new Recorder(store, parts.now);
  const events: Event[] = [];
  recorder.subscribe((event) => void events.push(event));
  await openConversation(recorder, {
    system: "S",
    tools: registry.schemas(),
    model: "scripted-1",
    context: ["<e>x</e>"],
  });
  const whole: AgentDeps = {
    provider,
    toolbox: new RegistryToolbox({ registry, context, jail: () => jail }),
    gate: ALLOW_ALL,
    limits: {},
    ...parts,
    conversation: recorder,
  };
  const never = new AbortController().signal;
  return { recorder, store, events, run: (text, signal = never) => runTurn(whole, { text }, signal) };
}

/** Fails unless every call of the conversation has exactly one result, in order. */
export function checkPairing(messages: readonly Message[]): void {
  let open: ToolCall[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const expected = open.shift();
      if (expected?.id !== message.callId) {
        throw new Error(`Result ${message.callId} has no call in its place`);
      }
      continue;
    }
    if (open.length > 0) throw new Error(`Call ${open[0]?.id} has no result`);
    open = message.role === "assistant" ? [...message.calls ?? []] : [];
  }
  if (open.length > 0) throw new Error(`Call ${open[0]?.id} has no result`);
}
