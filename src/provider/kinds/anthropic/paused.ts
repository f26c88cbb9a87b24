import { addUsage, type AssistantMessage, type Chunk, type Usage } from "../../../core/mod.ts";
import type { ModelRequest } from "../../provider.ts";

/** So many times in a row a reply may stop on the way. */
const MOST_PAUSES = 20;

type Ask = (request: ModelRequest) => AsyncIterable<Chunk>;

/**
 * One reply out of several where the server stops on the way, because tools of its own took long: what came
 * goes back to it as it is, until the reply is at its end. Tokens are counted together.
 */
export async function* goOnWherePaused(
  ask: Ask,
  paused: (request: ModelRequest) => boolean,
  request: ModelRequest,
): AsyncGenerator<Chunk, void> {
  const kept: Chunk[] = [];
  let usage: Usage | undefined;
  let next = request;
  for (let pauses = 0;;) {
    let done: Chunk | undefined;
    const round: Chunk[] = [];
    for await (const chunk of ask(next)) {
      if (chunk.type === "usage") usage = usage ? addUsage(usage, chunk.usage) : chunk.usage;
      else if (chunk.type === "done" || chunk.type === "error") done = chunk;
      else {
        yield chunk;
        if (chunk.type !== "retry") round.push(chunk);
        else if (chunk.discarded) {
          round.length = 0;
          yield* kept;
        }
      }
    }
    const more = done?.type === "done" && paused(next) && pauses < MOST_PAUSES;
    if (!more) {
      if (usage) yield { type: "usage", usage };
      if (done) yield done;
      return;
    }
    pauses++;
    kept.push(...round);
    next = { ...request, messages: [...request.messages, messageOf(kept)] };
  }
}

/** The message that these chunks make up. */
function messageOf(chunks: readonly Chunk[]): AssistantMessage {
  const texts = (type: "text" | "reasoning") =>
    chunks.map((chunk) => chunk.type === type && "text" in chunk ? chunk.text : "").join("");
  return {
    role: "assistant",
    content: texts("text"),
    reasoning: texts("reasoning"),
    calls: chunks.flatMap((chunk) => chunk.type === "tool_call" ? [chunk.call] : []),
    parts: chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []),
  };
}
