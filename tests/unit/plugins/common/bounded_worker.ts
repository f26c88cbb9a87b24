/** Entry of the workers in bounded_test.ts: what `plugins/main.ts` is in a plugin. */
import { workAsWorker } from "../../../../plugins/common/bounded.ts";
import { PluginError } from "../../../../plugins/common/plugin.ts";

const attempt = (work: () => unknown) => {
  try {
    return String(work());
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
};

let calls = 0;

const CONVERTERS = {
  size: ({ bytes }: { bytes: Uint8Array }) => Promise.resolve({ size: bytes.length, calls: ++calls }),
  fail: () => Promise.reject(new PluginError("Cannot read it", "give it another name")),
  loop: () => {
    for (;;) Math.random();
  },
  grow: async () => {
    const all: unknown[] = [];
    await Promise.resolve();
    for (;;) all.push(new Array(100_000).fill(1.5));
  },
  stuck: async () => {
    await Promise.resolve();
    for (;;) Math.random();
  },
  deep: () => {
    const down = (): number => 1 + down();
    return Promise.resolve(down());
  },
  reach: async ({ file, port }: { file: string; port: number }) => ({
    read: attempt(() => Deno.readTextFileSync(file)),
    write: attempt(() => Deno.writeTextFileSync(`${file}.new`, "")),
    env: attempt(() => Deno.env.get("HOME")),
    run: attempt(() => new Deno.Command(Deno.execPath()).outputSync()),
    net: await Deno.connect({ port }).then(() => "connected", (error: Error) => error.name),
  }),
};

const loaders = Object.entries(CONVERTERS).map(([name, convert]) => [
  name,
  () => Promise.resolve({ convert: convert as (input: never) => Promise<unknown> }),
]);
await workAsWorker(import.meta.url, Object.fromEntries(loaders));
