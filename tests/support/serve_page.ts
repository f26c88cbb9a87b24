/**
 * Serves the page with a scripted model, to look at it: `deno run -A tests/support/serve_page.ts [port]`. The
 * page is built from the sources; the first line of the output is a link that signs in.
 */
import { call, say } from "./agent_fixture.ts";
import { serveHere } from "./web.ts";

const MARKDOWN = "# A heading\n\nText with **bold**, `code` and a [link](https://example.org).\n\n" +
  "```ts\nconst answer: number = 42;\n```\n\n- one\n- two\n";

const uses = (name: string, args: unknown) => [
  call(crypto.randomUUID(), name, args),
  { type: "done", reason: "tool_calls" } as const,
];

if (import.meta.main) {
  const served = await serveHere({
    replies: Array.from({ length: 50 }, (_, number) => [
      say(`${number} ${MARKDOWN}`),
      uses("bash", { command: "rm -rf build && echo done" }),
      say("The directory is removed."),
      uses("write_file", { path: "a.ts", content: "export const a = 2;\n" }),
      say("The file is written."),
    ]).flat(),
    files: { "a.ts": "export const a = 1;\n", "docs/readme.md": MARKDOWN },
    web: { address: { hostname: "127.0.0.1", port: Number(Deno.args[0] ?? 8790) } },
  });
  await Deno.stdout.write(new TextEncoder().encode(`${served.server.link("owner")}\n`));
  const { promise, resolve } = Promise.withResolvers<void>();
  Deno.addSignalListener("SIGTERM", resolve);
  await promise;
  Deno.removeSignalListener("SIGTERM", resolve);
  await served[Symbol.asyncDispose]();
}
