import { unnamedProvider } from "../../../src/config/mod.ts";
import { VENDORS } from "../../../src/config/vendors.ts";
import { assertEquals } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const OPENAI = { OPENAI_API_KEY: "sk-o" };

Deno.test("unnamedProvider tells when nothing is configured and no key is there", async () => {
  await using fixture = configFixture();
  const loaded = await fixture.load();
  assertEquals(unnamedProvider(loaded), {
    vendor: "DeepSeek",
    keyName: "DEEPSEEK_API_KEY",
    key: "missing",
  });
});

Deno.test("loadConfig takes the first vendor whose key is in the environment, and unnamedProvider says so", async () => {
  await using fixture = configFixture();
  const one = await fixture.load({ variables: { ...OPENAI, XAI_API_KEY: "xai-1" } });
  assertEquals(one.config.providers.map(({ name, base_url }) => [name, base_url]), [
    ["openai", "https://api.openai.com/v1"],
  ]);
  assertEquals(unnamedProvider(one), { vendor: "OpenAI", keyName: "OPENAI_API_KEY", key: "environment" });
  const both = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(both.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("loadConfig takes the vendor that --model names", async () => {
  await using fixture = configFixture();
  const variables = { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" };
  for (const default_model of ["openai", "gpt-5", "openai/gpt-5"]) {
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

Deno.test("the environment chooses nothing for a configured provider, nor with security.env_keys off", async () => {
  const entry = '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using configured = configFixture({ "home/config.toml": entry });
  const loaded = await configured.load({ variables: OPENAI });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["p"]);
  assertEquals(unnamedProvider(loaded), undefined);
  await using closed = configFixture({ "home/config.toml": "security.env_keys = false\n" });
  const unused = await closed.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(unnamedProvider(unused)?.key, "unused");
});

Deno.test("a project chooses no vendor of the environment", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": 'default_model = "openai"\n' });
  const loaded = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("docs/config.md names the variables of the vendors in their order", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/config.md", import.meta.url));
  const listed = /The order: ([^.]*)\./.exec(page)?.[1]?.match(/\w+/g);
  assertEquals(listed, VENDORS.map(({ keyName }) => keyName));
});
