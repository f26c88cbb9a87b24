import { loadConfig, requireProvider } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

async function load(variables: Record<string, string> = {}, config?: string) {
  await using directory = await makeTempDir();
  if (config !== undefined) await Deno.writeTextFile(`${directory.path}/config.toml`, config);
  return await loadConfig({ cwd: directory.path, home: directory.path, env: (name) => variables[name] });
}

Deno.test("requireProvider suggests setup without configuration and key, in both languages", async () => {
  const loaded = await load();
  for (
    const [locale, output] of [["en", "No provider is set up yet"], [
      "zh-CN",
      "还没有配置模型供应商",
    ]] as const
  ) {
    const error = await assertRejects(() => requireProvider(loaded, locale), ReasonixError, output);
    assertStringIncludes(error.remedy ?? "", "reasonix setup");
    assertStringIncludes(error.remedy ?? "", "DEEPSEEK_API_KEY");
    assertEquals(error.exit, "config");
  }
});

Deno.test("requireProvider names the environment variable of the key, but not the key", async () => {
  const output = await requireProvider(await load({ OPENAI_API_KEY: "sk-o" }), "en") ?? "";
  assertStringIncludes(output, "using OPENAI_API_KEY from the environment (OpenAI)");
  assert(!output.includes("sk-o"));
});

Deno.test("requireProvider names the setting that keeps a key of the environment from being used", async () => {
  const loaded = await load({ DEEPSEEK_API_KEY: "sk-d" }, "security.env_keys = false\n");
  const error = await assertRejects(() => requireProvider(loaded, "en"), ReasonixError);
  assertStringIncludes(error.remedy ?? "", "security.env_keys");
});
