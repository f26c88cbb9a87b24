/** The built program: one file that names no place of its making, and compiles. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../../scripts/bundle.ts";
import { compile, TARGETS } from "../../scripts/compile.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const manifest = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));

const folder = await Deno.makeTempDir({ prefix: "reasonix-bundle-" });
const file = `${folder}/reasonix.js`;

Deno.test.beforeAll(async () => {
  await bundle(file);
});

Deno.test.afterAll(async () => {
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the bundle is one file that names no place of the machine it was built on", async () => {
  const code = await Deno.readTextFile(file);
  assert(code.startsWith(`#!/usr/bin/env -S deno run ${START_FLAGS.join(" ")} --no-config\n`));
  assertStringIncludes(code.slice(0, 300), `Reasonix ${manifest.version}`);
  assert(!code.includes(new URL("../..", import.meta.url).pathname), "it holds a path of the source tree");
  assert(!/from\s*["']\.{1,2}\//.test(code), "it imports another file");
});

Deno.test("the program is embedded into a stand-alone executable when a runtime is at hand", async () => {
  const target = TARGETS.find((name) => name === Deno.build.target);
  assert(target !== undefined, `${Deno.build.target} is not a target`);
  Deno.env.set("DENORT_BIN", Deno.execPath());
  try {
    const made = await compile(file, target, folder);
    const size = (await Deno.stat(made)).size;
    const beside = [...Deno.readDirSync(folder)].filter(({ name }) => /^reasonix\..*js$/.test(name));
    const sizes = beside.map(({ name }) => Deno.statSync(`${folder}/${name}`).size);
    const parts = sizes.reduce((sum, one) => sum + one, Deno.statSync(Deno.execPath()).size);
    assert(
      beside.length > 3 && size > parts,
      `${size} bytes are fewer than the runtime and all parts, ${parts}`,
    );
  } finally {
    Deno.env.delete("DENORT_BIN");
  }
});

/**
 * Minifying puts a resource that is used only once in the place of its name, and then nobody closes it: write
 * try and finally there.
 */
Deno.test("the bundle closes every resource that the sources declare with using", async () => {
  const count = (source: string, form: RegExp) => source.match(form)?.length ?? 0;
  let declared = 0;
  const pending = ["cli", "src"].map((name) => new URL(`../../${name}`, import.meta.url).pathname);
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      if (isDirectory) pending.push(`${path}/${name}`);
      else declared += count(await Deno.readTextFile(`${path}/${name}`), /^\s*(?:await )?using \w+ =/gm);
    }
  }
  assert(declared > 0);
  const parts =
    "chat tools mcp_servers anthropic google responses llamacpp autonomy commands more seldom zh_cn".split(
      " ",
    );
  const files = ["reasonix.js", ...parts.map((part) => `reasonix.${part}.js`)];
  const code = await Promise.all(files.map((name) => Deno.readTextFile(`${folder}/${name}`)));
  assertEquals(count(code.join(""), /\busing [\w$]+=/g), declared);
});
