import { assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

const SCRIPT = new URL("../../scripts/demo.ts", import.meta.url).pathname;

Deno.test("the demo repairs the broken project and says that the model is a recording", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", SCRIPT],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals(code, 0, text + new TextDecoder().decode(stderr));
  assertStringIncludes(text, "RECORDING");
  assertStringIncludes(text, "FAILED | 3 passed | 5 failed");
  assertStringIncludes(text, "+    rest -= count * size;");
  assertStringIncludes(text, "ok | 8 passed | 0 failed");
});

/** Where no other Deno is looked for. */
const PATH = "/usr/bin:/bin";

/** A machine whose only Deno lies where the jail shows nothing; undefined where none can be made. */
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
  name: "the demo says what is in the way when commands cannot run Deno",
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
