/**
 * Tapes: the messages between clients and the program, each on its line, as they arrived. A name such as
 * `$SESSION1` replaces text that differs from run to run.
 *
 * As a program, it starts the command behind the directory that it is given, and keeps a tape of it there.
 */
import { assertEquals } from "./assert.ts";
import type { World } from "./program.ts";
import { VERSION } from "../../src/util/version.ts";

// deno-lint-ignore no-explicit-any
type Message = any;

export interface TapeLine {
  /** Number of the process of the program, from 1. */
  readonly process?: number;
  readonly from: "client" | "agent";
  readonly message: Message;
}

const GOLDEN = new URL("../golden/acp/", import.meta.url);

export async function readTape(name: string): Promise<TapeLine[]> {
  const text = await Deno.readTextFile(new URL(`${name}.jsonl`, GOLDEN));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

async function writeTape(name: string, lines: readonly TapeLine[]): Promise<void> {
  await Deno.mkdir(GOLDEN, { recursive: true });
  await Deno.writeTextFile(
    new URL(`${name}.jsonl`, GOLDEN),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
}

/** Compares the agent's lines of a run with a tape; UPDATE_GOLDEN=1 keeps the run as the tape. */
export async function compareTape(name: string, lines: readonly TapeLine[], names: Names): Promise<void> {
  const now = namedLines(lines, names);
  if (Deno.env.get("UPDATE_GOLDEN")) await writeTape(name, now);
  const kept = saidByAgent(await readTape(name));
  const said = saidByAgent(now);
  assertEquals(Object.keys(said).sort(), Object.keys(kept).sort());
  for (const [kind, messages] of Object.entries(said)) {
    assertEquals(
      messages,
      kept[kind],
      `${kind}: a changed message is a decision: UPDATE_GOLDEN=1 records it`,
    );
  }
}

/** Names for text that differs from run to run, by order of appearance. */
export class Names {
  readonly #fixed: readonly (readonly [text: string, name: string])[];
  readonly #found = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor({ dir, home }: Pick<World, "dir" | "home">) {
    const temp = dir.replace(/\/work$/, "");
    this.#fixed = [[dir, "$DIR"], [home, "$HOME"], [temp, "$TEMP"], [VERSION, "$VERSION"]];
  }

  /** The line with names in place of the text that they are for. */
  named(line: string): string {
    let text = line;
    for (const [value, name] of this.#fixed) text = text.replaceAll(value, name);
    return text
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "$TIME")
      .replace(/"durationMs":\d+/g, '"durationMs":0')
      .replace(/(\$HOME\/projects\/)[\w.-]+/g, "$1PROJECT")
      .replace(/\d{8}T\d{6}-\d+/g, "$TIME")
      .replace(/\d{8}-\d{6}-\w{4}/g, (value) => this.#name(value, "SESSION"))
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (value) => this.#name(value, "ID"))
      .replace(/"((?:message|notice)-[\w-]+)"/g, (_, value) => `"${this.#name(value, "MESSAGE")}"`)
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, "$SERVER");
  }

  /** The line with the text of this run in place of names. */
  meant(line: string): string {
    let text = line;
    for (const [value, name] of [...this.#fixed, ...this.#found]) text = text.replaceAll(name, value);
    return text;
  }

  #name(value: string, kind: string): string {
    const known = this.#found.get(value);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#found.set(value, `$${kind}${count}`);
    return `$${kind}${count}`;
  }
}

/** Lines with names; neighboring pieces of one message are one, and lists of commands are left out. */
function namedLines(lines: readonly TapeLine[], names: Names): TapeLine[] {
  const all: TapeLine[] = [];
  for (const line of lines) {
    const message: Message = JSON.parse(names.named(JSON.stringify(line.message)), (_, value) => cut(value));
    if (message.params?.update?.availableCommands) message.params.update.availableCommands = [];
    const [piece, before] = [pieceOf(message), pieceOf(all.at(-1)?.message)];
    if (piece && before && piece.key === before.key) before.content.text += piece.content.text;
    else all.push({ ...line, message });
  }
  return all;
}

/** The start of a long text, and its length. */
function cut(value: unknown): unknown {
  return typeof value === "string" && value.length > 2000
    ? `${value.slice(0, 200)}… ${value.length} characters`
    : value;
}

function pieceOf(message: Message): { readonly key: string; readonly content: { text: string } } | undefined {
  const update = message?.params?.update;
  if (update?.content?.type !== "text" || !String(update.sessionUpdate).endsWith("_chunk")) return undefined;
  return {
    key: `${message.params.sessionId} ${update.sessionUpdate} ${update.messageId}`,
    content: update.content,
  };
}

/** The messages of the agent by process, session and kind: the order counts only within each. */
function saidByAgent(lines: readonly TapeLine[]): Record<string, Message[]> {
  const kinds: Record<string, Message[]> = {};
  for (const { process = 1, from, message } of lines) {
    const key = `process ${process}, ${message.params?.sessionId ?? "no session"}, ${kindOf(message)}`;
    // Lists of commands come some time after an answer, and perhaps after the last line of a client.
    if (from === "client" || message.params?.update?.availableCommands) continue;
    const list = kinds[key] ??= [];
    // The times in two of them may be the same.
    if (JSON.stringify(list.at(-1)) !== JSON.stringify(message)) list.push(message);
  }
  return kinds;
}

const FACTS = ["usage", "session_info", "available_commands", "current_mode", "config_option"];

function kindOf({ method, params }: Message): string {
  const update = params?.update?.sessionUpdate;
  if (FACTS.some((fact) => update === `${fact}_update`)) return update;
  return method === undefined ? "answers" : method === "session/update" ? "conversation" : method;
}

/** Called before a line of the client is sent. */
type Before = (message: Message) => void | Promise<void>;

/** Plays the client of a tape against one process after the other; returns the lines of this run. */
export async function replay(
  world: World,
  tape: readonly TapeLine[],
  names: Names,
  before: Before = () => {},
): Promise<TapeLine[]> {
  const count = Math.max(...tape.map(({ process = 1 }) => process));
  const lines: TapeLine[] = [];
  for (let process = 1; process <= count; process++) {
    const part = tape.filter((line) => (line.process ?? 1) === process);
    lines.push(
      ...(await replayProcess(world, part, { names, before })).map((line) => ({ process, ...line })),
    );
  }
  return lines;
}

async function replayProcess(
  world: World,
  tape: readonly TapeLine[],
  { names, before }: { readonly names: Names; readonly before: Before },
): Promise<TapeLine[]> {
  const child = await world.spawn(["acp"], { stdin: "open" });
  const stderr = new Response(child.stderr).text();
  const input = child.stdin.getWriter();
  const lines: TapeLine[] = [];
  const seen = new Map<string, Message>();
  let wake = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const message of messages(child.stdout)) {
      // Names are given as lines come: later lines of the client have them.
      names.named(JSON.stringify(message));
      lines.push({ from: "agent", message });
      const key = milestone(message);
      if (key !== undefined) seen.set(key, message);
      wake.resolve();
      wake = Promise.withResolvers();
    }
  })();
  const awaited: (string | never[])[] = [];
  /** Waits for all lines of the agent that come before the next one of the client. */
  const all = async () => {
    const late = setTimeout(
      () => wake.reject(new Error(`The program does not send: ${missing()}`)),
      LIMIT_MS,
    );
    const missing = () => awaited.flat().filter((key) => !seen.has(key)).join(", ");
    while (missing() !== "") await wake.promise;
    clearTimeout(late);
  };
  for (const { from, message } of tape) {
    if (from === "agent") {
      awaited.push(milestone(message) ?? []);
      continue;
    }
    await all();
    await before(message);
    if (message.method === undefined) await write(seen.get(`fs/write_text_file ${message.id}`));
    const line = names.meant(JSON.stringify(message));
    lines.push({ from: "client", message: JSON.parse(line) });
    await input.write(new TextEncoder().encode(`${line}\n`));
  }
  await all();
  await input.close();
  await reading;
  const { code } = await child.status;
  if (code !== 0) throw new Error(`The program ended with ${code}: ${await stderr}`);
  return lines;
}

/** After this time a line that the tape has is taken for missing. */
const LIMIT_MS = 30_000;

/** Does what a client says that it has done. */
async function write(request: Message): Promise<void> {
  if (request) await Deno.writeTextFile(request.params.path, request.params.content);
}

/** An answer or a request, which a client waits for; undefined for a notification. */
function milestone({ id, method }: Message): string | undefined {
  if (method === undefined) return `answer ${id}`;
  return id === undefined ? undefined : `${method} ${id}`;
}

async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Passes messages on in both directions, and keeps them in a file of the directory. */
async function tee(directory: string, [command = "", ...args]: readonly string[]): Promise<number> {
  const path = `${directory}/${Date.now()}-${Deno.pid}.jsonl`;
  using file = await Deno.open(path, { write: true, create: true });
  const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped" }).spawn();
  const keep = (from: TapeLine["from"]) => {
    let rest = "";
    const decoder = new TextDecoder();
    return new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, to) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          file.writeSync(new TextEncoder().encode(`{"from":"${from}","message":${line}}\n`));
        }
        to.enqueue(bytes);
      },
    });
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => child.kill(signal));
  }
  void Deno.stdin.readable.pipeThrough(keep("client")).pipeTo(child.stdin).catch(() => {});
  await child.stdout.pipeThrough(keep("agent")).pipeTo(Deno.stdout.writable).catch(() => {});
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await tee(Deno.args[0] ?? "", Deno.args.slice(1)));
