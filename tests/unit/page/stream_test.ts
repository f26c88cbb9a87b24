/** The stream that all pages of a browser share, against a server that is written by hand. */
import { type HubMessage, type PageMessage, Stream } from "../../../page/stream.ts";
import { assert, assertEquals } from "../../support/assert.ts";

/** A request of a stream that is open. */
interface OpenStream {
  readonly query: string;
  readonly secret: string | null;
  send(name: string, data: unknown): void;
  end(): void;
  /** Settles when the client has left. */
  readonly left: Promise<void>;
}

/** Resolves with what `find` finds, as soon as it finds something. */
async function until<T>(find: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function startServer(status: () => number = () => 200) {
  const streams: OpenStream[] = [];
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    requests++;
    if (status() !== 200) return new Response("", { status: status() });
    const left = Promise.withResolvers<void>();
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (given) => void (controller = given),
      cancel: () => left.resolve(),
    });
    streams.push({
      query: decodeURIComponent(new URL(request.url).search.slice(1)),
      secret: request.headers.get("authorization"),
      send: (name, data) =>
        controller.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)),
      end: () => controller.close(),
      left: left.promise,
    });
    return new Response(body);
  });
  return {
    streams,
    get requests() {
      return requests;
    },
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A page that keeps what it is given, in short: names, seqs of events, and states. */
function page(stream: Stream) {
  const got: string[] = [];
  const send = (message: HubMessage) => {
    if ("state" in message) got.push(message.state);
    else if ("refused" in message) got.push(`refused ${message.refused}`);
    else {
      const { session = "", event } = message.data;
      got.push([message.name, session, event?.seq].filter((part) => part !== undefined).join(" "));
    }
  };
  return { got, say: (message: PageMessage) => stream.page(send, message) };
}

const event = (session: string, seq: number) => ({ session, event: { seq, type: "message.delta" } });

Deno.test("pages share one stream, and an event reaches each page that shows its session, once", async () => {
  await using server = startServer();
  const stream = new Stream(server.origin, 1);
  const [a, b, c] = [page(stream), page(stream), page(stream)];
  a.say({ secret: "x", id: "s", after: 0, view: 1 });
  const first = await until(() => server.streams[0]);
  assertEquals([first.query, first.secret], ["session=s@0", "Bearer x"]);
  first.send("hello", { build: "1" });
  first.send("event", event("s", 1));
  first.send("event", event("s", 2));
  await until(() => a.got.includes("event s 2"));

  // Another page has less of the session, and another one another session.
  b.say({ secret: "x", id: "s", after: 1, view: 1 });
  c.say({ secret: "x", id: "t", after: 7, view: 1 });
  await first.left;
  const second = await until(() => server.streams[1]);
  assertEquals(second.query, "session=s@1&session=t@7");
  second.send("event", event("s", 2));
  second.send("snapshot", { session: "s" });
  second.send("event", event("s", 0));
  second.send("event", event("t", 8));
  second.send("sessions", { changed: [] });
  await until(() => a.got.includes("sessions ") && c.got.includes("sessions "));
  const live = ["snapshot s", "event s 0"];
  assertEquals(a.got, ["connecting", "live", "hello ", "event s 1", "event s 2", ...live, "sessions "]);
  assertEquals(b.got, ["live", "event s 2", ...live, "sessions "]);
  assertEquals(c.got, ["live", "event t 8", "sessions "]);

  // The same set is no reason for another stream; a session that is watched again is.
  b.say({ secret: "x", id: "s", after: 1, view: 1 });
  b.say({ secret: "x", id: undefined, after: 0, view: 2 });
  c.say({ secret: "x", id: "t", after: 3, view: 2 });
  const third = await until(() => server.streams[2]);
  assertEquals(third.query, "session=s@2&session=t@3");
  a.say("left");
  b.say("left");
  c.say("left");
  await third.left;
  assertEquals(server.streams.length, 3);
});

Deno.test("a stream that was cut continues after the last event, and a refusal ends all attempts", async () => {
  let status = 200;
  await using server = startServer(() => status);
  const stream = new Stream(server.origin, 1);
  const one = page(stream);
  one.say({ secret: "x", id: "s", after: 0, view: 1 });
  const first = await until(() => server.streams[0]);
  first.send("event", event("s", 5));
  await until(() => one.got.includes("event s 5"));
  first.end();
  assertEquals((await until(() => server.streams[1])).query, "session=s@5");

  // Only a row of failures means that there is no connection.
  status = 503;
  server.streams[1]?.end();
  await until(() => one.got.includes("offline"));
  assertEquals(one.got.slice(0, 4), ["connecting", "live", "event s 5", "connecting"]);
  status = 200;
  const again = await until(() => server.streams[2]);
  again.send("hello", {});
  await until(() => one.got.at(-1) === "hello ");
  assertEquals(one.got.at(-2), "live");

  status = 401;
  again.end();
  await until(() => one.got.includes("refused x"));
  const { requests } = server;
  await new Promise((resolve) => setTimeout(resolve, 30));
  assertEquals(server.requests, requests);
  status = 200;
  one.say({ secret: "y", id: "s", after: 5, view: 1 });
  const last = await until(() => server.streams[3]);
  assertEquals(last.secret, "Bearer y");
  one.say("left");
  await last.left;
  assert(!one.got.includes("refused y"));
});
