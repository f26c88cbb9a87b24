import { dropTornFiles, linesByPackage } from "../../scripts/cov.ts";
import { chooseStages, countTests } from "../../scripts/test.ts";
import { missingPaths, STAGES } from "../../scripts/test_stages.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../support/assert.ts";
import { removeTree } from "../support/remove_tree.ts";

Deno.test("countTests reads the last summary when a test prints another one", () => {
  const output =
    "ok | 9 passed | 0 failed (1ms)\n\x1b[31mFAILED\x1b[0m | 3 passed (2 steps) | 1 failed (4ms)\n";
  assertEquals(countTests(output, 1), { passed: 3, failed: 1, skipped: [] });
});

Deno.test("countTests counts a failure when the run failed without a summary or despite it", () => {
  const broken = (passed: number) => ({ passed, failed: 1, skipped: [] });
  assertEquals(countTests("error: cannot resolve module", 1), broken(0));
  assertEquals(countTests("ok | 2 passed | 0 failed (1ms)", 1), broken(2));
  assertEquals(countTests("", 0), broken(0));
});

Deno.test("countTests names the tests that were skipped", () => {
  const output =
    "a does b ... ok (1ms)\nc does d ... ignored (0ms)\n\nok | 1 passed | 0 failed | 1 ignored (3ms)\n";
  assertEquals(countTests(output, 0), { passed: 1, failed: 0, skipped: ["c does d"] });
});

Deno.test("chooseStages takes names and paths and refuses a word that is neither", () => {
  assertEquals(chooseStages([]).map((stage) => stage.name), STAGES.map((stage) => stage.name));
  assertEquals(chooseStages(["house", "tests/unit/core"]).map((stage) => stage.name), [
    "house",
    "tests/unit/core",
  ]);
  const unit = chooseStages(["unit"]);
  const [measured, others] = unit.map(({ command, paths }) => ({ command, paths }));
  assertEquals([unit.length, measured?.paths], [2, ["tests/unit"]]);
  assert(measured?.command.includes(`--ignore=${others?.paths.join()}`), "each test is in one of both");
  assertThrows(() => chooseStages(["unti"]), Error, '"unti"');
});

Deno.test("linesByPackage sums the lines of each package and skips other directories", () => {
  const lcov = ["/p/src/core/a.ts", "/p/src/core/b.ts", "/p/cli/main.ts", "/p/tests/x.ts", "/q/src/core/a.ts"]
    .map((file) => `SF:${file}\nDA:1,1\nLH:3\nLF:4\nend_of_record`).join("\n");
  assertEquals(
    linesByPackage(lcov, "/p"),
    new Map([["core", { hit: 6, found: 8 }], ["cli", { hit: 3, found: 4 }]]),
  );
});

Deno.test("missingPaths lists test directories that do not exist", async () => {
  assertEquals(await missingPaths(STAGES.flatMap((stage) => stage.paths)), []);
  assertEquals(await missingPaths(["tests/house", "tests/gone"]), ["tests/gone"]);
});

Deno.test("dropTornFiles keeps complete coverage files and removes partial ones", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/whole.json`, '{"url":"file:///a.ts"}');
    await Deno.writeTextFile(`${directory}/empty.json`, "");
    await Deno.writeTextFile(`${directory}/torn.json`, '{"url":"file:');
    await dropTornFiles(directory);
    assertEquals([...Deno.readDirSync(directory)].map(({ name }) => name), ["whole.json"]);
    await dropTornFiles(`${directory}/absent`);
  } finally {
    await removeTree(directory);
  }
});

Deno.test("the CI script runs the README's test command and nothing after it", async () => {
  const script = await Deno.readTextFile(new URL("../../.ci/run", import.meta.url));
  assertEquals(script.trimEnd().split("\n").at(-1), "exec npx -y deno@2.9.6 task test");
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url)).catch(() => undefined);
  if (readme !== undefined) assertStringIncludes(readme, "npx -y deno@2.9.6 task test");
});

Deno.test({
  name: "the CI script reports failed installs and continues with the tests",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const directory = await Deno.makeTempDir();
    try {
      const script = (name: string, text: string) =>
        Deno.writeTextFile(`${directory}/${name}`, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
      await script("id", "echo $ID");
      await script("dirname", 'echo "${1%/*}"');
      await script("apt-get", "exit 100");
      await script("npx", 'echo "$* with$REASONIX_CI_TOOLS"');
      await script("rg", "");
      const run = new URL("../../.ci/run", import.meta.url).pathname;
      const say = async (ID: string) => {
        const env = { PATH: directory, ID };
        const { stdout, stderr } = await new Deno.Command("/bin/bash", { args: [run], clearEnv: true, env })
          .output();
        assertEquals(new TextDecoder().decode(stdout), "-y deno@2.9.6 task test with rg\n");
        return new TextDecoder().decode(stderr);
      };
      const root = await say("0");
      for (
        const words of [
          "Cannot update the lists of packages: apt-get ended with exit code 100\n",
          "Cannot install bubblewrap: apt-get ended with exit code 100\n",
          "tmux is missing: the tests that need it are skipped",
        ]
      ) assertStringIncludes(root, words);
      assert(!root.includes("rg is missing"), root);
      const user = await say("1000");
      const [, names = ""] = user.match(/Cannot install (.*): that takes apt-get/) ?? [];
      assertEquals(
        names.split(" ").sort(),
        [
          "bubblewrap",
          "busybox",
          "chromium-headless-shell",
          "dash",
          "dpkg",
          "gh",
          "mandoc",
          "minisign",
          "parallel",
          "podman",
          "prometheus",
          "runc",
          "shellcheck",
          "slurm-wlm",
          "tmux",
        ],
        user,
      );
    } finally {
      await removeTree(directory);
    }
  },
});

Deno.test("the test command ends with its count and a matching exit code", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const file = `${directory}/sample_test.ts`;
    await Deno.writeTextFile(
      file,
      'Deno.test("a", () => {});\nDeno.test("b", () => { throw new Error("no"); });\n' +
        'Deno.test({ name: "c", ignore: true, fn() {} });\n',
    );
    const script = new URL("../../scripts/test.ts", import.meta.url).pathname;
    const done = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", script, file],
      cwd: directory,
    })
      .output();
    const output = new TextDecoder().decode(done.stdout);
    assertEquals(output.trimEnd().split("\n").at(-1), "1 passed, 1 failed, 1 skipped");
    assertStringIncludes(output, "Skipped:\n  c\n");
    assert(done.code === 1, `exit code ${done.code}`);
  } finally {
    await removeTree(directory);
  }
});
