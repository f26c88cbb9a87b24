/**
 * What every provider kind promises, run on each kind of the list. A kind joins with an entry in `HARNESSES`
 * that gives a scenario a provider which answers with the scripted turns.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Message } from "../../../src/core/mod.ts";
import { createProvider, type Provider } from "../../../src/provider/mod.ts";
import { PROVIDER_KINDS } from "../../../src/provider/kinds.ts";
import {
  collect,
  HELLO,
  InstantClock,
  openClient,
  PREFIX,
  providerEntry,
} from "../../support/model_client.ts";
import { type ScriptedTurn, startModelServer, textEvent } from "../../support/model_server.ts";
import { anthropicWire, wireEvent } from "../../support/wires/anthropic.ts";

type Scenario = (provider: Provider) => Promise<void>;
type Harness = (script: readonly ScriptedTurn[], scenario: Scenario) => Promise<void>;

/** The same departures from an answer in the events of another wire. */
function inMessages(turn: ScriptedTurn): ScriptedTurn {
  if (typeof turn === "function" || turn.stream === undefined) return turn;
  return {
    ...turn,
    stream: [...turn.stream].map((part) => {
      // deno-lint-ignore no-explicit-any
      const { choices, error } = part as any;
      if (error) return wireEvent({ type: "error", error: { type: "overloaded_error" } });
      const text = choices?.[0]?.delta?.content;
      if (typeof text !== "string") return part;
      return wireEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    }),
  };
}

const HARNESSES: Readonly<Record<string, Harness>> = {
  anthropic: async (script, scenario) => {
    await using server = startModelServer(script.map(inMessages), { wire: anthropicWire() });
    await scenario(await openClient(server, { clock: new InstantClock() }));
  },
  openai: async (script, scenario) => {
    await using server = startModelServer(script);
    await scenario(await openClient(server, { clock: new InstantClock() }));
  },
  // A recording has to pass the scenario like the provider it was made from.
  replay: async (script, scenario) => {
    const cassette = await Deno.makeTempFile({ suffix: ".jsonl" });
    try {
      await using server = startModelServer(script);
      await scenario(await openClient(server, { clock: new InstantClock(), record: { file: cassette } }));
      const entry = providerEntry({ kind: "replay", cassette });
      await scenario(await createProvider({ entry, model: "m", version: "1" }));
    } finally {
      await Deno.remove(cassette);
    }
  },
};

const never = new Promise(() => {});
const CALLS = [{ id: "a", name: "ls", args: { path: "." } }, { id: "a", name: "glob" }];

const SCENARIOS:
  readonly (readonly [promise: string, script: readonly ScriptedTurn[], scenario: Scenario])[] = [
    ["names the model when it is asked", [], (provider) => {
      assertEquals([provider.name, provider.model.provider, provider.model.id], ["test", "test", "m"]);
      return Promise.resolve();
    }],
    [
      "ends with exactly one done when the answer is complete",
      [{ text: ["a", "b"], reasoning: "hm" }],
      async (provider) => {
        const { chunks, text, reasoning, usage } = await collect(provider);
        assertEquals([text, reasoning, usage?.inputTokens], ["ab", "hm", 10]);
        assertEquals(chunks.filter((chunk) => chunk.type === "done" || chunk.type === "error").length, 1);
        assertEquals(chunks.at(-1), { type: "done", reason: "stop" });
      },
    ],
    ["gives complete calls with unique ids when tools are called", [{ calls: CALLS }], async (provider) => {
      const { calls, reason } = await collect(provider);
      assertEquals(calls.map((call) => [call.name, JSON.parse(call.arguments)]), [["ls", { path: "." }], [
        "glob",
        {},
      ]]);
      assertEquals([new Set(calls.map((call) => call.id)).size, reason], [2, "tool_calls"]);
    }],
    [
      "ends with exactly one error when the request is refused",
      [{ status: 401, body: "no" }],
      async (provider) => {
        const { chunks, error } = await collect(provider);
        assertEquals([chunks.length, error?.kind, error?.status], [1, "auth", 401]);
      },
    ],
    ["announces a retry when an attempt breaks off", [
      { stream: [textEvent("par")], cutAfter: 20 },
      { stream: [textEvent("half"), { error: { code: 503 } }] },
      { text: "whole" },
    ], async (provider) => {
      const { retries, text, chunks } = await collect(provider);
      assertEquals([text, retries.map((retry) => retry.discarded)], ["whole", [false, true]]);
      assertEquals(chunks.at(-1)?.type, "done");
    }],
    [
      "ends with kind aborted when the signal aborts",
      [{ stream: [textEvent("a"), never] }],
      async (provider) => {
        const controller = new AbortController();
        const seen: string[] = [];
        for await (const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, controller.signal)) {
          seen.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
          controller.abort();
        }
        assertEquals(seen, ["text", "aborted"]);
      },
    ],
    ["sends nothing when the signal was aborted before", [], async (provider) => {
      assertEquals((await collect(provider, HELLO, AbortSignal.abort())).error?.kind, "aborted");
    }],
    ["goes on in a conversation when its array grows", [
      { calls: [{ name: "ls" }] },
      { calls: [{ name: "ls" }] },
      { text: "done" },
    ], async (provider) => {
      const messages: Message[] = [{ role: "user", content: "Go" }];
      for (let step = 0; step < 3; step++) {
        const { calls, text, error } = await collect(provider, messages);
        assert(!error, error?.message ?? "");
        messages.push({ role: "assistant", content: text, calls });
        for (const call of calls) {
          messages.push({ role: "tool", callId: call.id, name: call.name, content: "ok" });
        }
      }
      assertEquals(messages.at(-1)?.content, "done");
    }],
  ];

for (const kind of Object.keys(PROVIDER_KINDS)) {
  const harness = HARNESSES[kind];
  for (const [promise, script, scenario] of SCENARIOS) {
    Deno.test(`provider kind ${kind} ${promise}`, async () => {
      assert(harness, `HARNESSES has no entry for kind ${kind}`);
      await harness(script, scenario);
    });
  }
}
