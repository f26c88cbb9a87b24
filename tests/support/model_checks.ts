/** Checks of every request to a scripted model server. */

interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly arguments: unknown };
  }[];
  readonly tool_call_id?: string;
}

/**
 * Every assistant tool call has exactly one result, directly after it and in call order; no result is an
 * orphan.
 */
export function pairingProblems(messages: readonly unknown[]): string[] {
  const problems: string[] = [];
  let open: string[] = [];
  const settle = (at: number) => {
    if (open.length > 0) problems.push(`message ${at}: no result for tool call ${open.join(", ")} before it`);
    open = [];
  };
  (messages as readonly WireMessage[]).forEach((message, at) => {
    if (message.role === "tool") {
      const expected = open.shift();
      if (expected === undefined) problems.push(`message ${at}: orphan tool result ${message.tool_call_id}`);
      else if (expected !== message.tool_call_id) {
        problems.push(`message ${at}: tool result ${message.tool_call_id} where ${expected} was due`);
      }
      return;
    }
    settle(at);
    if (message.role !== "assistant") return;
    const calls = message.tool_calls ?? [];
    open = calls.map((call) => call.id);
    if (new Set(open).size !== open.length) {
      problems.push(`message ${at}: equal tool call ids ${open.join(", ")}`);
    }
    if (calls.some((call) => typeof call.function.arguments !== "string")) {
      problems.push(`message ${at}: tool call arguments are not a string`);
    }
    if (calls.length === 0 && !message.content) problems.push(`message ${at}: empty assistant message`);
  });
  settle(messages.length);
  return problems;
}

/** End of the JSON value that starts at `from` (an array or object). */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      do i = text.indexOf('"', i + 1); while (oddBackslashes(text, i));
    } else if (c === "[" || c === "{") depth++;
    else if ((c === "]" || c === "}") && --depth === 0) return i;
  }
  throw new Error("Unbalanced JSON");
}

function oddBackslashes(text: string, quote: number): boolean {
  let n = 0;
  while (text[quote - 1 - n] === "\\") n++;
  return n % 2 === 1;
}

/** Raw text between the brackets of the top-level `messages` array of a request body. */
export function rawMessages(body: string): string {
  return rawList(body, "messages");
}

/** Raw text between the brackets of a top-level array of a request body. */
export function rawList(body: string, name: string): string {
  const key = `"${name}":`;
  for (let at = body.indexOf(key); at >= 0; at = body.indexOf(key, at + 1)) {
    if (!atTopLevel(body, at)) continue;
    const start = body.indexOf("[", at);
    return body.slice(start + 1, valueEnd(body, start));
  }
  throw new Error(`The request body has no array ${name}`);
}

function atTopLevel(body: string, at: number): boolean {
  let depth = 0;
  for (let i = 0; i < at; i++) {
    const c = body[i];
    if (c === '"') {
      do i = body.indexOf('"', i + 1); while (oddBackslashes(body, i));
      if (i >= at) return false;
    } else if (c === "[" || c === "{") depth++;
    else if (c === "]" || c === "}") depth--;
  }
  return depth === 1;
}

/** Describes where `next` stops extending `previous`; undefined if it extends it. */
export function prefixProblem(previous: string, next: string): string | undefined {
  if (next.startsWith(previous)) {
    const after = next[previous.length];
    if (previous === "" || after === undefined || after === ",") return undefined;
  }
  let at = 0;
  while (at < previous.length && previous[at] === next[at]) at++;
  const from = Math.max(0, at - 30);
  return `the message array departs from the previous request at character ${at}: ` +
    `before ${JSON.stringify(previous.slice(from, at + 60))}, now ${
      JSON.stringify(next.slice(from, at + 60))
    }`;
}
