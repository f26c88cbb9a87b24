import {
  agent,
  type AgentConnection,
  type AnyMessage,
  client,
  methods,
  RequestError,
} from "@agentclientprotocol/sdk";
import { clientFiles } from "../../../../src/frontend/acp/files.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

interface Handlers {
  read(path: string): unknown;
  write(path: string, content: string, signal: AbortSignal): unknown;
}

/** A connection of which the other end is the official client as an editor, which can die. */
function connected(handlers: Handlers): { agent: AgentConnection; die: () => void } {
  const [there, back] = [new TransformStream<AnyMessage>(), new TransformStream<AnyMessage>()];
  const { fs } = methods.client;
  const death = new AbortController();
  client({ name: "editor" })
    .onRequest(
      fs.readTextFile,
      async ({ params }) => ({ content: await handlers.read(params.path) as string }),
    )
    .onRequest(fs.writeTextFile, async ({ params: { path, content }, signal }) => {
      await handlers.write(path, content, signal);
      return {};
    })
    .connect({ readable: there.readable, writable: back.writable });
  const readable = back.readable.pipeThrough(new TransformStream(), { signal: death.signal });
  return {
    agent: agent({ name: "agent" }).connect({ readable, writable: there.writable }),
    die: () => death.abort(),
  };
}

const BOTH = { fs: { readTextFile: true, writeTextFile: true } };
const { signal } = new AbortController();

Deno.test("clientFiles offers what the client offers, with the real paths of its directories", () => {
  const { agent } = connected({ read: () => "", write: () => {} });
  const offered = (fs?: { readTextFile?: boolean; writeTextFile?: boolean }) => {
    const files = clientFiles(agent, "s", fs ? { fs } : {}, ["/w/"]);
    return files && { directories: files.directories, read: !!files.read, write: !!files.write };
  };
  assertEquals([offered(), offered({ readTextFile: false })], [undefined, undefined]);
  assertEquals(offered({ readTextFile: true }), { directories: ["/w"], read: true, write: false });
  assertEquals(offered({ writeTextFile: true }), { directories: ["/w"], read: false, write: true });
});

Deno.test("clientFiles asks by the client's spelling of a directory, and reports its errors with their data", async () => {
  await using temp = await makeTempDir();
  await Deno.mkdir(`${temp.path}/real/sub`, { recursive: true });
  await Deno.symlink("real", `${temp.path}/link`);
  const asked: string[] = [];
  const failing: Record<string, () => unknown> = {
    missing: () => {
      throw RequestError.resourceNotFound("missing");
    },
    full: () => {
      throw RequestError.internalError({ details: "no space left" });
    },
    binary: () => {
      throw new RequestError(-32603, "Internal error", "no text file");
    },
    odd: () => 7,
  };
  const { agent } = connected({
    read: (path) => {
      asked.push(path);
      return failing[path.slice(path.lastIndexOf("/") + 1)]?.() ?? "text";
    },
    write: (path, content) => {
      asked.push(`${path} ${content}`);
      failing[path.slice(path.lastIndexOf("/") + 1)]?.();
    },
  });
  const [link, real] = [`${temp.path}/link`, `${temp.path}/real`];
  const files = clientFiles(agent, "s", BOTH, [link, `${real}/sub`]);
  assertEquals(files?.directories, [real, `${real}/sub`]);
  const read = async (path: string) => await files?.read?.(path, signal);
  assertEquals([await read(`${real}/a`), await read(`${real}/sub/a`), await read("/etc/a")], [
    "text",
    "text",
    "text",
  ]);
  await files?.write?.(`${real}/a`, "new", signal);
  assertEquals(asked, [`${link}/a`, `${real}/sub/a`, "/etc/a", `${link}/a new`]);
  assertEquals(await read(`${real}/missing`), undefined);
  await assertRejects(() => read(`${real}/full`), Error, "Internal error: no space left");
  await assertRejects(() => read(`${real}/binary`), Error, "Internal error: no text file");
  await assertRejects(() => read(`${real}/odd`), Error, "There is no text in its answer");
  await assertRejects(
    async () => await files?.write?.(`${real}/missing`, "x", signal),
    Error,
    "Resource not found",
  );
});

Deno.test("clientFiles cancels a request that is aborted, and reports a connection that ends", async () => {
  const cancelled = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const stalled = Promise.withResolvers<void>();
  const { agent, die } = connected({
    read: () => new Promise(() => stalled.resolve()),
    write: async (_path, _content, signal) => {
      signal.addEventListener("abort", () => cancelled.resolve());
      begun.resolve();
      await cancelled.promise;
    },
  });
  const files = clientFiles(agent, "s", BOTH, ["/w"]);
  const stop = new AbortController();
  const write = files?.write?.("/w/a", "x", stop.signal);
  await begun.promise;
  stop.abort();
  await assertRejects(async () => await write);
  await cancelled.promise;
  const read = files?.read?.("/w/a", signal);
  await stalled.promise;
  die();
  await assertRejects(async () => await read, Error, "the connection to the editor has ended");
  assert(agent.signal.aborted);
  await assertRejects(
    async () => await files?.write?.("/w/a", "x", signal),
    Error,
    "the connection to the editor has ended",
  );
});
