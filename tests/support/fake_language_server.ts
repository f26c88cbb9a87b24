/**
 * A language server for tests. Every line of a file with `BAD` is an error; its first argument, as JSON,
 * defines its faults.
 */
export interface FakeBehaviour {
  /** Publishes automatically instead of being asked. */
  readonly publishes?: boolean;
  /** Never answers about a text with this word. */
  readonly hangsOn?: string;
  /** Exits when it receives a text with this word. */
  readonly diesOn?: string;
  /** Delay of its first answer, in ms. */
  readonly startsAfter?: number;
  /** Writes an invalid message first. */
  readonly garbage?: boolean;
  /** Number of further findings for each text. */
  readonly flood?: number;
  /** Writes a file when it starts, which the jail should not let it do. */
  readonly writes?: string;
  /** Appends a line to this file with each start. */
  readonly record?: string;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly params?: any;
}

const behaviour: FakeBehaviour = JSON.parse(Deno.args[0] ?? "{}");
const texts = new Map<string, string>();
await new Promise((resolve) => setTimeout(resolve, behaviour.startsAfter ?? 0));

function send(message: object): void {
  const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
  Deno.stdout.writeSync(new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`));
  for (let at = 0; at < body.length;) at += Deno.stdout.writeSync(body.subarray(at));
}

function findings(text: string): object[] {
  const bad = text.split("\n").flatMap((line, number) => {
    const character = line.indexOf("BAD");
    return character < 0 ? [] : [{
      range: { start: { line: number, character }, end: { line: number, character: character + 3 } },
      severity: 1,
      source: "fake",
      message: `bad: ${line.trim()}`,
    }];
  });
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
  const more = (_: unknown, index: number) => ({
    range,
    severity: 1,
    message: `flood ${index} ${text.length}`,
  });
  return [...bad, ...Array.from({ length: behaviour.flood ?? 0 }, more)];
}

function textArrived(uri: string, text: string, version: number): void {
  texts.set(uri, text);
  if (behaviour.diesOn && text.includes(behaviour.diesOn)) Deno.exit(3);
  if (!behaviour.publishes || (behaviour.hangsOn && text.includes(behaviour.hangsOn))) return;
  send({ method: "textDocument/publishDiagnostics", params: { uri, version, diagnostics: findings(text) } });
}

function answer({ id, method, params }: Message): void {
  switch (method) {
    case "initialize":
      return send({
        id,
        result: {
          capabilities: behaviour.publishes ? {} : { diagnosticProvider: { interFileDependencies: false } },
        },
      });
    case "textDocument/didOpen":
      return textArrived(params.textDocument.uri, params.textDocument.text, params.textDocument.version);
    case "textDocument/didChange":
      return textArrived(params.textDocument.uri, params.contentChanges[0].text, params.textDocument.version);
    case "textDocument/diagnostic": {
      const text = texts.get(params.textDocument.uri) ?? "";
      if (behaviour.hangsOn && text.includes(behaviour.hangsOn)) return;
      return send({ id, result: { kind: "full", items: findings(text) } });
    }
    default:
      if (id !== undefined) send({ id, error: { code: -32601, message: "unknown" } });
  }
}

if (import.meta.main) {
  if (behaviour.record) Deno.writeTextFileSync(behaviour.record, "start\n", { append: true });
  if (behaviour.writes) {
    try {
      Deno.writeTextFileSync(behaviour.writes, "written");
    } catch {
      // The jail denied it.
    }
  }
  if (behaviour.garbage) Deno.stdout.writeSync(new TextEncoder().encode("Welcome!\nno header\n"));
  let rest = "";
  for await (const chunk of Deno.stdin.readable) {
    for (const byte of chunk) rest += String.fromCharCode(byte);
    for (
      let head = /^Content-Length: (\d+)\r\n\r\n/.exec(rest);
      head;
      head = /^Content-Length: (\d+)\r\n\r\n/.exec(rest)
    ) {
      const end = head[0].length + Number(head[1]);
      if (rest.length < end) break;
      const bytes = Uint8Array.from(rest.slice(head[0].length, end), (char) => char.charCodeAt(0));
      rest = rest.slice(end);
      answer(JSON.parse(new TextDecoder().decode(bytes)));
    }
  }
}
