/** The built program: one file without paths of the build machine, which compiles to executables. */
import { Buffer } from "node:buffer";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../../scripts/bundle.ts";
import { partFiles, WORKER } from "../../scripts/bundle/parts.ts";
import { compile, compileArgs, TARGETS } from "../../scripts/compile.ts";
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const manifest = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));

const directory = await Deno.makeTempDir({ prefix: "reasonix-bundle-" });
const file = `${directory}/reasonix.js`;

Deno.test.beforeAll(async () => {
  await bundle(file);
});

Deno.test.afterAll(async () => {
  await Deno.remove(directory, { recursive: true });
});

Deno.test("the bundle is one file without paths of the build machine", async () => {
  const code = await Deno.readTextFile(file);
  assert(code.startsWith(`#!/usr/bin/env -S deno run ${START_FLAGS.join(" ")} --no-config\n`));
  assertStringIncludes(code.slice(0, 300), `Reasonix ${manifest.version}`);
  assert(!code.includes(new URL("../..", import.meta.url).pathname), "it holds a path of the source tree");
  assert(!/from\s*["']\.{1,2}\//.test(code), "it imports another file");
});

for (const target of TARGETS) {
  Deno.test(`the executable for ${target} contains every part of the program`, () => {
    const args = compileArgs(file, target, directory);
    assertEquals(args[args.indexOf("--target") + 1], target);
    assertEquals(args.at(-1), file);
    const included = args.flatMap((arg, at) => args[at - 1] === "--include" ? [arg] : []);
    // An executable starts its workers from itself.
    const made = [...Deno.readDirSync(directory)].map(({ name }) => name)
      .filter((name) => /^reasonix\..+\.js$/.test(name) && name !== WORKER);
    assertEquals([...included].sort(), made.map((name) => `${directory}/${name}`).sort());
  });
}

Deno.test("all parts are embedded into a stand-alone executable", async () => {
  const target = TARGETS.find((name) => name === Deno.build.target);
  assert(target !== undefined, `${Deno.build.target} is not a target`);
  const own = Deno.env.get("DENORT_BIN");
  if (own === undefined) Deno.env.set("DENORT_BIN", Deno.execPath());
  try {
    const made = Buffer.from(await Deno.readFile(await compile(file, target, directory)));
    for (const name of ["reasonix.js", ...partFiles()]) {
      assert(
        made.includes(Buffer.from(await Deno.readFile(`${directory}/${name}`))),
        `${name} is not in it as it was built`,
      );
    }
  } finally {
    if (own === undefined) Deno.env.delete("DENORT_BIN");
  }
});

/**
 * An executable of the bundle, or a command that behaves like one: it is started, and starts itself, with
 * nothing but arguments. The runtime of executables cannot be had everywhere; DENORT_BIN names one.
 */
async function executable(): Promise<string> {
  if (Deno.env.has("DENORT_BIN")) {
    const target = TARGETS.find((name) => name === Deno.build.target);
    assert(target !== undefined);
    return await compile(file, target, directory);
  }
  const [name, preload] = [`${directory}/reasonix`, `${directory}/stand_in.js`];
  await Deno.writeTextFile(
    preload,
    `Object.defineProperty(Deno, "build", { value: { ...Deno.build, standalone: true } });\n` +
      `Deno.execPath = () => ${JSON.stringify(name)};\n`,
  );
  const flags = [...START_FLAGS, "--no-config", "--preload", preload].join(" ");
  await Deno.writeTextFile(name, `#!/bin/sh\nexec ${Deno.execPath()} run ${flags} ${file} "$@"\n`);
  await Deno.chmod(name, 0o755);
  return name;
}

Deno.test({
  name: "an executable completes a task with tools",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using trial = await makeTrial();
    await trial.work([Deno.execPath(), "run", ...START_FLAGS, "--no-config", file]);
    await trial.work([await executable()]);
  },
});

/**
 * Minifying inlines a resource that is used only once, which is then never closed: write try and finally
 * there.
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
  const files = ["reasonix.js", ...partFiles()];
  const code = await Promise.all(files.map((name) => Deno.readTextFile(`${directory}/${name}`)));
  assertEquals(count(code.join(""), /\busing [\w$]+=/g), declared);
});
