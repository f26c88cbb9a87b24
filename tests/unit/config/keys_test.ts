import { keySource, resolveKey } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const PROVIDER =
  '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "https://api.example.com"\napi_key_env = "P_KEY"\n';

Deno.test("resolveKey prefers .env of the home to the environment", async () => {
  await using fixture = configFixture({ "home/config.toml": PROVIDER, "home/.env": "P_KEY=from-home\n" });
  const { config, keys } = await fixture.load({ variables: { P_KEY: "from-env" } });
  const [entry] = config.providers;
  assert(entry);
  assertEquals([resolveKey(entry, keys), keySource(entry, keys)], ["from-home", "home"]);
  fixture.write("home/.env", "P_KEY=\n");
  const again = await fixture.load({ variables: { P_KEY: "from-env" } });
  assertEquals([resolveKey(entry, again.keys), keySource(entry, again.keys)], ["from-env", "env"]);
});

Deno.test("resolveKey ignores the environment when security.env_keys is off", async () => {
  await using fixture = configFixture({ "home/config.toml": `security.env_keys = false\n${PROVIDER}` });
  const { config, keys } = await fixture.load({ variables: { P_KEY: "from-env" } });
  const [entry] = config.providers;
  assert(entry);
  const error = assertThrows(
    () => resolveKey(entry, keys),
    ReasonixError,
    'No API key for provider "p": P_KEY is not set',
  );
  assertEquals(error.exit, "config");
  assertEquals(
    error.remedy,
    `write P_KEY=… into ${fixture.home}/.env; the environment is not used while security.env_keys is false`,
  );
  assertEquals(keySource(entry, keys), "missing");
});

Deno.test("resolveKey never reads the project's .env", async () => {
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "project/.env": "P_KEY=from-project\n",
  });
  const { config, keys } = await fixture.load();
  const [entry] = config.providers;
  assert(entry);
  const error = assertThrows(() => resolveKey(entry, keys), ReasonixError);
  assertEquals(error.remedy, `write P_KEY=… into ${fixture.home}/.env, or export P_KEY`);
});

Deno.test("resolveKey needs no key for a local server or without a key name", async () => {
  await using fixture = configFixture();
  const { keys } = await fixture.load();
  const entry = { name: "p", api_key_env: "P_KEY", base_url: "http://127.0.0.1:8000/v1" };
  assertEquals(resolveKey(entry, keys), undefined);
  assertEquals(
    resolveKey({ ...entry, api_key_env: "", base_url: "https://api.example.com" }, keys),
    undefined,
  );
  assertEquals(keySource({ ...entry, api_key_env: "" }, keys), "none");
});
