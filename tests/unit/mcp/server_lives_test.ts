import { assert, assertEquals } from "../../support/assert.ts";

Deno.test({
  name: "starting and stopping many servers leaks no process, timer or descriptor",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL("./server_lives.ts", import.meta.url).pathname],
      signal: AbortSignal.timeout(600_000),
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const { before, after } = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals([before.children, after.children], [[], []]);
    assert(after.descriptors - before.descriptors <= 2, `${before.descriptors} → ${after.descriptors}`);
  },
});
