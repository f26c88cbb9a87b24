import { anthropicWire } from "./anthropic.ts";
import { googleWire } from "./google.ts";
import { OPENAI_WIRE } from "./openai.ts";
import { ResponsesWire } from "./responses.ts";
import type { ScriptedWire } from "./scripted_wire.ts";

/** Every wire that a scripted server speaks, by the kind that speaks it; one line each. */
export const WIRES: Readonly<Record<string, () => ScriptedWire>> = {
  anthropic: () => anthropicWire(),
  google: () => googleWire(),
  openai: () => OPENAI_WIRE,
  responses: () => new ResponsesWire(),
};
