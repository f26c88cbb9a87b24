/** Requests and answers of the wire as far as the scripted server reads and writes them. */

/** A part of a turn: text, a call, a result, an image. */
// deno-lint-ignore no-explicit-any
export type WirePart = Record<string, any>;

export interface WireTurn {
  readonly role: string;
  readonly parts: readonly WirePart[];
}

export interface GenerateRequest {
  readonly contents: readonly WireTurn[];
  readonly systemInstruction?: { readonly parts: readonly WirePart[] };
  readonly tools?: readonly { readonly functionDeclarations?: readonly WirePart[] }[];
  readonly toolConfig?: WirePart;
  readonly generationConfig?: WirePart;
}

/** A part without its thoughts. */
export function unsigned({ thoughtSignature: _, ...part }: WirePart): WirePart {
  return part;
}
