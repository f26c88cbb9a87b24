import type { Redirection } from "unbash";
import { ANY, isKnown } from "../../../rule/mod.ts";
import { type FileUse, type Input, PROCESS_FILE } from "../types.ts";
import { expandWhole, type Variables } from "./words.ts";

interface Redirects {
  readonly reads: FileUse[];
  readonly writes: FileUse[];
  readonly input?: Input;
}

/** Returns the files that the shell opens for a command, and what becomes its standard input. */
export function readRedirects(redirects: readonly Redirection[], variables: Variables): Redirects {
  const reads: FileUse[] = [];
  const writes: FileUse[] = [];
  let input: Input | undefined;
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") {
      input = { kind: "text", text: hereDocument(redirect) };
      continue;
    }
    const { operator } = redirect;
    const path = redirect.target ? expandWhole(redirect.target, variables) : ANY;
    if (redirect.type === "HereString") {
      input = { kind: "text", text: isKnown(path) ? `${path}\n` : undefined };
      continue;
    }
    if (/^[<>]&$/.test(operator) && /^(?:\d+-?|-)$/.test(path)) continue;
    if (operator.startsWith("<")) {
      input = path === PROCESS_FILE ? { kind: "pipe", from: [] } : { kind: "file" };
    }
    if (operator !== "<" && operator !== "<&") {
      const append = operator.endsWith(">>") ? { append: true } as const : {};
      writes.push({ path, redirect: true, ...append });
    }
    if (operator === "<" || operator === "<>") reads.push({ path, redirect: true });
  }
  return input ? { reads, writes, input } : { reads, writes };
}

/** Returns the text of a here-document, undefined where the shell expands parts of it. */
function hereDocument({ body, delimiter, operator }: Extract<Redirection, { type: "HereDoc" }>) {
  if (!(body.parts ?? []).every((part) => part.type === "Literal")) return undefined;
  const text = operator === "<<-" ? body.text.replace(/^\t+/gm, "") : body.text;
  return delimiter?.quoted || !/[\\$`]/.test(text) ? text : undefined;
}
