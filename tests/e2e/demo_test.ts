import { assertEquals, assertStringIncludes } from "../support/assert.ts";

Deno.test("the demo repairs the broken project and says that the model is a recording", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL("../../scripts/demo.ts", import.meta.url).pathname],
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
