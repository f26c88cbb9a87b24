/**
 * Replies that end too early with every provider kind: in thinking, in a text, in a call, or with thinking
 * only. None is retried forever, and the following conversation is valid: the servers check it by the rules
 * of their vendors.
 */
import { createAgent } from "../../../mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";

const THOUGHT = { reasoning: "Let me think 看 👩‍👩‍👧" };
const CUT = { finish: "length" };
const ANSWER: ScriptedAnswer = { ...THOUGHT, text: "Well." };

interface Case {
  readonly name: string;
  readonly answers: readonly ScriptedAnswer[];
  readonly reason: string;
  readonly detail?: string;
}

const CASES: readonly Case[] = [
  { name: "a thought is cut", answers: [{ ...THOUGHT, ...CUT }], reason: "failed", detail: "output limit" },
  {
    name: "a text is truncated",
    answers: [{ ...THOUGHT, text: "I will", ...CUT }],
    reason: "failed",
    detail: "output limit",
  },
  { name: "a reply only thinks", answers: [THOUGHT, ANSWER], reason: "done" },
  {
    name: "two replies only think",
    answers: [THOUGHT, THOUGHT],
    reason: "provider",
    detail: "empty answer twice",
  },
  {
    name: "a call is truncated",
    answers: [
      {
        ...THOUGHT,
        text: "I read.",
        calls: [{ id: "toolu_1", name: "read_file", args: '{"path": "a' }],
        ...CUT,
      },
      ANSWER,
    ],
    reason: "done",
  },
  {
    name: "a complete call is followed by the limit",
    answers: [
      { ...THOUGHT, calls: [{ id: "toolu_1", name: "read_file", args: { path: "a.txt" } }], ...CUT },
      ANSWER,
    ],
    reason: "done",
  },
];

for (const kind of Object.keys(WIRES)) {
  for (const { name, answers, reason, detail } of CASES) {
    // Gemini sends the arguments of a call as a whole.
    if (kind === "google" && name === "a call is truncated") continue;
    Deno.test(`the conversation with a ${kind} provider continues when ${name}`, async () => {
      const wire = WIRES[kind]?.();
      assert(wire);
      await using server = startModelServer([...answers, ANSWER], { wire });
      const provider = { name: "p", kind, base_url: server.url, model: "m", max_attempts: 1, ...wire.entry };
      await using agent = await createAgent({ config: { providers: [provider] } });
      const outcome = await agent.run("Go");
      assertEquals(outcome.reason, reason, outcome.detail);
      if (detail) assertStringIncludes(outcome.detail ?? "", detail);
      const next = await agent.run("Go on");
      assertEquals([next.reason, next.answer], ["done", "Well."], next.detail);
      assertEquals(server.requests.length, answers.length + 1);
    });
  }
}
