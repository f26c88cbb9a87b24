import { message } from "../../core/mod.ts";
import type { Translate, Translator } from "../translate.ts";
import { importReason } from "./sayings/import_reasons.ts";
import { serverFailure } from "./sayings/server_failures.ts";

const SAID = new Set([
  "{}",
  "MCP server {} cannot be used: {}",
  "its last start failed: {}",
  "it failed the last time: {}",
  "{}: {}",
  "Not taken: {}",
]);

/** Also gives failures of servers, and reasons of an import, which come as English sentences. */
export function tagOf(translator: Translator): Translate {
  return (strings, ...values) => {
    const template = strings.join("{}");
    const say = template === "not taken over: {}" || template === "{}"
      ? importReason
      : SAID.has(template)
      ? serverFailure
      : undefined;
    if (!say) return translator.tag(strings, ...values);
    const told = values.map((value, index) =>
      index === values.length - 1 && typeof value === "string" ? serverFailure(say(value)) : value
    );
    return translator.text(message(strings, ...told));
  };
}
