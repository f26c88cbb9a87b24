/** The first request of each provider kind but the usual one, next to a bare fetch of the same wire. */
import { ResponsesWire } from "../../support/wires/responses.ts";
import { anthropicWire } from "../../support/wires/anthropic.ts";
import { googleWire } from "../../support/wires/google.ts";
import type { ScriptedWire } from "../../support/wires/scripted_wire.ts";

export interface BenchKind {
  readonly wire: () => ScriptedWire;
  /** Path of a request below the base URL. */
  readonly path: string;
  /** The smallest valid request. */
  readonly body: Readonly<Record<string, unknown>>;
}

const HELLO = { role: "user", content: "Do the task." };

export const BENCH_KINDS: Readonly<Record<string, BenchKind>> = {
  responses: {
    wire: () => new ResponsesWire(),
    path: "/responses",
    body: { model: "mock", stream: true, store: false, input: [{ type: "message", ...HELLO }] },
  },
  anthropic: {
    wire: () => anthropicWire(),
    path: "/messages",
    body: { model: "mock", stream: true, max_tokens: 1000, messages: [HELLO] },
  },
  google: {
    wire: () => googleWire(),
    path: "/models/mock:streamGenerateContent?alt=sse",
    body: { contents: [{ role: HELLO.role, parts: [{ text: HELLO.content }] }] },
  },
};
