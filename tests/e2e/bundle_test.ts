/** The built program: one file without paths of the build machine, which compiles to executables. */
import { Buffer } from "node:buffer";
import { isProgramFile } from "../../cli/release/channel.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { ALONE_FILE, embeddedFiles, partFiles, WORKER } from "../../scripts/bundle/parts.ts";
import { visitChat } from "../../scripts/bundle/trace.ts";
import { writeTypes } from "../../scripts/bundle/types.ts";
import { chosenTargets, compile, compileArgs, compileProblem, TARGETS } from "../../scripts/compile.ts";
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, programFile } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { soakSize } from "../support/seed.ts";
import { assertSameBuild, copySources, elsewhere } from "../support/sources.ts";
import { removeTree } from "../support/remove_tree.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const manifest = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));

const file = await programFile();
const built = file.replace(/\/[^/]*$/, "");
/** Holds the files that these tests make. */
const directory = await Deno.makeTempDir({ prefix: "reasonix-bundle-" });

Deno.test.afterAll(async () => {
  await removeTree(directory);
});

Deno.test("the bundle is one file without paths of the build machine", async () => {
  const code = await Deno.readTextFile(file);
  assert(code.startsWith(`#!/usr/bin/env -S deno run ${START_FLAGS.join(" ")} --no-config\n`));
  assertStringIncludes(code.slice(0, 300), `Reasonix ${manifest.version}`);
  assert(!code.includes(ROOT), "it holds a path of the source tree");
  assert(!/from\s*["']\.{1,2}\//.test(code), "it imports another file");
});

for (const target of TARGETS) {
  Deno.test(`the executable for ${target} contains every part of the program`, () => {
    const args = compileArgs(file, target, directory);
    assertEquals(args[args.indexOf("--target") + 1], target);
    assertEquals(args.at(-1), file);
    const included = args.flatMap((arg, at) => args[at - 1] === "--include" ? [arg] : []);
    // An executable starts its workers from itself.
    const made = [...Deno.readDirSync(built)].map(({ name }) => name)
      .filter((name) => isProgramFile(name) && name !== "reasonix.js" && name !== WORKER);
    assertEquals([...included].sort(), made.map((name) => `${built}/${name}`).sort());
  });
}

Deno.test("a runtime that cannot be had is an error with each remedy", async () => {
  const [target] = TARGETS;
  const output =
    "Download https://dl.deno.land/release/v2.9.6/denort-x.zip\nerror: Writing failed\n\nCaused by:\n" +
    "    0: Setting up base binary.\n    1: client error (Connect)\n    2: dns error: unknown host\n\nStack backtrace:\n   0: <unknown>\n";
  const text = await compileProblem(target, output, undefined);
  assertMatch(
    text,
    /^Cannot compile for \S+: the runtime of executables is not on this machine, .*dns error: unknown host$/m,
  );
  const archive = `release/v${Deno.version.deno}/denort-${target}.zip`;
  for (const part of [`https://dl.deno.land/${archive}`, `/dl/${archive}`, "DENORT_BIN", "reasonix-all.js"]) {
    assertStringIncludes(text, part);
  }
  assertStringIncludes(await compileProblem(target, output, "/x/denort"), "DENORT_BIN=/x/denort: dns error");
  assertEquals(
    await compileProblem(target, "error: other", undefined),
    `Cannot compile for ${target}\nerror: other`,
  );
  assertEquals(chosenTargets(["--local"]).map(String), [Deno.build.target]);
  assertThrows(() => chosenTargets(["--local", target]), Error, "Cannot compile for --local");
});

Deno.test("texts of the web server, and of schemas in other languages, are in no other file", async () => {
  const files = ["reasonix.js", ...partFiles()];
  const having = async (text: string) => {
    const texts = await Promise.all(files.map((name) => Deno.readTextFile(`${built}/${name}`)));
    return files.filter((_, at) => texts[at]?.includes(text));
  };
  assertEquals(await having("frame-ancestors"), ["reasonix.web.js"]);
  // From the Catalan sentences of zod.
  assertEquals(await having("Tipus inv"), []);
});

Deno.test("all parts are embedded into a stand-alone executable", async () => {
  const target = TARGETS.find((name) => name === Deno.build.target);
  assert(target !== undefined, `${Deno.build.target} is not a target`);
  const own = Deno.env.get("DENORT_BIN");
  if (own === undefined) Deno.env.set("DENORT_BIN", Deno.execPath());
  try {
    const bytes = Buffer.from(await Deno.readFile(await compile(file, target, directory)));
    const runtime = await Deno.stat(Deno.env.get("DENORT_BIN") ?? "");
    // On Linux the runtime, in which a search takes seconds, comes first.
    const made = Deno.build.os === "linux" ? bytes.subarray(runtime.size) : bytes;
    for (const name of ["reasonix.js", ...embeddedFiles()]) {
      assert(
        made.includes(Buffer.from(await Deno.readFile(`${built}/${name}`))),
        `${name} is not in it as it was built`,
      );
      // The list of its files: the program looks for parts next to itself.
      assert(made.includes(Buffer.from(`"${name}"`)), `${name} is not among its files`);
    }
    for (const name of [ALONE_FILE, WORKER]) {
      assert(
        !made.includes(Buffer.from(`"${name}"`)),
        `${name} is among its files, and nothing uses it there`,
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
async function executable(directory: string): Promise<string> {
  if (Deno.env.has("DENORT_BIN")) {
    const target = TARGETS.find((name) => name === Deno.build.target);
    assert(target !== undefined);
    return await compile(file, target, directory);
  }
  const program = `${directory}/reasonix.js`;
  for (const name of ["reasonix.js", ...embeddedFiles()]) {
    await Deno.copyFile(`${built}/${name}`, `${directory}/${name}`);
  }
  const [name, preload] = [`${directory}/reasonix`, `${directory}/stand_in.js`];
  await Deno.writeTextFile(
    preload,
    `Object.defineProperty(Deno, "build", { value: { ...Deno.build, standalone: true } });\n` +
      `Deno.execPath = () => ${JSON.stringify(name)};\n`,
  );
  const flags = [...START_FLAGS, "--no-config", "--preload", preload].join(" ");
  await Deno.writeTextFile(name, `#!/bin/sh\nexec ${Deno.execPath()} run ${flags} ${program} "$@"\n`);
  await Deno.chmod(name, 0o755);
  return name;
}

/** Starts a program with each of its parts, in a directory where no other file of it is. */
async function useEachPart(
  command: readonly string[],
  { home, plugin }: { readonly home: string; readonly plugin: RegExp },
): Promise<void> {
  const [program = "", ...before] = command;
  const env = { REASONIX_HOME: home, NO_COLOR: "1", REASONIX_LANG: "en" };
  const run = async (args: readonly string[], input = "", language = "en") => {
    const child = new Deno.Command(program, {
      args: [...before, ...args],
      cwd: home,
      env: { ...env, REASONIX_LANG: language },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    const written = writer.write(new TextEncoder().encode(input)).then(() => writer.close()).catch(() => {});
    const { stdout, stderr } = await child.output();
    await written;
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert(!text.includes("Internal error") && !text.includes("Cannot load /"), text);
    return text;
  };
  assertStringIncludes(await run(["doctor"]), "Providers");
  assertStringIncludes(await run(["docs", "start"]), "# Getting started");
  assertStringIncludes(await run(["version", "--licenses"]), "Third-party licenses");
  assertStringIncludes(await run(["--help"], "", "zh"), "用法");
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
  const served = await run(["plugin", "example"], `${JSON.stringify(initialize)}\n`);
  assertMatch(served, plugin);
  if (Deno.build.os === "linux") await visitChat([...command, "chat"], { cwd: home, env });
}
for (
  const { name, plugin, make } of [
    {
      name: "an executable",
      plugin: /"serverInfo"/,
      make: async (directory: string) => [await executable(directory)],
    },
    {
      name: ALONE_FILE,
      plugin: /^error: Cannot start the plugin example: this program has no file reasonix\.plugins\.js/m,
      make: async (directory: string) => {
        await Deno.copyFile(`${built}/${ALONE_FILE}`, `${directory}/${ALONE_FILE}`);
        return [Deno.execPath(), "run", ...START_FLAGS, "--no-config", `${directory}/${ALONE_FILE}`];
      },
    },
  ]
) {
  Deno.test({
    name: `${name} completes a task with tools, and finds each of its parts`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using trial = await makeTrial();
      await using temp = await makeTempDir();
      const command = await make(temp.path);
      await trial.work(command);
      await useEachPart(command, { home: trial.home, plugin });
    },
  });
}

/** Builds the program and the library from a copy of the sources and the packages; returns the files. */
async function buildElsewhere(): Promise<string> {
  const [copy, output, home] = ["another directory/sources", "output", "home"].map((name) =>
    `${directory}/${name}`
  ) as [string, string, string];
  const run = async (command: string, args: readonly string[], env: Record<string, string> = {}) => {
    const done = await new Deno.Command(command, { args: [...args], cwd: ROOT, env }).output();
    assert(done.success, new TextDecoder().decode(done.stderr));
    return new TextDecoder().decode(done.stdout);
  };
  await copySources(copy);
  await Deno.mkdir(`${home}/cache`, { recursive: true });
  const { denoDir } = JSON.parse(await run(Deno.execPath(), ["info", "--json"]));
  await run("cp", ["-R", `${denoDir}/npm`, `${denoDir}/dl`, `${home}/cache`]);
  await run(Deno.execPath(), ["run", "-A", `${copy}/scripts/bundle.ts`, `${output}/reasonix.js`], {
    ...await elsewhere(home),
    DENO_DIR: `${home}/cache`,
    HOME: home,
  });
  return output;
}

Deno.test({
  name: "a build in another directory with another home and locale makes the same bytes",
  // The installation from a clone compares the program; this one, of all files, runs with `deno task soak`.
  ignore: soakSize(0, 1) === 1,
  fn: async () => {
    const made = await buildElsewhere();
    const expected = `${directory}/expected`;
    await new Deno.Command("cp", { args: ["-R", built, expected] }).output();
    await writeTypes(`${expected}/types`);
    await assertSameBuild(made, expected);
  },
});

interface Coverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

/** `scripts/bundle/executed.txt` is only right about the code for which it was written. */
Deno.test("a short task loads no part, and what it executes is compiled with the file", async () => {
  await using server = startModelServer([{ text: "Hi." }]);
  await using world = await makeWorld(mockConfig(server.url));
  const coverage = `${world.dir}/coverage`;
  const done = await world.run(["run", "say hi"], { env: { DENO_COVERAGE_DIR: coverage } });
  assertEquals(done.code, 0, done.stderr);
  const scripts = [...Deno.readDirSync(coverage)].filter(({ name }) => name.endsWith(".json"))
    .map(({ name }) => JSON.parse(Deno.readTextFileSync(`${coverage}/${name}`)) as Coverage);
  const remedy = "is the list old? Run: deno task trace";
  const named = new Map(scripts.map((script) => [script.url.replace(/^.*\//, ""), script]));
  // While the model thinks the program loads what calls need: a busy machine leaves time for it.
  assertEquals([...named.keys()].filter((name) => name !== "reasonix.tools.js"), ["reasonix.js"], remedy);
  const code = await Deno.readTextFile(file);
  const functions = (named.get("reasonix.js")?.functions ?? []).flatMap(({ ranges }) => ranges.slice(0, 1))
    .filter(({ count }) => count > 0);
  const textOf = ({ startOffset }: { readonly startOffset: number }) =>
    code.slice(startOffset, startOffset + 100);
  const chunks = functions.filter((range) => textOf(range).startsWith("async function($need){"));
  const isOuter = ({ startOffset, endOffset }: (typeof functions)[number]) =>
    functions.filter((other) => other.startOffset < startOffset && endOffset < other.endOffset)
      .every((other) => other.startOffset === 0 || chunks.includes(other));
  const outer = functions.filter(isOuter);
  // Declared functions that are marked have become variables.
  const declared = outer.filter((range) => /^(?:async )?function\*? *[\w$]+\(/.test(textOf(range)));
  assert(chunks.length > 50 && outer.length > 200, `${chunks.length} chunks, ${outer.length} functions`);
  assert(
    declared.length < outer.length / 10,
    `${declared.length} of ${outer.length} are not marked; ${remedy}`,
  );
});

/**
 * Minifying inlines a resource that is used only once, which is then never closed: write try and finally
 * there.
 */
Deno.test("the bundle closes every resource that the sources declare with using", async () => {
  const count = (source: string, form: RegExp) => source.match(form)?.length ?? 0;
  const declared = new Map<string, number>();
  const pending = ["cli", "src"];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const { name, isDirectory } of Deno.readDirSync(ROOT + path)) {
      const below = `${path}/${name}`;
      if (isDirectory) pending.push(below);
      else {
        declared.set(
          below,
          count(await Deno.readTextFile(ROOT + below), /^\s*(?:await )?using \w+ =/gm),
        );
      }
    }
  }
  const installer = "cli/release/install.ts";
  const sumOf = (files: readonly string[]) => files.reduce((sum, name) => sum + (declared.get(name) ?? 0), 0);
  const inFiles = async (names: readonly string[]) => {
    const code = await Promise.all(names.map((name) => Deno.readTextFile(`${built}/${name}`)));
    return count(code.join(""), /\busing [\w$]+=/g);
  };
  const program = [...declared.keys()].filter((name) => name !== installer);
  assert(sumOf(program) > 0);
  assertEquals(await inFiles(["reasonix.js", ...partFiles()]), sumOf(program));
  assertEquals(await inFiles(["install.js"]), sumOf([installer, "cli/release/download.ts"]));
});
