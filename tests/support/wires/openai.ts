import { pairingProblems, rawMessages } from "../model_checks.ts";
import { answerJson, answerParts } from "../model_wire.ts";
import type { ScriptedWire } from "./scripted_wire.ts";

/** Chat completions. */
export const OPENAI_WIRE: ScriptedWire = {
  kind: "openai",
  basePath: "/v1",
  isCompletion: (path) => path.includes("/chat/completions"),
  models: (ids) => ({ object: "list", data: ids.map((id) => ({ id, object: "model" })) }),
  parts: answerParts,
  json: answerJson,
  problems: ({ json }) => pairingProblems(json.messages),
  list: ({ body }) => rawMessages(body),
};
