/** Each way of installing in the README, run unchanged up to a finished task with an edit. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { DENO_DIRECTORY, type Machine, makeMachine, PLAIN_PATH, serveFiles } from "../support/machine.ts";
import { denoDir, mockConfig, programFile } from "../support/program.ts";
import { installLines } from "../support/readme.ts";
import { soakSize } from "../support/seed.ts";
import { assertSameBuild, copySources, elsewhere } from "../support/sources.ts";
import { needs } from "../support/tools.ts";
import { removeTree } from "../support/remove_tree.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const LINES = await installLines();
const [ADDRESS = "", NPX_ADDRESS = "", FILE = "", CLONE = "", NPX = "", ...WITH_INSTALLER] = LINES;
const UNINSTALL = "reasonix uninstall";

/** Puts a newer version where the program was. */
async function publishNewer({ files }: Machine): Promise<void> {
  const program = `${files}/dist/reasonix.js`;
  const newer = (await Deno.readTextFile(program)).replace(/"\d+\.\d+\.\d+"/, '"99.0.0"');
  await Deno.writeTextFile(program, newer);
}

interface TaskOptions {
  readonly env?: Record<string, string>;
  /** Starts the program; default: the installed command. */
  readonly command?: string;
}

/** Runs a whole task: the model reads a file and edits it. */
async function finishTask(machine: Machine, { env = {}, command }: TaskOptions = {}): Promise<void> {
  await using server = startModelServer([
    { calls: [{ name: "read_file", args: { path: "add.js" } }] },
    { calls: [{ name: "edit_file", args: { path: "add.js", old_string: "a - b", new_string: "a + b" } }] },
    { text: "Fixed." },
  ]);
  await Deno.mkdir(`${machine.home}/.reasonix`, { recursive: true });
  await Deno.writeTextFile(`${machine.home}/.reasonix/config.toml`, mockConfig(server.url));
  await Deno.writeTextFile(`${machine.work}/add.js`, "export const add = (a, b) => a - b;\n");
  const done = await machine.sh(`${command ?? machine.command} run "fix add.js"`, { env });
  assertEquals(
    await Deno.readTextFile(`${machine.work}/add.js`),
    "export const add = (a, b) => a + b;\n",
    done.text,
  );
  assertEquals(done.code, 0, done.text);
  assertStringIncludes(done.text, "Fixed.");
}

/** Uninstalls as in the README or with the runtime; only the listed files remain. */
async function uninstall(
  machine: Machine,
  line = UNINSTALL,
  env: Record<string, string> = {},
): Promise<void> {
  const PATH = `${machine.home}/.deno/bin:${DENO_DIRECTORY}:${PLAIN_PATH}`;
  const { code, text } = await machine.sh(line, { env: { PATH, ...env } });
  assertEquals(code, 0, text);
  if (line === UNINSTALL) {
    assertStringIncludes(text, `Removed ${machine.command}\n`);
    assertStringIncludes(
      text,
      `Configuration, keys and sessions remain in ${machine.home}/.reasonix. To remove them too: rm -r `,
    );
  }
  assertEquals([...Deno.readDirSync(`${machine.home}/.deno/bin`)], []);
  const left = [...Deno.readDirSync(machine.home)].map(({ name }) => name).filter((name) =>
    name !== ".npm" && name !== ".local"
  );
  const data = `${machine.home}/.local/share`;
  assert(!(await Deno.stat(`${data}/reasonix`).catch(() => undefined)), `${data} has files of the program`);
  assertEquals(left.sort(), [".deno", ".reasonix"]);
  assert(await Deno.stat(`${machine.home}/.reasonix/config.toml`).then(({ isFile }) => isFile));
}

Deno.test("the program installs from an address, edits files without its server, updates and uninstalls", async () => {
  await using machine = await makeMachine();
  await using server = serveFiles(`${machine.files}/dist`);
  const line = server.here(ADDRESS);
  const installed = await machine.sh(line);
  assertEquals(installed.code, 0, installed.text);
  await finishTask(machine);
  // Parts of the program are requested by build, since the runtime keeps it for good.
  const parts = server.asked.filter((path) => path !== "/reasonix.js");
  assert(parts.some((path) => path.startsWith("/reasonix.tools.js?")), `${server.asked}`);
  for (const path of parts) assertMatch(path, /^\/reasonix\.\w+\.js\?\d+\.\d+\.\d+/);
  await publishNewer(machine);
  const updated = await machine.sh(line.replace("install -g", "install -g -f --reload"));
  assertEquals(updated.code, 0, updated.text);
  await server.close();
  assertEquals((await machine.sh(`${machine.command} --version`)).text, "reasonix 99.0.0\n");
  await finishTask(machine);
  await uninstall(machine, "deno uninstall -g reasonix");
});

Deno.test("the program installs from a file, keeps the denials and uninstalls", async () => {
  await using machine = await makeMachine();
  const installed = await machine.sh(FILE, { cwd: machine.files });
  assertEquals(installed.code, 0, installed.text);
  await finishTask(machine);
  assertMatch((await machine.sh(`${machine.command} doctor --verbose`)).text, /denied +ffi, import\n/);
  await uninstall(machine);
  const open = await machine.sh(`deno run -A --no-config ${machine.files}/dist/reasonix.js doctor`);
  assertMatch(open.text, /✗ This program was started with permission to load native code \(ffi\)/);
  assertMatch(open.text, /✗ .* to load remote modules \(import\)/);
  // A probe instead of the program checks the flags of the installed command.
  await Deno.writeTextFile(
    `${machine.files}/dist/reasonix.js`,
    `const name = "https://jsr.io/@std/x/mod.ts";
     const remote = await import(name).catch((error) => error.message);
     console.log(Deno.permissions.querySync({ name: "ffi" }).state, remote);`,
  );
  await machine.sh(FILE, { cwd: machine.files });
  assertMatch((await machine.sh(machine.command)).text, /^denied .*--no-remote is specified/);
});

const npx = PLAIN_PATH.split(":").map((directory) => `${directory}/npx`).find((file) => {
  try {
    return Deno.statSync(file).isFile;
  } catch {
    return false;
  }
});

/** Packages come from the caches of this machine. */
function caches(): Record<string, string> {
  return {
    ...denoDir(),
    npm_config_cache: `${Deno.env.get("HOME") ?? ""}/.npm`,
    npm_config_update_notifier: "false",
  };
}

for (
  const { way, line, path, test } of [
    {
      way: "a clone",
      line: CLONE,
      path: `${DENO_DIRECTORY}:${PLAIN_PATH}`,
      // The line with npx builds the same program; this one runs with `deno task soak`.
      test: (name: string) => ({ name, ignore: soakSize(0, 1) === 1 }),
    },
    {
      way: "a clone with npx only",
      line: NPX,
      path: PLAIN_PATH,
      test: (name: string) => needs("npx", npx !== undefined, name),
    },
  ]
) {
  Deno.test({
    ...test(`the program installs from ${way} with a command that needs no deno in PATH`),
    fn: async () => {
      await using machine = await makeMachine();
      const dist = `${machine.files}/dist`;
      await removeTree(dist);
      await copySources(machine.files);
      const installed = await machine.sh(line, {
        cwd: machine.files,
        env: { ...caches(), ...await elsewhere(machine.work), PATH: path },
      });
      assertEquals(installed.code, 0, installed.text);
      assertStringIncludes(installed.text, `Add ${machine.home}/.deno/bin to PATH`);
      // Another directory, home, locale and time zone make the same bytes. A clone keeps its page.
      await assertSameBuild(dist, (await programFile()).replace(/\/[^/]*$/, ""), {
        without: ["mod.js", "page.json"],
      });
      await finishTask(machine, { env: { PATH: "/usr/bin:/bin" } });
      await uninstall(machine);
    },
  });
}

Deno.test({
  ...needs("npx", npx !== undefined, "the program runs, installs and updates from an address with npx only"),
  fn: async () => {
    await using machine = await makeMachine();
    await using server = serveFiles(`${machine.files}/dist`);
    const line = server.here(NPX_ADDRESS);
    const env = { ...caches(), DENO_DIR: `${machine.files}/deno`, PATH: PLAIN_PATH };
    await finishTask(machine, { env, command: line.replace(/ install$/, "") });
    const installed = await machine.sh(line, { env });
    assertEquals(installed.code, 0, installed.text);
    const cron = { env: { DENO_DIR: env.DENO_DIR, PATH: "/usr/bin:/bin" } };
    await finishTask(machine, cron);
    await publishNewer(machine);
    const updated = await machine.sh(line.replace("deno@2.9.6 run", "deno@2.9.6 run --reload"), { env });
    assertEquals(updated.code, 0, updated.text);
    assertMatch(
      (await machine.sh(`${machine.command} doctor --verbose`, cron)).text,
      /limited +import\n.*denied +ffi\n/s,
    );
    await server.close();
    assertEquals((await machine.sh(`${machine.command} --version`, cron)).text, "reasonix 99.0.0\n");
    await finishTask(machine, cron);
    await uninstall(machine, UNINSTALL, { DENO_DIR: env.DENO_DIR });
  },
});

Deno.test({
  ...needs("npx", npx !== undefined, "each line with install.js installs the program, up to a finished task"),
  fn: async () => {
    assertEquals(WITH_INSTALLER.length, 3);
    await using machine = await makeMachine();
    await using server = serveFiles(`${machine.files}/dist`);
    for (const line of WITH_INSTALLER) {
      const env = line.startsWith("npx") ? { ...caches(), PATH: PLAIN_PATH } : {};
      const installed = await machine.sh(server.here(line), { cwd: machine.files, env });
      assertEquals(installed.code, 0, installed.text);
      assertStringIncludes(installed.text, `Installed Reasonix`);
    }
    await server.close();
    await finishTask(machine, { env: { PATH: "/usr/bin:/bin" } });
    await uninstall(machine);
  },
});

Deno.test("the installed command reports problems of its directory or home", async () => {
  await using machine = await makeMachine();
  const line = `deno run ${START_FLAGS.join(" ")} --no-config dist/reasonix.js`;
  assertEquals((await machine.sh(`${line} install`, { cwd: machine.files })).code, 0);
  for (const command of ["run x", "", "chat", "context", "doctor"]) {
    const gone = `mkdir gone && cd gone && rmdir ../gone && ${machine.command} ${command} 2>&1`;
    const { code, text } = await machine.sh(gone);
    assertEquals(code, 2, text);
    assertStringIncludes(text, "error: Cannot work in the current directory: it was removed");
  }
  const { code, text } = await machine.sh(`touch file && HOME=$PWD/file ${machine.command} run x 2>&1`);
  assertEquals([code, text.split("\n")[0]], [2, "error: HOME is not a directory"]);
});

Deno.test("the installed command refuses a closed output", async () => {
  await using machine = await makeMachine();
  const line = `deno run ${START_FLAGS.join(" ")} --no-config dist/reasonix.js`;
  assertEquals((await machine.sh(`${line} install`, { cwd: machine.files })).code, 0);
  const { code, text } = await machine.sh(`${machine.command} run x >&-`);
  assertEquals([code, text.split("\n")[0]], [
    1,
    "error: Standard output is closed, so the answer would be lost",
  ]);
  assertEquals((await machine.sh(`${machine.command} --version > /dev/null`)).code, 0);
  const sources = await machine.sh(`deno run ${START_FLAGS.join(" ")} ${ROOT}cli/main.ts install`, {
    env: denoDir(),
  });
  assertEquals(sources.code, 2, sources.text);
  assertStringIncludes(sources.text, "build and install them with: deno task install");
});
