import type { Opening, ProxyRequest } from "./wire.ts";

/** Headers between program and proxy, none of the destination's business (RFC 9110 §7.6.1). */
const HOP_HEADERS = /^(?:proxy-[^:]*|connection|keep-alive|te|trailer|host):/i;

const REQUEST = /^([A-Za-z]+) (\S+) (HTTP\/1\.[01])$/;
/** A whole header: its name ends at the colon, and no line break of another kind hides a second one. */
const HEADER = /^[\w!#$%&'*+.^`|~-]+:[^\r\n\0]*$/;

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

async function say(opening: Opening, status: string, body: string): Promise<void> {
  const text = `${body}\n`;
  const head =
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n`;
  await opening.write(latin1(head + text));
}

function splitAuthority(authority: string): { host: string; port: number } {
  const match = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(authority);
  if (!match?.[1]) throw new Error("The request names no host and port");
  return { host: match[1], port: Number(match[2]) };
}

/** An HTTP proxy request: CONNECT, or a request with a whole `http:` URL. */
export async function openHttp(opening: Opening): Promise<ProxyRequest> {
  const head = await opening.takeHead();
  const [line = "", ...headers] = head.split("\r\n").slice(0, -2);
  const [, method, target = "", version] = REQUEST.exec(line) ?? [];
  // What this proxy and the server behind it could read differently would let a request name another host.
  if (method === undefined || !headers.every((header) => HEADER.test(header))) {
    throw new Error("The request is not HTTP/1");
  }
  const refuse = (reason: string) =>
    say(opening, reason.startsWith("Blocked") ? "403 Forbidden" : "502 Bad Gateway", reason);
  if (method === "CONNECT") {
    const accept = () => opening.write(latin1("HTTP/1.1 200 Connection established\r\n\r\n"));
    return { destination: splitAuthority(target), accept, refuse };
  }
  const url = URL.parse(target);
  if (url?.protocol !== "http:") {
    await refuse("Blocked: only http: URLs and CONNECT are relayed");
    throw new Error("The request names no http: URL");
  }
  // One request for each connection: a second one could name another host.
  const kept = headers.filter((header) => !HOP_HEADERS.test(header));
  const lines = [
    `${method} ${url.pathname}${url.search} ${version}`,
    `Host: ${url.host}`,
    ...kept,
    "Connection: close",
    "",
    "",
  ];
  return {
    destination: { host: url.hostname, port: Number(url.port || 80) },
    accept: () => Promise.resolve(),
    refuse,
    first: latin1(lines.join("\r\n")),
  };
}
