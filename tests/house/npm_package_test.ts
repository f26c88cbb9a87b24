import { RUNTIME_VERSION, writePackage } from "../../scripts/release/npm.ts";
import { installedFiles } from "../../scripts/bundle/parts.ts";
import { decided, NPM_NAME } from "../../cli/identity.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { makeTempDir } from "../support/tool_context.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("every line that starts a version of deno names the one of the npm package", async () => {
  const { code, stdout } = await new Deno.Command("git", {
    args: ["grep", "-hoE", "deno@[0-9]+\\.[0-9]+\\.[0-9]+", "--", ".ci", ".github", "*.md", "scripts"],
    cwd: ROOT,
  }).output();
  assertEquals(code, 0);
  const versions = new Set(new TextDecoder().decode(stdout).trim().split("\n"));
  assertEquals([...versions], [`deno@${RUNTIME_VERSION}`]);
});

/** A package of empty program files. */
async function written(root: string, name?: string) {
  for (const file of installedFiles()) {
    await Deno.writeTextFile(`${root}/${file}`, `const NPM_NAME = "@unset-npm-name";\n`);
  }
  const { name: used } = await writePackage({ from: root, to: `${root}/npm`, name });
  const manifest = JSON.parse(await Deno.readTextFile(`${root}/npm/package.json`));
  return { used, manifest, program: await Deno.readTextFile(`${root}/npm/lib/reasonix.js`) };
}

Deno.test("a package with a name can be published, and is pinned to its runtime", async () => {
  await using temp = await makeTempDir();
  const { used, manifest, program } = await written(temp.path, "@owner/name");
  assertEquals([used, manifest.name, manifest.private], ["@owner/name", "@owner/name", undefined]);
  assertEquals(manifest.dependencies, { deno: `=${RUNTIME_VERSION}` });
  assertEquals(manifest.bin, { reasonix: "bin/reasonix" });
  assertEquals([manifest.scripts.prepublishOnly, manifest.libc], [undefined, undefined]);
  assertStringIncludes(program, '"@owner/name"');
  assertMatch(await Deno.readTextFile(`${temp.path}/npm/README.md`), /npm install -g @owner\/name\n/);
});

Deno.test({
  name: "a package without a name serves on its machine only",
  ignore: decided(NPM_NAME) !== undefined,
  async fn() {
    await using temp = await makeTempDir();
    const { used, manifest } = await written(temp.path);
    assertEquals([used, manifest.private], ["reasonix-local", true]);
    assertStringIncludes(manifest.scripts.prepublishOnly, "Set NPM_NAME in cli/identity.ts");
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "scripts/release/npm.ts", "--publishable"],
      cwd: ROOT,
    }).output();
    assert(code !== 0);
    assertStringIncludes(new TextDecoder().decode(stderr), "Cannot publish a package without a name");
  },
});
