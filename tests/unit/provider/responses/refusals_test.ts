import type { ProviderError } from "../../../../src/core/mod.ts";
import { ProviderFailure } from "../../../../src/provider/errors.ts";
import { isPreviousLost, refusedField } from "../../../../src/provider/kinds/responses/kind.ts";
import { assertEquals } from "../../../support/assert.ts";

function failure(message: string, status = 400): ProviderFailure {
  const error: ProviderError = { kind: "bad_request", message, status };
  return new ProviderFailure(error, false);
}

const WORDS: readonly (readonly [message: string, field: string | undefined])[] = [
  ["Unsupported parameter: 'temperature' is not supported with this model.", "temperature"],
  ["Unsupported value: 'text.verbosity' does not support 'low' with this model", "text.verbosity"],
  [
    "Unsupported parameter: 'reasoning.summary' is not supported with the 'gpt-4.1' model.",
    "reasoning.summary",
  ],
  ["Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort"],
  ["Your organization must be verified to generate reasoning summaries.", "reasoning.summary"],
  ["Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key"],
  ["Unrecognized request argument supplied: 'include'", "include"],
  ["Encrypted content is not supported with this model.", "include"],
  ["Unsupported value: 'messages' is wrong", undefined],
  ["Unknown parameter: 'input[3].status'.", undefined],
  ["Invalid value: 'tool'. Supported values are: 'assistant', 'user'.", undefined],
  ["Invalid schema for function 'x'", undefined],
];

for (const [message, field] of WORDS) {
  Deno.test(`refusedField returns ${field ?? "no field"} for: ${message}`, () => {
    assertEquals(refusedField(failure(`Provider "p" at h answered with status 400: ${message}`)), field);
  });
}

Deno.test("refusedField returns nothing for other failures", () => {
  assertEquals(refusedField(failure("Unsupported parameter: 'temperature'", 500)), undefined);
});

Deno.test("isPreviousLost recognizes messages of several servers", () => {
  for (
    const [message, status] of [
      ["Previous response with id 'resp_1' not found.", 400],
      ["Invalid `previous_response_id`.", 400],
      ["previous_response_not_found", 404],
    ] as const
  ) assertEquals(isPreviousLost(failure(message, status)), true, message);
  assertEquals(isPreviousLost(failure("Model not found", 404)), false);
  assertEquals(isPreviousLost(failure("previous response", 500)), false);
});
