import { resolvePath } from "../../../src/config/config_paths.ts";
import { lazyDotenv } from "../../../src/config/load/layer.ts";
import { expandConfig } from "../../../src/config/load/resolve.ts";
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

const ENVIRONMENT: Record<string, string> = { A: "one", EMPTY: "", NESTED: "${A}" };

const TEXTS: [text: string, expanded: string, missing: string[]][] = [
  ["plain $A text", "plain $A text", []],
  ["${A}-${A}", "one-one", []],
  ["${EMPTY}|${EMPTY:-x}", "|x", []],
  ["${NOPE:-default}", "default", []],
  ["${NOPE:-}", "", []],
  ["${NOPE:-http://h:1/p}", "http://h:1/p", []],
  ["${NOPE} ${A}", "${NOPE} one", ["NOPE"]],
  ["${NESTED}", "${A}", []],
  ["${a b} ${1} ${ ${A", "${a b} ${1} ${ ${A", []],
  ["${A:-x}", "one", []],
];

for (const [text, expanded, expected] of TEXTS) {
  Deno.test(`expandConfig expands ${JSON.stringify(text)} to ${JSON.stringify(expanded)}`, () => {
    const { table, missing } = expandConfig({ providers: [{ base_url: text }] }, {
      lookup: () => (name) => ENVIRONMENT[name],
      env: () => undefined,
      directory: "/",
      cwd: "/",
    });
    assertEquals(table, { providers: [{ base_url: expanded }] });
    assertEquals(missing.map(({ name }) => name), expected);
  });
}

Deno.test("loadConfig expands variables only where the schema allows it", async () => {
  await using fixture = configFixture({
    "home/.env": "FROM_HOME=h\n",
    "home/config.toml": `
default_model = "\${A}"
agent.system_prompt = "\${A}"
permissions.deny = ["Bash(\${A})"]
[[providers]]
name = "p"
base_url = "http://\${A}/\${FROM_HOME}"
headers = { X = "\${A}" }
[[plugins]]
name = "q"
type = "http"
url = "http://\${A}"
headers = { X = "\${A}" }
args = ["\${A}"]
env = { X = "\${A}" }
`,
  });
  const { config } = await fixture.load({ variables: { A: "one" } });
  assertEquals([config.default_model, config.agent.system_prompt], ["${A}", "${A}"]);
  assertEquals(config.permissions.deny, ["Bash(${A})"]);
  assertEquals([config.providers[0]?.base_url, config.providers[0]?.headers], ["http://one/h", { X: "one" }]);
  const [plugin] = config.plugins;
  assertEquals([plugin?.url, plugin?.headers, plugin?.args, plugin?.env], [
    "http://one",
    { X: "one" },
    ["one"],
    { X: "one" },
  ]);
});

Deno.test("loadConfig resolves paths from the file, and those of the sandbox from the working directory", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      'skills.paths = ["s"]\nagent.system_prompt_file = "p.md"\nsandbox.allow_write = ["out", "~/x"]\n',
  });
  const { config } = await fixture.load({ flags: { skills: { paths: ["t"] } } });
  assertEquals(config.skills.paths, [`${fixture.home}/s`, `${fixture.cwd}/t`]);
  assertEquals(config.agent.system_prompt_file, `${fixture.home}/p.md`);
  assertEquals(config.sandbox.allow_write, [`${fixture.cwd}/out`, "/home/someone/x"]);
});

Deno.test({
  name: "resolvePath returns absolute normalized paths",
  ignore: Deno.build.os === "windows",
  fn: () => {
    const env = (name: string) => name === "HOME" ? "/users/me" : undefined;
    const resolved = ["a", "./a/../b//c/", "../x", "/../..", "~", "~/k", "~other/k", "/a/./b", "*.md"]
      .map((path) => resolvePath(path, "/base/dir", env));
    assertEquals(resolved, [
      "/base/dir/a",
      "/base/dir/b/c",
      "/base/x",
      "/",
      "/users/me",
      "/users/me/k",
      "/base/dir/~other/k",
      "/a/b",
      "/base/dir/*.md",
    ]);
  },
});

Deno.test("lazyDotenv reads names, quotes, comments and export, without expansion", () => {
  const text = [
    "\uFEFFA=plain",
    "export B = spaced  # comment",
    "C='single # $A'",
    'D="double \\"q\\" \\n$A" # comment',
    "E=",
    "F=with#hash",
    "# G=no",
    "not a line",
    "1BAD=x",
    "H=a=b==",
    'I="open',
    "A=last",
  ].join("\r\n");
  assertEquals(Object.fromEntries(lazyDotenv(() => text)()), {
    A: "last",
    B: "spaced",
    C: "single # $A",
    D: 'double "q" \n$A',
    E: "",
    F: "with#hash",
    H: "a=b==",
    I: '"open',
  });
});
