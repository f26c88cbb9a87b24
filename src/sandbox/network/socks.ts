import type { Opening, ProxyRequest } from "./wire.ts";

const REPLY = { granted: 0, failure: 1, notAllowed: 2, commandUnknown: 7, addressUnknown: 8 } as const;

const send = (opening: Opening, bytes: readonly number[]) => opening.write(Uint8Array.from(bytes));

/** The bound address of a reply is never used by anyone; zeros say so. */
const reply = (opening: Opening, code: number) => send(opening, [5, code, 0, 1, 0, 0, 0, 0, 0, 0]);

async function readHost(opening: Opening, kind: number | undefined): Promise<string | undefined> {
  if (kind === 1) return (await opening.take(4)).join(".");
  if (kind === 3) {
    const [length = 0] = await opening.take(1);
    return new TextDecoder().decode(await opening.take(length));
  }
  if (kind === 4) {
    const bytes = await opening.take(16);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2).toString(16)).join(":");
  }
  return undefined;
}

/** A SOCKS 5 request (RFC 1928): CONNECT without authentication. */
export async function openSocks(opening: Opening): Promise<ProxyRequest> {
  const [, methods = 0] = await opening.take(2);
  const offered = await opening.take(methods);
  if (!offered.includes(0)) {
    await send(opening, [5, 0xff]);
    throw new Error("The program insists on authentication");
  }
  await send(opening, [5, 0]);
  const [, command, , kind] = await opening.take(4);
  const host = await readHost(opening, kind);
  if (command !== 1 || host === undefined) {
    await reply(opening, host === undefined ? REPLY.addressUnknown : REPLY.commandUnknown);
    throw new Error("The request is not CONNECT");
  }
  const [high = 0, low = 0] = await opening.take(2);
  return {
    destination: { host, port: high * 256 + low },
    accept: () => reply(opening, REPLY.granted),
    refuse: (reason) => reply(opening, reason.startsWith("Blocked") ? REPLY.notAllowed : REPLY.failure),
  };
}
