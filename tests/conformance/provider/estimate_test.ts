/** The estimate of a request counts exactly the thinking in the body. */
import { assert } from "../../support/assert.ts";
import type { Message } from "../../../src/core/mod.ts";
import { roughTokens } from "../../../src/context/rough_tokens.ts";
import { TokenCounter } from "../../../src/context/tokens.ts";
import { sendsReasoning } from "../../../src/provider/mod.ts";
import { collect, HELLO, InstantClock, openClient, takeStep } from "../../support/model_client.ts";
import { startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";

const THOUGHT = "The parser drops the last line when the file has no newline. ".repeat(200);
const TOOL = { name: "look", description: "Looks", parameters: { type: "object", properties: {} } };
const PREFIX = { system: "Be brief. ".repeat(50), tools: [TOOL] };

/** Parts that each provider kind sends back: thinking as it is, or nothing that the model reads. */
const SENT: Readonly<Record<string, boolean>> = {
  anthropic: true,
  responses: true,
  google: false,
  openai: false,
};

for (const [kind, wire] of Object.entries(WIRES)) {
  Deno.test(`the estimate of a ${kind} request counts the thinking that is sent`, async () => {
    const calls = [{ id: "toolu_1", name: "look", args: {} }];
    await using server = startModelServer([{ reasoning: THOUGHT, text: "I look.", calls }, { text: "ok" }], {
      wire: wire(),
    });
    const provider = await openClient(server, { clock: new InstantClock() });
    const messages: Message[] = [...HELLO];
    await takeStep(provider, messages, { prefix: PREFIX, result: () => "fine ".repeat(300) });
    await collect(provider, messages, undefined, PREFIX);
    const counter = new TokenCounter({
      sendsReasoning: (message) => sendsReasoning(message, provider.model),
    });
    const body = server.requests[1]?.body ?? "";
    const estimate = counter.estimate(PREFIX, messages);
    const counted = roughTokens(body);
    assert(Math.abs(estimate - counted) < counted * (SENT[kind] ? 0.06 : 0.2), `${estimate} of ${counted}`);
    assert(SENT[kind] === body.includes("The parser drops"), `${kind} sends the thought`);
  });
}
