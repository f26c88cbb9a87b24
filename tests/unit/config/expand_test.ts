import { lazyDotenv } from "../../../src/config/load/layer.ts";
import { expandConfig } from "../../../src/config/load/resolve.ts";
import { resolvePath } from "../../../src/config/config_paths.ts";
import { assertEquals } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const VARIABLES: Record<string, string> = { A: "one", EMPTY: "", NESTED: "${A}" };

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
      lookup: () => (name) => VARIABLES[name],
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
