import { saveSetup, type SetupAnswers } from "../../../cli/setup/wizard.ts";
import { addressProblem, keyProblem, readTokens } from "../../../cli/setup/target.ts";
import { entryOf } from "../../../cli/setup/target.ts";
import { defaultConfigText, loadConfig } from "../../../src/config/mod.ts";
import { VENDORS } from "../../../src/config/vendors.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const texts = await loadTexts("setup", "en");

const [DEEPSEEK] = VENDORS;
assert(DEEPSEEK);
const CUSTOM = { name: "custom", baseUrl: "http://127.0.0.1:8080/v1", keyName: "" };

function vendorAnswers(model: string): SetupAnswers {
  assert(DEEPSEEK);
  const target = { ...DEEPSEEK, vendor: DEEPSEEK };
  return { entry: entryOf(target, { keyName: DEEPSEEK.keyName, model, window: 0 }), isDefault: true };
}

function customAnswers(model: string, window = 0, keyName = ""): SetupAnswers {
  return { entry: entryOf(CUSTOM, { keyName, model, window }), isDefault: false };
}

async function setUp(answers: readonly SetupAnswers[], files: { config?: string; env?: string } = {}) {
  await using directory = await makeTempDir();
  const home = directory.path;
  const file = `${home}/config.toml`;
  if (files.config) await Deno.writeTextFile(file, files.config);
  if (files.env) await Deno.writeTextFile(`${home}/.env`, files.env);
  for (const one of answers) await saveSetup(file, `${home}/.env`, one, texts.header);
  const { config, keys, warnings } = await loadConfig({ cwd: home, home, env: () => undefined });
  assertEquals(warnings, []);
  return { config, saved: keys.saved(), text: await Deno.readTextFile(file) };
}

Deno.test("setup writes a readable file that loads", async () => {
  const { text, config } = await setUp([{ ...customAnswers("m", 32768), isDefault: true }]);
  const [head = "", body = ""] = text.split("\n\n", 1).concat(text.slice(text.indexOf("\n\n") + 2));
  assert(head.split("\n").every((line) => line.startsWith("# ")));
  assertEquals(
    body,
    'default_model = "custom"\n\n[[providers]]\nname = "custom"\nbase_url = "http://127.0.0.1:8080/v1"\n' +
      'model = "m"\ncontext_window = 32768\n',
  );
  assertEquals(config.providers.map(({ name }) => name), ["custom"]);
});

Deno.test("setup keeps the known facts of a vendor for any model", async () => {
  for (const model of ["deepseek-v4-pro", "deepseek-v9"]) {
    const { config } = await setUp([vendorAnswers(model)], { config: await defaultConfigText() });
    const [entry] = config.providers;
    assertEquals([config.default_model, entry?.default], ["deepseek", model]);
    assert(entry?.models?.includes(model));
    assertEquals(entry?.compat.reasoning_field, "reasoning_content");
  }
});

Deno.test("a second setup adds a provider and keeps every other line in place", async () => {
  const config = '# mine\ndefault_model = "x"\n\n[[providers]]\nname = "x" # here\nbase_url = "http://y"\n' +
    'model = "m"\n\n# about tools\n[tools]\nbash_timeout_seconds = 60 # short\n';
  const { text } = await setUp([customAnswers("n")], { config });
  const added = '\n[[providers]]\nname = "custom"\nbase_url = "http://127.0.0.1:8080/v1"\nmodel = "n"\n';
  assertEquals(text, config.replace('model = "m"\n', `model = "m"\n${added}`));
});

Deno.test("a setup with the same name updates its entry and keeps comments and other settings", async () => {
  const config =
    '[[providers]]\nname = "custom" # one\nbase_url = "http://old/v1" # two\nmodels = ["a", "b"]\n' +
    'default = "b"\napi_key_env = "OLD"\ncontext_window = 5\ntemperature = 0.5\n';
  const { text, config: loaded } = await setUp([customAnswers("n", 9)], { config });
  assertEquals(loaded.providers.length, 1);
  const [entry] = loaded.providers;
  assertEquals([entry?.model, entry?.models, entry?.api_key_env], ["n", undefined, ""]);
  assertEquals([entry?.context_window, entry?.temperature], [9, 0.5]);
  for (const comment of ["# one", "# two"]) assertStringIncludes(text, comment);
});

Deno.test("an entry that setup adds is never part of a comment", async () => {
  const { text } = await setUp([customAnswers("n")], { config: await defaultConfigText() });
  const before = text.slice(0, text.indexOf('name = "custom"')).trimEnd().split("\n");
  assertEquals(before.at(-1), "[[providers]]");
  assert(!/^\s*#\s*\[/m.test(text), "no table is commented out");
});

Deno.test("setup replaces an older key and keeps the other lines", async () => {
  const env = "# keys\nDEEPSEEK_API_KEY=old\nOTHER_KEY=one";
  const key = { name: "DEEPSEEK_API_KEY", value: "sk-new#1" };
  const { saved } = await setUp([{ ...vendorAnswers("deepseek-v4-pro"), key }], { env });
  assertEquals([...saved], [["OTHER_KEY", "one"], ["DEEPSEEK_API_KEY", "sk-new#1"]]);
});

Deno.test("keyProblem rejects text that is not a key, and the key of another vendor", () => {
  const wrong: [key: string, vendor: string | undefined, output: string][] = [
    ["https://api.example.com", undefined, "address"],
    ["sk-1234 5678", "openai", "blanks"],
    ['"sk-12345678"', "openai", "quotes"],
    ["OPENAI_API_KEY=sk-12345678", "openai", "text after the ="],
    ["sk-1", "openai", "longer"],
    ["ключ-ключ", "openai", "letters"],
    ["sk-ant-api03-abcdefgh", "openai", "Anthropic"],
    ["gsk_abcdefghijkl", "deepseek", "Groq"],
  ];
  for (const [key, vendor, output] of wrong) {
    assertStringIncludes(keyProblem(key, vendor, texts.wrong) ?? "", output);
  }
  assertEquals(keyProblem("sk-proj-0123456789abcdef", "openai", texts.wrong), undefined);
  assertEquals(keyProblem("sk-ant-api03-abcdefgh", "anthropic", texts.wrong), undefined);
  assertEquals(keyProblem("gsk_abcdefghijkl", undefined, texts.wrong), undefined);
});

Deno.test("addressProblem rejects an address that contains a key or another address", () => {
  for (
    const address of [
      "https://api.deepseek.comsk-1234567890abcdef",
      "https://example.com/v1sk-1234567890abcdef",
      "http://127.0.0.1:8080/v1127.0.0.1:8091/v1",
      "http://a.example/v1http://b.example/v1",
      "https://sk-1234567890abcdef@example.com/v1",
      "api.example.com",
      "localhost:8080",
      "http:example.com",
      "ftp://example.com",
      "",
    ]
  ) assert(addressProblem(address, texts.wrong) !== undefined, address);
  for (
    const address of [
      "https://api.example.com/v1",
      "http://127.0.0.1:8080/v1",
      "http://[::1]:8000/v1",
      "https://helpdesk-internal2024a.example.com/v1",
      "https://gateway.example.com/v1?api-version=2024-10-01",
    ]
  ) assertEquals(addressProblem(address, texts.wrong), undefined, address);
});

Deno.test("readTokens reads numbers in common notations", () => {
  assertEquals(["131072", "128k", "1M", "131,072"].map(readTokens), [131072, 128000, 1_000_000, 131072]);
  assertEquals(["", "many", "1.5", "-3"].map(readTokens), [undefined, undefined, undefined, undefined]);
});
