import { DEMO_REPLIES } from "../../demo/replies.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { mockConfig } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";

const SCRIPT = new URL("../../scripts/demo.ts", import.meta.url).pathname;

Deno.test("the demo fixes the broken project and reports its scripted parts", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", SCRIPT],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const [text, progress] = [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)];
  assertEquals(code, 0, text + progress);
  assertStringIncludes(text, "the model's replies are SCRIPTED");
  assert(!/record/i.test(text + progress), "nothing of it was recorded from a model");
  assertStringIncludes(text, "FAILED | 3 passed | 5 failed");
  assertStringIncludes(text, "+    rest -= count * size;");
  assertStringIncludes(text, "ok | 8 passed | 0 failed");
  // The exit codes are those of the tests.
  assertEquals([...progress.matchAll(/\$ deno test .* · exit \d/g)].map(([line]) => line.slice(-6)), [
    "exit 1",
    "exit 0",
  ]);
  assertMatch(progress, /· Verified: deno test .*/);
  assertMatch(progress, /^· 4 steps · in 18,800 .* · out 444 · scripted figures · /m);
});

Deno.test("the demo with --live works with the model of the user's own configuration", async () => {
  await using server = startModelServer(DEMO_REPLIES);
  await using home = await makeTempDir();
  await Deno.writeTextFile(`${home.path}/config.toml`, mockConfig(server.url));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", SCRIPT, "--live", "--max-steps", "6"],
    env: { NO_COLOR: "1", REASONIX_HOME: home.path },
    stdin: "null",
  }).output();
  const [text, progress] = [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)];
  assertEquals(code, 0, text + progress);
  assertStringIncludes(text, "everything is live, the model included");
  assertStringIncludes(text, "The project is repaired.");
  // What a server reports counts.
  assertMatch(progress, /^· 4 steps · in 18,800 /m);
  assert(!/scripted/i.test(text + progress));
  assertEquals(server.requests.length, DEMO_REPLIES.length);
});

/** A PATH without another Deno. */
const PATH = "/usr/bin:/bin";

/** A machine whose only Deno is hidden by the jail; undefined if it cannot be set up. */
async function hiddenRuntime(): Promise<string[] | undefined> {
  if (await Deno.stat("/usr/bin/deno").then(() => true, () => false)) return undefined;
  const deno = "/run/reasonix-demo/deno";
  const within = ["--dev-bind", "/", "/", "--tmpfs", "/run", "--ro-bind", Deno.execPath(), deno, "--", deno];
  const { success } = await new Deno.Command("bwrap", { args: [...within, "--version"], stdout: "null" })
    .output().catch(() => ({ success: false }));
  return success ? within : undefined;
}

const hidden = Deno.build.os === "linux" ? await hiddenRuntime() : undefined;

Deno.test({
  name: "the demo reports the reason when commands cannot run Deno" +
    (hidden === undefined ? " [skipped: no other Deno can be hidden here]" : ""),
  ignore: hidden === undefined,
  fn: async () => {
    const { code, stdout } = await new Deno.Command("bwrap", {
      args: [...hidden ?? [], "run", "-A", SCRIPT],
      env: { NO_COLOR: "1", PATH },
      stdin: "null",
      stderr: "null",
    }).output();
    const text = new TextDecoder().decode(stdout);
    assertEquals(code, 1, text);
    assertMatch(
      text,
      /In the way: commands of the agent cannot run deno, which is \/run\/reasonix-demo\/deno here/,
    );
    assertMatch(text, /not found|No such file/);
  },
});
