import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { convert, endConversions } from "../../../../plugins/common/bounded.ts";
import { PluginError } from "../../../../plugins/common/plugin.ts";

const ENTRY = import.meta.resolve("./bounded_worker.ts");
const LARGE = 600_000;
const LIMITS = { seconds: 20, heapMb: 1000 };

const run = <T = unknown>(
  converter: string,
  input: Record<string, unknown> = {},
  limits: Partial<typeof LIMITS> = {},
  signal = new AbortController().signal,
) => convert<T>(ENTRY, converter, input, { ...LIMITS, ...limits }, signal);

Deno.test("convert runs a conversion apart from the process and within its limits", async (t) => {
  await t.step("keeps the worker for the next conversion, and moves the bytes", async () => {
    const bytes = new Uint8Array(1000);
    assertEquals(await run("size", { bytes }), { size: 1000, calls: 1 });
    assertEquals(bytes.length, 0);
    assertEquals(await run("size", { bytes: new Uint8Array(2) }), { size: 2, calls: 2 });
  });

  await t.step("runs more conversions than there are workers", async () => {
    const all = Array.from(
      { length: 5 },
      (_, size) => run<{ size: number }>("size", { bytes: new Uint8Array(size) }),
    );
    assertEquals((await Promise.all(all)).map(({ size }) => size), [0, 1, 2, 3, 4]);
  });

  await t.step("reports the message and the remedy of the converter", async () => {
    const error = await assertRejects(() => run("fail"), PluginError, "Cannot read it");
    assertEquals(error.remedy, "give it another name");
    await assertRejects(() => run("deep"), PluginError, "Maximum call stack size exceeded");
    await assertRejects(() => run("unknown"), PluginError, "There is no converter unknown");
  });

  await t.step("converts a large input under a limit of the heap", async () => {
    assertEquals(await run("size", { bytes: new Uint8Array(LARGE) }), { size: LARGE, calls: 1 });
    const growing = run("grow", { bytes: new Uint8Array(LARGE) }, { heapMb: 64 });
    await assertRejects(() => growing, PluginError, "The conversion needs over 64 MB");
  });

  await t.step("gives the worker no file, variable, program or address", async () => {
    await using listener = listen();
    const file = await Deno.makeTempFile();
    for (const bytes of [new Uint8Array(1), new Uint8Array(LARGE)]) {
      const reached = await run<Record<string, string>>("reach", { bytes, file, port: listener.port });
      assertEquals(Object.values(reached), Array(5).fill("NotCapable"));
    }
    await Deno.remove(file);
  });

  await t.step("ends what takes too long or is cancelled", async () => {
    await assertRejects(
      () => run("loop", {}, { seconds: 0.2 }),
      PluginError,
      "The conversion took over 0.2 s",
    );
    const abort = new AbortController();
    const looping = run("stuck", { bytes: new Uint8Array(LARGE) }, {}, abort.signal);
    abort.abort(new Error("cancelled"));
    await assertRejects(() => looping, Error, "cancelled");
    assertEquals((await run<{ size: number }>("size", { bytes: new Uint8Array(3) })).size, 3);
  });
  endConversions();
});

function listen(): { readonly port: number; [Symbol.asyncDispose](): Promise<void> } {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return {
    port: listener.addr.port,
    [Symbol.asyncDispose]: () => {
      listener.close();
      return Promise.resolve();
    },
  };
}
