import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test({
  name: "disposing of agents, also during a turn, leaks no process, timer, descriptor or directory",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using temp = await makeTempDir();
    const [cwd, tmp] = [`${temp.path}/work`, `${temp.path}/tmp`];
    await Deno.mkdir(cwd);
    await Deno.mkdir(tmp);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL("./lives.ts", import.meta.url).pathname, cwd],
      env: { TMPDIR: tmp },
      signal: AbortSignal.timeout(300_000),
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const { said, reason, before, after } = JSON.parse(new TextDecoder().decode(stdout));
    assertStringIncludes(said, "made");
    assertEquals(reason, "interrupted");
    assertEquals([before.children, before.directories], [[], []]);
    assertEquals([after.children, after.directories], [[], []]);
    // Six lifecycles are between the counts: a leaked descriptor would be there at least three times. The
    // runtime creates a private pair of sockets, once, at any time.
    assert(after.descriptors - before.descriptors <= 2, `${before.descriptors} → ${after.descriptors}`);
  },
});
