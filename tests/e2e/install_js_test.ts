/** `install.js` from a loopback server: right and wrong files, older ones, and an end half way. */
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { testKey } from "../support/minisign.ts";
import { denoDir } from "../support/program.ts";
import { filesBelow, makeReleases, type Releases } from "../support/releases.ts";
import { makeTempDir } from "../support/tool_context.ts";

/** A user without any files. */
async function makeUser(releases: Releases) {
  const temp = await makeTempDir();
  const home = `${temp.path}/home`;
  await Deno.mkdir(home);
  const env = {
    HOME: home,
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...denoDir(),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
    REASONIX_LANG: "en",
  };
  const command = (args: readonly string[], program = Deno.execPath(), more: Record<string, string> = {}) =>
    new Deno.Command(program, {
      args: [...args],
      cwd: temp.path,
      clearEnv: true,
      env: { ...env, ...more },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  const line = ["run", "--quiet", "--reload", "-A", `${releases.base}/files/install.js`];
  const text = async (made: Deno.Command) => {
    const { code, stdout, stderr } = await made.output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
  };
  return {
    home,
    env,
    reasonix: `${home}/.deno/bin/reasonix`,
    install: (more: Record<string, string> = {}) => text(command(line, Deno.execPath(), more)),
    start: () => command(line).spawn(),
    run: (program: string, ...args: string[]) => text(command(args, program)),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

Deno.test("install.js installs a release to a finished task, without its server", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publishFiles("2.0.0");
  const done = await user.install();
  assertEquals([done.code, done.errors], [0, ""], done.out);
  assertEquals(
    done.out,
    `Downloading Reasonix 2.0.0 from ${releases.base}/files\n` +
      `Installed Reasonix 2.0.0 as ${user.reasonix}\n` +
      `Add ${user.home}/.deno/bin to PATH, or start it by its path\nNext: reasonix setup\n`,
  );
  const asked = releases.asked.length;
  assertEquals((await user.run(user.reasonix, "--version")).out, "reasonix 2.0.0\n");
  await using trial = await makeTrial();
  await trial.work([user.reasonix], user.env);
  assertMatch((await user.run(user.reasonix, "doctor", "--verbose")).out, /denied +ffi, import\n/);
  assertEquals(releases.asked.length, asked);
  // A second time it loads nothing but the sums.
  const again = await user.install();
  assertEquals([again.code, again.out.includes("Downloading")], [0, false], again.errors);
  assertEquals(releases.asked.slice(asked).filter((path) => path.includes("reasonix")), []);
  // Older files of the same makers, with their installer.
  await releases.publishFiles("1.5.0");
  const older = await user.install();
  assertEquals(older.code, 1);
  assertStringIncludes(
    older.errors,
    "Cannot install version 1.5.0: version 2.0.0 is installed, which is newer",
  );
  assertEquals((await user.run(user.reasonix, "--version")).out, "reasonix 2.0.0\n");
  assertEquals((await user.install({ REASONIX_VERSION: "1.4.0" })).code, 1);
  const chosen = await user.install({ REASONIX_VERSION: "1.5.0" });
  assertEquals(chosen.code, 0, chosen.errors);
  assertEquals((await user.run(user.reasonix, "--version")).out, "reasonix 1.5.0\n");
  assertEquals((await user.run(user.reasonix, "uninstall")).code, 0);
  // The task has filled the cache of the user's configuration.
  const left = filesBelow(user.home).filter((path) => !path.endsWith("/") && !path.startsWith(".reasonix/"));
  assertEquals(left, []);
});

/** Files and directories of the program, other than the directories of every program. */
function programFiles(home: string): string[] {
  return filesBelow(home).filter((path) => path.includes("reasonix"));
}

const PART = "reasonix.mcp.js";

/** Spoils a published release; says which error follows. */
const WRONG: Readonly<
  Record<string, readonly [RegExp, (releases: Releases, files: string) => Promise<void>]>
> = {
  "a changed file": [
    /Cannot use \S+reasonix\.mcp\.js: its SHA-256 is not the one/,
    async (_, files) => await Deno.writeTextFile(`${files}/${PART}`, "\n", { append: true }),
  ],
  "a truncated file": [
    /Cannot use \S+reasonix\.mcp\.js: its SHA-256 is not the one/,
    async (_, files) => await Deno.truncate(`${files}/${PART}`, 1000),
  ],
  "a connection that breaks": [/Cannot fetch \S+reasonix\.mcp\.js/, ({ answers }) => {
    answers.set(`/files/${PART}`, () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new Uint8Array(1000));
            controller.error(new Error("gone"));
          },
        }),
      ));
    return Promise.resolve();
  }],
  "a missing file": [
    /Cannot fetch \S+reasonix\.mcp\.js: 404/,
    async (_, files) => await Deno.remove(`${files}/${PART}`),
  ],
  "no signature": [
    /Cannot fetch \S+SHA256SUMS\.minisig: 404/,
    async (_, files) => await Deno.remove(`${files}/SHA256SUMS.minisig`),
  ],
  "the signature of another key": [
    /Cannot trust SHA256SUMS: it is signed with the key/,
    async ({ sign }, files) => await sign(files, "2.0.0", testKey()),
  ],
  "changed sums": [
    /Cannot trust SHA256SUMS: it was changed after it was signed/,
    async (_, files) => {
      const sums = await Deno.readTextFile(`${files}/SHA256SUMS`);
      await Deno.writeTextFile(
        `${files}/SHA256SUMS`,
        sums.replace(/^./, (digit) => digit === "0" ? "1" : "0"),
      );
    },
  ],
  "older files next to this installer": [
    /Cannot install version 1\.0\.0: the server has install\.js of version 2\.0\.0/,
    async ({ sign }, files) => await sign(files, "1.0.0"),
  ],
};

Deno.test("install.js installs nothing from wrong files, and leaves a command of another program", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  for (const [name, [error, spoil]] of Object.entries(WRONG)) {
    const files = await releases.publishFiles("2.0.0");
    releases.answers.clear();
    await spoil(releases, files);
    const done = await user.install();
    assertEquals(done.code, 1, `${name}: ${done.out}`);
    assertMatch(done.errors, error, name);
    assertEquals(done.errors.trimEnd().split("\n").length, 2, `${name}: one line and the remedy`);
    assertEquals(programFiles(user.home), [], name);
  }
  releases.answers.clear();
  await releases.publishFiles("2.0.0");
  await Deno.mkdir(`${user.home}/.deno/bin`, { recursive: true });
  await Deno.writeTextFile(user.reasonix, "#!/bin/sh\necho mine\n");
  const done = await user.install();
  assertStringIncludes(done.errors, `Cannot replace ${user.reasonix}: it belongs to another program`);
  assertEquals(await Deno.readTextFile(user.reasonix), "#!/bin/sh\necho mine\n");
  assertEquals(programFiles(user.home), [".deno/bin/reasonix"]);
});

Deno.test("install.js that ends half way leaves no command, and the next one completes", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publishFiles("2.0.0");
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const reached = Promise.withResolvers<void>();
    releases.answers.set(`/files/${PART}`, () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new Uint8Array(1000));
            reached.resolve();
          },
        }),
      ));
    const child = user.start();
    await reached.promise;
    child.kill(signal);
    const [{ code }, errors] = await Promise.all([child.status, new Response(child.stderr).text()]);
    await child.stdout.cancel();
    assert(code !== 0);
    if (signal === "SIGTERM") assertStringIncludes(errors, "nothing was changed");
    const left = filesBelow(user.home).filter((path) => !/\/versions\/\.new-/.test(path));
    assertEquals(left.filter((path) => !path.endsWith("/") && !path.endsWith("/lock")), []);
  }
  releases.answers.clear();
  const done = await user.install();
  assertEquals(done.code, 0, done.errors);
  assertEquals((await user.run(user.reasonix, "--version")).out, "reasonix 2.0.0\n");
  assertEquals(filesBelow(user.home).filter((path) => path.includes(".new-")), []);
});

Deno.test("install.js of a build without a key checks the sums of its server, and says so", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  const files = await releases.publishFiles("2.0.0");
  const program = `${files}/install.js`;
  const text = await Deno.readTextFile(program);
  await Deno.writeTextFile(program, text.replaceAll(releases.key.public, "@unset-public-key"));
  await Deno.remove(`${files}/SHA256SUMS.minisig`);
  await Deno.writeTextFile(`${files}/${PART}`, "\n", { append: true });
  assertStringIncludes((await user.install()).errors, "its SHA-256 is not the one");
  assertEquals(programFiles(user.home), []);
  await releases.sign(files, "2.0.0");
  const done = await user.install();
  assertEquals([done.code, done.errors], [0, ""]);
  assertStringIncludes(done.out, "Signatures are not checked: this build names no key.");
  assertEquals((await user.run(user.reasonix, "--version")).out, "reasonix 2.0.0\n");
});
