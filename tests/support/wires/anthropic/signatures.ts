/** Signatures of thoughts: over the thought, and over all that came before its message. */
import { createHash, createHmac } from "node:crypto";
import { unmarked } from "./cache.ts";
import type { MessagesRequest, WireBlock } from "./shapes.ts";

const KEY = "only the server knows";

function sign(text: string): string {
  return createHmac("sha256", KEY).update(text).digest("base64url");
}

const known = new WeakMap<MessagesRequest, readonly string[]>();

/** A digest of everything before the message of this number. */
function before(request: MessagesRequest, number: number): string {
  let names = known.get(request);
  if (names === undefined) known.set(request, names = prefixNames(request));
  return names[number] ?? "";
}

/** Digests of the conversation before each message, and of all of it. */
function prefixNames({ system = [], tools = [], messages }: MessagesRequest): readonly string[] {
  const hash = createHash("sha256");
  for (const block of [...tools, ...system]) hash.update(unmarked(block));
  const names = [hash.copy().digest("base64url")];
  for (const { role, content } of messages) {
    hash.update(role);
    for (const block of content) hash.update(unmarked(block));
    names.push(hash.copy().digest("base64url"));
  }
  return names;
}

/** The signature of a thought in the reply to this request. */
export function signatureFor(thinking: string, request: MessagesRequest): string {
  const { messages } = request;
  // A reply that continues belongs to the message that it continues with.
  const at = messages.at(-1)?.role === "assistant" ? messages.length - 1 : messages.length;
  return `${sign(thinking)}.${sign(before(request, at))}`;
}

export function redactedData(request: MessagesRequest): string {
  const text = `redacted-${request.messages.length}`;
  return `${text}.${sign(text)}`;
}

/** The vendor's error about a thought of the message of this number; undefined if it is unchanged. */
export function thoughtProblem(
  block: WireBlock,
  request: MessagesRequest,
  { number, bound }: { readonly number: number; readonly bound: boolean },
): string | undefined {
  if (block.type === "redacted_thinking") {
    const [text = "", signature] = String(block.data).split(".");
    return signature === sign(text) ? undefined : "Invalid `data` in `redacted_thinking` block";
  }
  const [own, prefix] = String(block.signature).split(".");
  if (own !== sign(block.thinking)) return "Invalid `signature` in `thinking` block";
  if (!bound || prefix === sign(before(request, number))) return undefined;
  return "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the " +
    'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
}
