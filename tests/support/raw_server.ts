/** A server on loopback that answers each path with bytes as they are, also where they break HTTP. */
type Handler = (connection: Deno.Conn, head: string) => unknown;

/** Handlers, or the bytes of an answer, by the path without its slash. */
export type Answers = Readonly<Record<string, Handler | string>>;

export interface RawServer extends AsyncDisposable {
  readonly port: number;
  /** Heads of the requests, in their order. */
  readonly requests: string[];
}

const encoder = new TextEncoder();

/** Writes text or bytes; a client that is gone is no failure. */
export async function send(connection: Deno.Conn, ...parts: readonly (string | Uint8Array)[]): Promise<void> {
  for (const part of parts) {
    let bytes = typeof part === "string" ? encoder.encode(part) : part;
    while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
  }
}

/** Starts it; a connection closes when its handler has ended. */
export function startRawServer(
  answers: Answers,
  host = "127.0.0.1",
): RawServer {
  const listener = Deno.listen({ hostname: host, port: 0 });
  const requests: string[] = [];
  const open = new Set<Deno.Conn>();
  const serve = async (connection: Deno.Conn) => {
    open.add(connection);
    try {
      let head = "";
      const buffer = new Uint8Array(16_384);
      while (!head.includes("\r\n\r\n")) {
        const read = await connection.read(buffer);
        // A TLS client gets no answer.
        if (read === null || buffer[0] === 0x16) return;
        head += new TextDecoder().decode(buffer.subarray(0, read));
      }
      requests.push(head);
      const answer = answers[/^\S+ (?:http:\/\/[^/ ]*)?\/([^ ?]*)/.exec(head)?.[1] ?? ""];
      if (typeof answer === "string") await send(connection, answer);
      else await answer?.(connection, head);
    } catch {
      /* the client is gone */
    } finally {
      open.delete(connection);
      try {
        connection.close();
      } catch { /* closed before */ }
    }
  };
  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) served.push(serve(connection));
  })();
  return {
    port: listener.addr.port,
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) {
        try {
          connection.close();
        } catch { /* closed before */ }
      }
      await accepting;
      await Promise.all(served);
    },
  };
}

/** An answer with a body and its length. */
export function answer(body: string, headers = "content-type: text/html", status = "200 OK"): string {
  return `HTTP/1.1 ${status}\r\n${headers}\r\ncontent-length: ${encoder.encode(body).length}\r\n\r\n${body}`;
}
