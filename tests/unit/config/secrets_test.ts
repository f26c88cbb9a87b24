import { environmentSecrets } from "../../../src/config/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const PROVIDER = `[[providers]]
name = "p"
model = "m"
base_url = "\${BASE}"
api_key_env = "P_KEY"
headers = { Authorization = "Bearer \${HDR}", "X-Home" = "\${HOME}" }
[[plugins]]
name = "q"
command = "serve"
env = { ACCESS = "\${PLUG:-none}" }
[sandbox]
allow_write = ["\${WORK}/x"]
`;
const VARIABLES = {
  P_KEY: "key-of-provider",
  BASE: "https://api.example.com/of-somebody",
  HDR: "header-secret",
  PLUG: "plugin-secret",
  WORK: "/srv/work-directory",
  HOME: "/home/someone",
  PATH: "/usr/bin:/bin",
  GITHUB_TOKEN: "gh-0123456789",
  OPENAI_API_KEY: "sk-somebody-else",
  MY_SECRET_2: "another-secret",
  PGPASSWORD: "of-the-database",
  AWS_ACCESS_KEY_ID: "AKIA-of-an-account",
  GOOGLE_APPLICATION_CREDENTIALS: "/etc",
  USE_TOKEN: "true",
  KEYBOARD: "de-latin1-nodeadkeys",
  TOKENIZERS_PARALLELISM: "false-as-it-is",
};

Deno.test("environmentSecrets holds back what the configuration expands, vendor keys and what looks secret", async () => {
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "home/.env": "OTHER=o-secret-value\nBLANK=\n",
  });
  const loaded = await fixture.load({ variables: VARIABLES });
  const { keyNames, heldBack, values, redacted } = environmentSecrets(loaded, VARIABLES);
  assertEquals(keyNames.toSorted(), ["BLANK", "DEEPSEEK_API_KEY", "OTHER", "P_KEY"]);
  assertEquals(heldBack.toSorted(), [
    "AWS_ACCESS_KEY_ID",
    "BASE",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HDR",
    "MY_SECRET_2",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "PLUG",
    "USE_TOKEN",
  ]);
  assertEquals(values.toSorted(), [
    "AKIA-of-an-account",
    "another-secret",
    "gh-0123456789",
    "header-secret",
    "https://api.example.com/of-somebody",
    "key-of-provider",
    "o-secret-value",
    "of-the-database",
    "plugin-secret",
    "sk-somebody-else",
  ]);
  assertEquals(redacted.toSorted(), values.toSorted());
});

Deno.test("pass_env lets names through to commands; their values stay out of texts, and no provider key passes", async () => {
  const config = `[tools.shell]\npass_env = ["GITHUB_TOKEN", "hdr", "P_KEY"]\n${PROVIDER}`;
  await using fixture = configFixture({ "home/config.toml": config });
  const loaded = await fixture.load({ variables: VARIABLES });
  const { keyNames, heldBack, values, redacted } = environmentSecrets(loaded, VARIABLES);
  assert(keyNames.includes("P_KEY"));
  assert(!heldBack.includes("GITHUB_TOKEN") && !heldBack.includes("HDR"));
  assert(!values.includes("gh-0123456789") && !values.includes("header-secret"));
  assert(redacted.includes("gh-0123456789") && redacted.includes("header-secret"));
  assert(values.includes("key-of-provider"));
});

Deno.test("a project file cannot let a variable through", async () => {
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "project/reasonix.toml": 'tools.shell.pass_env = ["GITHUB_TOKEN"]\n',
  });
  for (const trust of [() => false, () => true]) {
    const loaded = await fixture.load({ variables: VARIABLES, trust });
    assertEquals(loaded.config.tools.shell.pass_env, []);
    assert(loaded.warnings.some(({ message }) => message.includes("tools.shell.pass_env")));
  }
});
