/** A local proxy that records and forwards requests. */
export interface TestProxy extends AsyncDisposable {
  readonly port: number;
  /** First lines of requests, with the credentials that came along. */
  readonly asked: string[];
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Starts a proxy for plain requests and tunnels; with `login` ("user:password") for that user only. */
export function startProxy(login?: string): TestProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const asked: string[] = [];
  const open = new Set<Deno.Conn>();
  const wanted = login === undefined ? undefined : `Basic ${btoa(login)}`;

  async function serve(client: Deno.Conn): Promise<void> {
    open.add(client);
    const first = new Uint8Array(64 * 1024);
    let length = 0;
    let head = "";
    while (!head.includes("\r\n\r\n")) {
      const read = await client.read(first.subarray(length));
      if (read === null) return client.close();
      length += read;
      head = decoder.decode(first.subarray(0, length));
    }
    const [line = ""] = head.split("\r\n");
    const given = /^proxy-authorization: (.*)$/im.exec(head)?.[1]?.trim();
    asked.push(line);
    if (wanted !== undefined && given !== wanted) {
      const answer =
        "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
      await client.write(encoder.encode(answer));
      return client.close();
    }
    const tunnel = /^CONNECT [^ ]*:(\d+)/.exec(line);
    const port = Number(tunnel?.[1] ?? new URL(line.split(" ")[1] ?? "").port);
    // Names of other machines resolve to this one: no request leaves it.
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(server);
    if (tunnel) await client.write(encoder.encode("HTTP/1.1 200 OK\r\n\r\n"));
    else await server.write(first.slice(0, length));
    await Promise.all([client.readable.pipeTo(server.writable), server.readable.pipeTo(client.writable)]);
  }

  const accepting = (async () => {
    const served: Promise<void>[] = [];
    try {
      for await (const client of listener) served.push(serve(client).catch(() => {}));
    } catch { /* the listener was closed */ }
    await Promise.all(served);
  })();
  return {
    port: listener.addr.port,
    asked,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) {
        try {
          connection.close();
        } catch { /* closed before */ }
      }
      await accepting;
    },
  };
}
