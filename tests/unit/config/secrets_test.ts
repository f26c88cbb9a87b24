import { environmentSecrets } from "../../../src/config/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const PROVIDER = `[[providers]]
name = "p"
model = "m"
base_url = "\${BASE}"
api_key_env = "P_KEY"
headers = { Authorization = "Bearer \${HDR}", "X-Home" = "\${HOME}", "X-Stage" = "\${STAGE}" }
[[plugins]]
name = "q"
command = "serve"
args = ["--root", "\${MYDIR}", "--token", "\${FLAGGED}", "\${LOOKS}"]
env = { ACCESS_TOKEN = "\${PLUG:-none}", STAGE = "\${STAGE}", LOCALE = "\${MYLANG}", DB = "\${DB_URL}", PLACE = "\${REGION}" }
[sandbox]
allow_write = ["\${WORK}/x"]
`;
const VARIABLES = {
  P_KEY: "key-of-provider",
  BASE: "https://api.example.com/of-a-user",
  HDR: "header-secret",
  PLUG: "plugin-secret",
  WORK: "/srv/work-directory",
  MYDIR: "/srv/projects/shop",
  STAGE: "production",
  NODE_ENV: "production",
  MYLANG: "en_US.UTF-8",
  REGION: "eu-central-1",
  FLAGGED: "behind-a-flag",
  LOOKS: "q7Xk29fLmZ81pRt4Vb",
  DB_URL: "postgres://me:s3cret@db.example.com/shop",
  HOME: "/home/someone",
  PATH: "/usr/bin:/bin",
  GITHUB_TOKEN: "gh-0123456789",
  OPENAI_API_KEY: "sk-another-user",
  MY_SECRET_2: "another-secret",
  PGPASSWORD: "of-the-database",
  AWS_ACCESS_KEY_ID: "AKIA-of-an-account",
  GOOGLE_APPLICATION_CREDENTIALS: "/etc",
  USE_TOKEN: "true",
  KEYBOARD: "de-latin1-nodeadkeys",
  TOKENIZERS_PARALLELISM: "false-as-it-is",
};

Deno.test("environmentSecrets hides expanded secrets, vendor keys and values that look secret", async () => {
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "home/.env": "OTHER=o-secret-value\nBLANK=\n",
  });
  const loaded = await fixture.load({ variables: VARIABLES });
  const { keyNames, heldBack, values, redacted } = environmentSecrets(loaded, VARIABLES);
  assertEquals(keyNames.toSorted(), ["BLANK", "DEEPSEEK_API_KEY", "OTHER", "P_KEY"]);
  assertEquals(heldBack.toSorted(), [
    "AWS_ACCESS_KEY_ID",
    "DB_URL",
    "FLAGGED",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HDR",
    "LOOKS",
    "MY_SECRET_2",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "PLUG",
    "USE_TOKEN",
  ]);
  assertEquals(values.toSorted(), [
    "AKIA-of-an-account",
    "another-secret",
    "behind-a-flag",
    "gh-0123456789",
    "header-secret",
    "key-of-provider",
    "o-secret-value",
    "of-the-database",
    "plugin-secret",
    "postgres://me:s3cret@db.example.com/shop",
    "q7Xk29fLmZ81pRt4Vb",
    "sk-another-user",
  ]);
  assertEquals(redacted.toSorted(), values.toSorted());
});

Deno.test("pass_env passes variables to commands, redacts their values and never passes provider keys", async () => {
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

Deno.test("a project file cannot pass a variable", async () => {
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

Deno.test("a word, a path or a locale is not a secret under any name", async () => {
  const variables = {
    BASE: "https://api.example.com/",
    WORK: "/srv/work-directory",
    STAGE: "production",
    P_KEY: "placeholder",
    DB_PASSWORD: "postgres",
    HDR: "development",
    GITHUB_TOKEN: "/etc",
    COPY: "placeholder",
  };
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "home/.env": "MODE=production\nLOCALE=en_US.UTF-8\nREAL=k-4711-0815-x\n",
  });
  const loaded = await fixture.load({ variables });
  const { keyNames, heldBack, values, redacted } = environmentSecrets(loaded, variables);
  assertEquals([values, redacted], [["k-4711-0815-x"], ["k-4711-0815-x"]]);
  // By its name each of them stays out of commands.
  assertEquals(keyNames.toSorted(), ["DEEPSEEK_API_KEY", "LOCALE", "MODE", "P_KEY", "REAL"]);
  assertEquals(heldBack.toSorted(), ["DB_PASSWORD", "GITHUB_TOKEN"]);
});
