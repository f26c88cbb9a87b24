import { applySetup } from "../../../cli/commands/setup/wizard.ts";
import { defaultConfigText, loadConfig } from "../../../src/config/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const DEEPSEEK = { name: "deepseek", baseUrl: "https://api.deepseek.com", keyName: "DEEPSEEK_API_KEY" };

async function setUp(answers: Parameters<typeof applySetup>[2], env = "") {
  await using folder = await makeTempDir();
  const home = folder.path;
  await Deno.writeTextFile(`${home}/config.toml`, await defaultConfigText());
  if (env !== "") await Deno.writeTextFile(`${home}/.env`, env);
  await applySetup(`${home}/config.toml`, `${home}/.env`, answers);
  const { config, keys } = await loadConfig({ cwd: home, home, env: () => undefined });
  return { config, saved: keys.saved() };
}

Deno.test("the wizard keeps what the default file knows of a vendor", async () => {
  for (const model of ["deepseek-v4-pro", "deepseek-v9"]) {
    const { config } = await setUp({ ...DEEPSEEK, model, key: "" });
    const [entry] = config.providers;
    assertEquals([config.default_model, entry?.default], ["deepseek", model]);
    assertEquals([entry?.context_window, entry?.compat.reasoning_field], [1_000_000, "reasoning_content"]);
  }
});

Deno.test("the wizard writes an entry of its own for any other server", async () => {
  const { config } = await setUp({
    name: "custom",
    baseUrl: "http://127.0.0.1:8080/v1",
    model: "m",
    keyName: "",
    key: "",
  });
  assertEquals(config.providers.map(({ name, model }) => [name, model]), [["custom", "m"]]);
  const moved = await setUp({ ...DEEPSEEK, baseUrl: "https://proxy.example/v1", model: "m", key: "" });
  assertEquals(moved.config.providers.map((entry) => entry.base_url), ["https://proxy.example/v1"]);
});

Deno.test("the wizard adds the key on a line of its own, after what was saved before", async () => {
  const env = "OTHER_KEY=one\nDEEPSEEK_API_KEY=old";
  const { saved } = await setUp({ ...DEEPSEEK, model: "deepseek-v4-pro", key: "sk-new" }, env);
  assertEquals([...saved], [["OTHER_KEY", "one"], ["DEEPSEEK_API_KEY", "sk-new"]]);
});
