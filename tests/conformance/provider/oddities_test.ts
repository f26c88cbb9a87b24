/**
 * Faults of servers and networks in a reply, as a table for every provider kind: the bytes of a valid answer
 * are changed as observed in practice, and the outcome must be the one in the table. Faults of a single kind
 * are tested with that kind.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { collect, InstantClock, openClient, type Outcome } from "../../support/model_client.ts";
import {
  type Part,
  type ScriptedAnswer,
  sse,
  startModelServer,
  type Turn,
} from "../../support/model_server.ts";
import type { ScriptedWire } from "../../support/wires/scripted_wire.ts";
import { WIRES } from "../../support/wires/wires.ts";

const WIDE = 'héllo 世界 👩‍👩‍👧 \u{1F98A} \u2028 " \\\\ <tag> \n\n data: x';
const USAGE = { input: 30, cached: 10, output: 20, reasoning: 0 };
const TALK: ScriptedAnswer = {
  reasoning: ["é任务🦊", 'say "so"'],
  text: ["Good ", WIDE, " end"],
  usage: USAGE,
};
const CALLS: ScriptedAnswer = {
  text: "Looking",
  calls: [
    { id: "toolu_1", name: "look", args: { path: WIDE, deep: { list: [1, null, true] } } },
    { id: "toolu_2", name: "look", args: {} },
  ],
  usage: USAGE,
};

type Events = readonly string[];
/** `partial`: it fails, or the complete parts count; never a partial call. */
type Expected = "same" | "fails" | "same or fails" | "partial";
type Row = readonly [oddity: string, change: (events: Events) => readonly Part[], expected: Expected];

const encoder = new TextEncoder();
const bytes = (events: Events) => encoder.encode(events.join(""));

const between = (events: Events, odd: string) => events.flatMap((event) => [odd, event]);
const middle = (events: Events) => Math.floor(events.length / 2);

/** In order: framing, packets, unknown lines and events, endings, and bodies that are not streams. */
const ROWS: readonly Row[] = [
  ["is valid", (events) => events, "same"],
  ["arrives in one packet", (events) => [events.join("")], "same"],
  [
    "arrives byte by byte, which splits characters and escapes",
    (events) => [...bytes(events)].map((b) => Uint8Array.of(b)),
    "same",
  ],
  ["is split after every third byte", (events) => thirds(bytes(events)), "same"],
  ["has CR LF line ends", (events) => events.map((event) => event.replaceAll("\n", "\r\n")), "same"],
  [
    "has CR LF line ends, each split in two",
    (events) => events.flatMap((event) => event.replaceAll("\n", "\r\n").split(/(?<=\r)/)),
    "same",
  ],
  ["has CR line ends", (events) => events.map((event) => event.replaceAll("\n", "\r")), "same"],
  ["begins with a byte order mark", (events) => ["\uFEFF", ...events], "same"],
  ["begins with blank lines", (events) => ["\n\n\n", ...events], "same"],
  [
    "has no space after the colon",
    (events) => events.map((event) => event.replace(/^data: /m, "data:")),
    "same",
  ],
  ["has keep-alive comments", (events) => between(events, ": keep-alive\n\n"), "same"],
  ["has comments without a blank line", (events) => between(events, ":\n"), "same"],
  [
    "has ids and retry times",
    (events) => events.map((event, at) => `id: ${at}\nretry: 10\n${event}`),
    "same",
  ],
  ["has nonstandard fields", (events) => events.map((event) => `odd: 1\n${event}`), "same"],
  ["has empty events", (events) => between(events, "data:\n\n"), "same"],
  ["has null events", (events) => between(events, "data: null\n\n"), "same"],
  ["has empty object events", (events) => between(events, "data: {}\n\n"), "same"],
  [
    "has events of an unknown type",
    (events) => between(events, 'data: {"type":"never_heard_of","x":[1]}\n\n'),
    "same",
  ],
  ["has pings", (events) => between(events, 'event: ping\ndata: {"type":"ping"}\n\n'), "same"],
  [
    "lacks the names of its events",
    (events) => events.map((event) => event.replace(/^event: .*\n/m, "")),
    "same",
  ],
  [
    "splits the JSON of an event over two data lines",
    (events) => events.map((event) => event.replace(/^(data: \{)/m, "$1\ndata: ")),
    "same",
  ],
  [
    "lacks its last blank line",
    (events) => [...events.slice(0, -1), (events.at(-1) ?? "").trimEnd()],
    "same",
  ],
  ["lacks its last event", (events) => events.slice(0, -1), "partial"],
  ["continues after its end", (events) => [...events, "data: [DONE]\n\n", ": bye\n\n"], "same"],
  ["ends with whitespace", (events) => [...events, "\n\n  \n"], "same"],
  [
    "repeats the event before the last",
    (events) => [...events.slice(0, -1), ...events.slice(-2)],
    "same or fails",
  ],
  ["has an invalid event in its middle", (events) => inMiddle(events, "data: {broken\n\n"), "same or fails"],
  ["ends in its middle", (events) => events.slice(0, middle(events)), "partial"],
  [
    "ends inside an event",
    (events) => [events.join("").slice(0, Math.floor(events.join("").length / 2))],
    "partial",
  ],
  ["is empty", () => [], "fails"],
  ["has only comments", () => [": a\n\n", ": b\n\n"], "fails"],
  ["is a web page", () => ["<!doctype html><title>Sign in</title><p>to the network"], "fails"],
  ["is plain text", () => ["upstream connect error"], "fails"],
  ["is unrelated JSON", () => ['{"hello":"world"}'], "fails"],
  [
    "is an error object",
    () => ['{"error":{"message":"it broke","type":"server_error","code":500}}'],
    "fails",
  ],
];

function thirds(all: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(all.length / 3) }, (_, at) => all.slice(3 * at, 3 * at + 3));
}

function inMiddle(events: Events, odd: string): string[] {
  return [...events.slice(0, middle(events)), odd, ...events.slice(middle(events))];
}

/** The outcome of one request without retries. */
async function outcomeOf(wire: ScriptedWire, turn: Turn, entry = {}): Promise<Outcome> {
  await using server = startModelServer([turn], { wire, check: { prefix: false, pairing: false } });
  const client = await openClient(server, {
    clock: new InstantClock(),
    entry: { max_attempts: 1, ...entry },
  });
  return await collect(client);
}

function eventsOf(wire: ScriptedWire, answer: ScriptedAnswer): string[] {
  const request = {
    path: "",
    headers: new Headers(),
    body: "{}",
    json: { messages: [], input: [], contents: [] },
  };
  return [...wire.parts(answer, 1, request)].map((part) => typeof part === "string" ? part : sse(part));
}

/** The parts of an outcome that the agent uses. */
function essence({ text, reasoning, calls, usage, reason, error, chunks }: Outcome): unknown {
  if (error) return "failed";
  const parts = chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part.data] : []);
  return { text, reasoning, calls: calledIn({ calls }), usage, reason, parts };
}

function calledIn({ calls }: Pick<Outcome, "calls">): unknown[] {
  return calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]);
}

/** Complete calls count, even if more were expected: the model repeats missing ones. */
function isPartial(odd: Outcome, good: unknown): boolean {
  const { calls = [] } = Object(good);
  assertEquals(calledIn(odd), calls.slice(0, odd.calls.length));
  return odd.calls.length > 0 || ["unknown", "stop"].includes(odd.reason ?? "");
}

for (const [kind, makeWire] of Object.entries(WIRES)) {
  for (const [oddity, change, expected] of ROWS) {
    Deno.test(`provider kind ${kind} reads a reply that ${oddity}`, async () => {
      for (const answer of [TALK, CALLS]) {
        const events = eventsOf(makeWire(), answer);
        const good = essence(await outcomeOf(makeWire(), { stream: events }));
        assert(good !== "failed", "the unchanged answer fails");
        const odd = await outcomeOf(makeWire(), { stream: change(events) });
        const is = essence(odd);
        const failed = is === "failed";
        // A reply that failed gave no call to act upon.
        if (failed) assertEquals(odd.calls, []);
        if (expected === "fails") assert(failed, JSON.stringify(is));
        else if (expected === "partial") assert(failed || isPartial(odd, good), JSON.stringify(is));
        else if (expected === "same" || !failed) assertEquals(is, good);
      }
    });
  }

  Deno.test(`provider kind ${kind} returns thinking, text, calls and counts, also without streaming`, async () => {
    const answer = {
      reasoning: ["Let me ", "see"],
      text: ["Hel", "lo 🦊"],
      calls: [{ id: "toolu_1", name: "ls", args: { path: "." } }, { id: "toolu_2", name: "glob" }],
      usage: { input: 100, cached: 60, output: 30, reasoning: 12 },
    };
    for (const json of [false, true]) {
      const outcome = await outcomeOf(makeWire(), { ...answer, json });
      assertEquals([outcome.reasoning, outcome.text, outcome.reason], [
        "Let me see",
        "Hello 🦊",
        "tool_calls",
      ]);
      assertEquals(outcome.calls, [
        { id: "toolu_1", name: "ls", arguments: '{"path":"."}' },
        { id: "toolu_2", name: "glob", arguments: "{}" },
      ]);
      assertEquals(outcome.usage, {
        inputTokens: 100,
        cachedTokens: 60,
        outputTokens: 30,
        reasoningTokens: 12,
      });
      assertEquals(
        outcome.chunks.slice(-4).map(({ type }) => type).filter((type) => type !== "part").slice(-3),
        [
          "tool_call",
          "usage",
          "done",
        ],
      );
    }
  });

  Deno.test(`provider kind ${kind} joins a surrogate pair whose halves come in two deltas`, async () => {
    const { text, reason } = await outcomeOf(makeWire(), { text: ["a\ud83e", "\udd8ab"] });
    assertEquals([text, reason], ["a🦊b", "stop"]);
  });

  Deno.test(`provider kind ${kind} never returns a partial call, wherever the reply is truncated`, async () => {
    const events = eventsOf(makeWire(), CALLS);
    const good = calledIn(await outcomeOf(makeWire(), { stream: events }));
    for (let at = 0; at < events.length; at++) {
      const cut = await outcomeOf(makeWire(), {
        stream: [...events.slice(0, at), ""],
        cutAfter: bytes(events.slice(0, at)).length,
      });
      if (cut.error) assertEquals(cut.calls, [], `cut at event ${at}`);
      else assertEquals(calledIn(cut), good.slice(0, cut.calls.length), `cut at event ${at}`);
    }
  });

  Deno.test(`provider kind ${kind} classifies errors by their remedy`, async () => {
    const said = async (status: number, message: string, headers = {}) => {
      const body = { type: "error", error: { type: "some_error", message, status: "SOME" } };
      const { error } = await outcomeOf(makeWire(), { status, body, headers });
      return [error?.kind, error?.status, error?.retryAfterMs];
    };
    assertEquals(await said(401, "bad key"), ["auth", 401, undefined]);
    assertEquals(await said(402, "payment required"), ["auth", 402, undefined]);
    assertEquals(await said(403, "not yours"), ["auth", 403, undefined]);
    assertEquals(await said(404, "no such model"), ["not_found", 404, undefined]);
    assertEquals(await said(400, "prompt is too long: 210000 tokens > 200000 maximum"), [
      "context_length",
      400,
      undefined,
    ]);
    assertEquals(await said(413, "request too large"), ["context_length", 413, undefined]);
    assertEquals(await said(400, "temperature: must be at most 1"), ["bad_request", 400, undefined]);
    assertEquals(await said(429, "slow down", { "retry-after": "7" }), ["rate_limit", 429, 7000]);
    assertEquals(await said(429, "slow down", { "retry-after-ms": "1500" }), ["rate_limit", 429, 1500]);
    assertEquals(await said(500, "oops"), ["server", 500, undefined]);
    assertEquals(await said(503, "busy"), ["server", 503, undefined]);
    assertEquals(await said(529, "overloaded"), ["server", 529, undefined]);
  });
}
