/**
 * Tapes: what a client and the program said to each other, a JSON line for each message, in the order of their
 * arrival. What differs from run to run is a name such as `$SESSION1`.
 *
 * As a program, it starts the command behind the directory that it is given and keeps a tape of it there.
 */
import { VERSION } from "../../src/util/version.ts";
import type { World } from "./program.ts";

// deno-lint-ignore no-explicit-any
type Message = any;

export interface TapeLine {
  readonly from: "client" | "agent";
  readonly message: Message;
}

/** Names for what differs from run to run, by order of appearance. */
export class Names {
  readonly #fixed: readonly (readonly [text: string, name: string])[];
  readonly #found = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(world: Pick<World, "dir" | "home">) {
    const temp = world.dir.replace(/\/work$/, "");
    this.#fixed = [[world.dir, "$DIR"], [world.home, "$HOME"], [temp, "$TEMP"], [VERSION, "$VERSION"]];
  }

  /** The line with names in place of what they are for. */
  named(line: string): string {
    let text = line;
    for (const [value, name] of this.#fixed) text = text.replaceAll(value, name);
    return text
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "$TIME")
      .replace(/\d{8}-\d{6}-\w{4}/g, (value) => this.#name(value, "SESSION"))
      .replace(
        /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
        (value) => this.#name(value, "ID"),
      )
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, "$SERVER");
  }

  /** The line with what the names are for in this run. */
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

/** Lines of a tape with names; neighboring pieces of one message are one. */
export function namedLines(lines: readonly TapeLine[], names: Names): TapeLine[] {
  const all: TapeLine[] = [];
  for (const { from, message } of lines) {
    const line: TapeLine = { from, message: JSON.parse(names.named(JSON.stringify(message))) };
    const [piece, before] = [pieceOf(line), pieceOf(all.at(-1))];
    if (piece && before && piece.key === before.key) before.content.text += piece.content.text;
    else all.push(line);
  }
  return all;
}

function pieceOf(
  line: TapeLine | undefined,
): { readonly key: string; content: { text: string } } | undefined {
  const update = line?.message.params?.update;
  if (update?.content?.type !== "text" || !String(update.sessionUpdate).endsWith("_chunk")) return undefined;
  return { key: `${update.sessionUpdate} ${update.messageId}`, content: update.content };
}

/** What the agent said, by kind: kinds are independent of each other, and only within one the order counts. */
export function saidByAgent(lines: readonly TapeLine[]): Record<string, Message[]> {
  const kinds: Record<string, Message[]> = {};
  for (const { from, message } of lines) {
    if (from === "agent") (kinds[kindOf(message)] ??= []).push(message);
  }
  return kinds;
}

const FACTS = ["usage", "session_info", "available_commands", "current_mode", "config_option"];

function kindOf({ method, params }: Message): string {
  const update = params?.update?.sessionUpdate;
  if (FACTS.some((fact) => update === `${fact}_update`)) return update;
  return method === undefined ? "answers" : method === "session/update" ? "conversation" : method;
}

/** Plays the client of a tape against the program; returns the lines of both in this run. */
export async function replay(world: World, tape: readonly TapeLine[], names: Names): Promise<TapeLine[]> {
  const child = await world.spawn(["acp"], { stdin: "open" });
  const input = child.stdin.getWriter();
  const lines: TapeLine[] = [];
  let wake = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const message of messages(child.stdout)) {
      // Names are given as lines come, so that later lines of the client can use them.
      names.named(JSON.stringify(message));
      lines.push({ from: "agent", message });
      wake.resolve();
      wake = Promise.withResolvers();
    }
  })();
  const stderr = new Response(child.stderr).text();
  const awaited: string[] = [];
  for (const { from, message } of tape) {
    if (from === "agent") {
      awaited.push(milestone(message));
      continue;
    }
    while (
      !awaited.every((key) => lines.some((line) => line.from === "agent" && milestone(line.message) === key))
    ) {
      await wake.promise;
    }
    const line = names.meant(JSON.stringify(message));
    lines.push({ from: "client", message: JSON.parse(line) });
    await input.write(new TextEncoder().encode(`${line}\n`));
  }
  await input.close();
  await reading;
  const { code } = await child.status;
  if (code !== 0) throw new Error(`The program ended with ${code}: ${await stderr}`);
  return lines;
}

/** What of a line of the agent a client can wait for. */
function milestone({ id, method, params }: Message): string {
  if (method === undefined) return `answer ${id}`;
  const { sessionUpdate = "", toolCallId = "", status = "" } = params?.update ?? {};
  return `${method} ${id ?? ""} ${sessionUpdate} ${toolCallId} ${status}`;
}

async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Passes on what a client and the command say to each other, and keeps it in a file of the directory. */
async function tee(directory: string, [command = "", ...args]: readonly string[]): Promise<number> {
  const file = await Deno.open(`${directory}/${Date.now()}-${Deno.pid}.jsonl`, { write: true, create: true });
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
