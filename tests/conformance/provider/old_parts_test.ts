/**
 * Sessions of earlier versions, whose parts point into the text of their message. `old_parts.jsonl` was
 * recorded with the last version that wrote such parts: the messages of a session, and its requests for them
 * unchanged, to another provider, with a changed reply, after a compaction, and after a rewind.
 */
import type { Message, ToolSchema } from "../../../src/core/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { collect, InstantClock, openClient, PREFIX } from "../../support/model_client.ts";
import { startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";

interface OldSession {
  readonly name: string;
  readonly entry: { readonly kind: string };
  readonly effort?: string;
  readonly tools?: true;
  readonly messages: readonly Message[];
  readonly bodies: Readonly<Record<"same" | "other" | "changed" | "compacted" | "earlier", string>>;
}

const FILE = new URL("./old_parts.jsonl", import.meta.url);
const [first = "", ...lines] = (await Deno.readTextFile(FILE)).trimEnd().split("\n");
const { tools }: { readonly tools: readonly ToolSchema[] } = JSON.parse(first);

/** The request body for these messages. */
async function bodyOf(
  { entry, effort, ...session }: OldSession,
  messages: readonly Message[],
  more = {},
): Promise<string | undefined> {
  const check = { prefix: false, pairing: false };
  const wire = WIRES[entry.kind]?.();
  await using server = startModelServer([{ status: 401, body: {} }], { ...(wire ? { wire } : {}), check });
  const options = { entry: { ...entry, ...more }, clock: new InstantClock(), ...(effort ? { effort } : {}) };
  const prefix = session.tools ? { ...PREFIX, tools } : PREFIX;
  await collect(await openClient(server, options), messages, undefined, prefix);
  return server.requests[0]?.body;
}

for (const session of lines.map((line): OldSession => JSON.parse(line))) {
  Deno.test(`an old session is sent as before: ${session.name}`, async () => {
    const { messages, bodies } = session;
    const at = messages.findIndex(({ role }) => role === "assistant");
    const changed = messages.with(at, { ...messages[at], content: "Changed." } as Message);
    const before: Message = { role: "user", content: "Before" };
    assertEquals(await bodyOf(session, messages), bodies.same);
    assertEquals(await bodyOf(session, messages, { name: "other" }), bodies.other);
    assertEquals(await bodyOf(session, changed), bodies.changed);
    assertEquals(await bodyOf(session, [before, ...messages.slice(1)]), bodies.compacted);
    assertEquals(await bodyOf(session, messages.slice(0, at + 1)), bodies.earlier);
  });
}
