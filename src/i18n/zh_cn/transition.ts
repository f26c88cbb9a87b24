import { message } from "../../core/mod.ts";
import type { Translate, Translator } from "../translate.ts";
import { importReason } from "./sayings/import_reasons.ts";

/** Also gives reasons of an import, which come as English sentences. */
export function tagOf(translator: Translator): Translate {
  return (strings, ...values) => {
    const template = strings.join("{}");
    if (template !== "not taken over: {}" && template !== "{}") return translator.t(strings, ...values);
    const told = values.map((value) => typeof value === "string" ? importReason(value) : value);
    return translator.text(message(strings, ...told));
  };
}
