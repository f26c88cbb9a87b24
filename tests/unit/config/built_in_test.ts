import { resolveModel, unnamedProvider } from "../../../src/config/mod.ts";
import { keyNamesOf, VENDORS } from "../../../src/config/vendors.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const OPENAI = { OPENAI_API_KEY: "sk-o" };

Deno.test("unnamedProvider reports that nothing is configured and no key is set", async () => {
  await using fixture = configFixture();
  const loaded = await fixture.load();
  assertEquals(unnamedProvider(loaded), {
    vendor: "DeepSeek",
    keyName: "DEEPSEEK_API_KEY",
    key: "missing",
  });
});

Deno.test("loadConfig uses the first vendor with a key in the environment, and unnamedProvider reports it", async () => {
  await using fixture = configFixture();
  const one = await fixture.load({ variables: { ...OPENAI, XAI_API_KEY: "xai-1" } });
  assertEquals(one.config.providers.map(({ name, base_url }) => [name, base_url]), [
    ["openai", "https://api.openai.com/v1"],
  ]);
  assertEquals(unnamedProvider(one), { vendor: "OpenAI", keyName: "OPENAI_API_KEY", key: "environment" });
  const both = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(both.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("loadConfig uses the vendor that --model names", async () => {
  await using fixture = configFixture();
  const variables = { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" };
  for (const default_model of ["openai", "gpt-5.5", "openai/gpt-5.5", "openai/of-tomorrow"]) {
    const { config } = await fixture.load({ variables, flags: { default_model } });
    assertEquals(config.providers.map(({ name }) => name), ["openai"]);
  }
});

Deno.test("a key in the home's .env needs no notice", async () => {
  await using fixture = configFixture({ "home/.env": "OPENAI_API_KEY=sk-o\n" });
  const loaded = await fixture.load();
  assertEquals(loaded.config.providers[0]?.name, "openai");
  assertEquals(unnamedProvider(loaded), undefined);
});

Deno.test("the environment selects no vendor with a configured provider or security.env_keys off", async () => {
  const entry = '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using configured = configFixture({ "home/config.toml": entry });
  const loaded = await configured.load({ variables: OPENAI });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["p"]);
  assertEquals(unnamedProvider(loaded), undefined);
  await using closed = configFixture({ "home/config.toml": "security.env_keys = false\n" });
  const unused = await closed.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(unnamedProvider(unused)?.key, "unused");
});

Deno.test("a project cannot select a vendor of the environment", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": 'default_model = "openai"\n' });
  const loaded = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("a vendor name accepts any of its models, with and without configured providers", async () => {
  const entry = '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  for (const text of ["", entry]) {
    await using fixture = configFixture({ "home/config.toml": text });
    const named = async (default_model: string) => {
      const loaded = await fixture.load({ variables: OPENAI, flags: { default_model } });
      const { entry, model } = resolveModel(loaded.config);
      return [
        entry.name,
        entry.base_url,
        model,
        entry.api_key_env,
        loaded.keyNames.includes(entry.api_key_env),
      ];
    };
    assertEquals(await named("openrouter/qwen/qwen3-max"), [
      "openrouter",
      "https://openrouter.ai/api/v1",
      "qwen/qwen3-max",
      "OPENROUTER_API_KEY",
      true,
    ]);
    const local = await named("ollama/llama3.3:70b");
    assertEquals(local.slice(0, 4), ["ollama", "http://127.0.0.1:11434/v1", "llama3.3:70b", ""]);
    assertEquals((await named("gemini/gemini-2.5-pro"))[0], "gemini");
  }
});

Deno.test("a configured provider overrides the vendor of the same name", async () => {
  const entry = '[[providers]]\nname = "groq"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using fixture = configFixture({ "home/config.toml": entry });
  const loaded = await fixture.load({ flags: { default_model: "groq/m" } });
  assertEquals(resolveModel(loaded.config).entry.base_url, "http://127.0.0.1:1/v1");
  const other = await fixture.load({ flags: { default_model: "groq/other" } });
  assertThrows(() => resolveModel(other.config), Error, 'Unknown model "groq/other"');
});

Deno.test("settings that name several models of a vendor share its entry and keep the first provider", async () => {
  const text = 'default_model = "p"\ncompaction.summary_model = "groq/small"\n' +
    '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using fixture = configFixture({ "home/config.toml": text });
  const { config } = await fixture.load({ flags: { default_model: "groq/large" } });
  assertEquals(config.providers.map(({ name }) => name), ["p", "groq"]);
  assertEquals(config.providers[1]?.models, ["large", "openai/gpt-oss-120b", "small"]);
});

Deno.test("a project cannot name a vendor that the user does not have", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": 'default_model = "ollama/x"\n' });
  const loaded = await fixture.load({ variables: OPENAI });
  assertThrows(() => resolveModel(loaded.config), Error, 'Unknown model "ollama/x"');
});

Deno.test("a vendor key is found under its alternative names", async () => {
  await using fixture = configFixture();
  const loaded = await fixture.load({ variables: { GOOGLE_API_KEY: "AIza1" } });
  assertEquals(loaded.config.providers.map(({ name, api_key_env }) => [name, api_key_env]), [
    ["google", "GOOGLE_API_KEY"],
  ]);
  assertEquals(unnamedProvider(loaded)?.keyName, "GOOGLE_API_KEY");
});

Deno.test("docs/config.md lists the variables of the vendors in order", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/config.md", import.meta.url));
  const listed = /The order: ([^.]*)\./.exec(page)?.[1]?.match(/\w+/g);
  assertEquals(listed, VENDORS.flatMap(keyNamesOf));
});
