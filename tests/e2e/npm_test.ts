/** The npm package, up to a finished task: with npm, npx and pnpm, and where a step fails. */
import pnpm from "pnpm" with { type: "json" };
import { installLine } from "../../scripts/gen_tables.ts";
import { packPackage, writePackage } from "../../scripts/release/npm.ts";
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { startRegistry } from "../support/npm_registry.ts";
import { childrenOf, gone, type Living, processesWith } from "../support/processes.ts";
import { mockConfig, programFile } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { Random, SEED, someOf } from "../support/seed.ts";
import { needs } from "../support/tools.ts";
import { removeTree } from "../support/remove_tree.ts";

const NAME = "@tests/reasonix";
const LINUX = Deno.build.os === "linux";

/** The directory of npm in PATH. */
const npmDirectory = (Deno.env.get("PATH") ?? "").split(":").find((directory) => {
  try {
    return Deno.statSync(`${directory}/npm`).isFile;
  } catch {
    return false;
  }
});

const HAS_BWRAP = LINUX && new Deno.Command("sh", { args: ["-c", "command -v bwrap"] }).outputSync().success;

/** Options of a test that needs npm, and Linux for its table of processes. */
function withNpm(name: string): { name: string; ignore: boolean } {
  return needs("npm", npmDirectory !== undefined && LINUX, name);
}

interface Finished {
  readonly code: number;
  readonly text: string;
}

/** Holds the package, and the cache of npm for users who do not need an empty one. */
const shared = await Deno.makeTempDir({ prefix: "reasonix-npm-" });
const PACKAGE = `${shared}/package`;
const CACHE = `${shared}/cache`;

Deno.test.afterAll(() => removeTree(shared));

let packed: Promise<string> | undefined;

/** The file of the package, made once. */
function packageFile(): Promise<string> {
  return packed ??= (async () => {
    const program = await programFile();
    await writePackage({ from: program.replace(/\/[^/]*$/, ""), to: PACKAGE, name: NAME });
    return await packPackage(PACKAGE, shared);
  })();
}

interface UserOptions {
  /** The directory of npm; default: a new one. */
  readonly cache?: string;
  /** The registry has the executable of the runtime, not a script that becomes it. */
  readonly whole?: boolean;
}

/** A user without the program, and a registry that has its package. */
async function makeUser({ cache, whole = false }: UserOptions = {}) {
  const temp = await makeTempDir();
  const path = (name: string) => `${temp.path}/${name}`;
  for (const name of ["home", "work"]) await Deno.mkdir(path(name));
  const file = await packageFile();
  const registry = await startRegistry({ short: !whole });
  await registry.publish(file, JSON.parse(await Deno.readTextFile(`${PACKAGE}/package.json`)));
  const env = (more: Record<string, string> = {}): Record<string, string> => ({
    HOME: path("home"),
    PATH: `${path("prefix/bin")}:${npmDirectory}:/usr/bin:/bin`,
    NO_COLOR: "1",
    npm_config_prefix: path("prefix"),
    npm_config_cache: cache ?? path("cache"),
    npm_config_registry: registry.url,
    npm_config_update_notifier: "false",
    npm_config_fund: "false",
    npm_config_audit: "false",
    npm_config_fetch_retries: "0",
    PNPM_HOME: path("pnpm"),
    ...more,
  });
  const command = (line: string, more?: Record<string, string>) =>
    new Deno.Command("/bin/sh", {
      args: ["-c", line],
      cwd: path("work"),
      clearEnv: true,
      env: env(more),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  const decoder = new TextDecoder();
  const sh = async (line: string, more?: Record<string, string>): Promise<Finished> => {
    const { code, stdout, stderr } = await command(line, more).output();
    return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
  };
  return {
    path,
    registry,
    file,
    command,
    sh,
    env,
    /** Runs a line that has to succeed; returns its output. */
    async must(line: string, more?: Record<string, string>): Promise<string> {
      const { code, text } = await sh(line, more);
      assertEquals(code, 0, `${line}\n${text}`);
      return text;
    },
    /** Does a whole task with the command: files are written, edited and read, and a command runs. */
    async finishTask(words: readonly string[], more?: Record<string, string>): Promise<void> {
      await using trial = await makeTrial();
      await trial.work(words, env(more));
    },
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

type User = Awaited<ReturnType<typeof makeUser>>;

/** Names of all files below a directory. */
function filesBelow(directory: string): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${directory}/${name}`) : [`${directory}/${name}`]
  );
}

/** The processes of a command, from the first one to the program. */
function chainFrom(first: Living): Living[] {
  if (first.command.includes("/deno run --quiet")) return [first];
  return [first, ...childrenOf(first.pid).flatMap(chainFrom)];
}

const JOB = "sleep 987";

/**
 * Starts a task whose command never ends, and ends it. Nothing may remain, neither the program nor the
 * command that it started. `end` gets the processes that the user's table of processes shows for the task.
 */
async function waiting(user: User, line: string, end: (...chain: readonly Living[]) => void) {
  await using server = startModelServer([{ calls: [{ name: "bash", args: { command: JOB } }] }], {
    fallback: { text: "The end." },
  });
  const home = user.path("home");
  await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  await Deno.writeTextFile(`${home}/.reasonix/config.toml`, mockConfig(server.url));
  const child = user.command(`exec ${line} run "Wait"`).spawn();
  const texts = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  let chain: Living[] = [];
  const notStarted = await gone(async () => {
    const all = await processesWith(home);
    chain = all.filter(({ pid }) => pid === child.pid).flatMap(chainFrom);
    return all.some(({ command }) => command.startsWith(JOB)) ? [] : ["no job yet"];
  });
  if (notStarted.length === 0) end(...chain);
  else child.kill("SIGKILL");
  const { code, signal } = await child.status;
  const left = await gone(() => processesWith(home));
  const output = (await texts).join("\n");
  assertEquals(notStarted, [], `${line}: ${output}`);
  assertEquals(left, [], `${line} left processes: ${output}`);
  return { ended: signal ?? code, output, count: chain.length };
}

/** Sends a signal to one of the processes of a task; returns their number. */
async function endsWith(user: User, line: string, signal: Deno.Signal, at: number): Promise<number> {
  const { ended, count } = await waiting(user, line, (...chain) => {
    const victim = chain[at];
    assert(victim !== undefined, `${line} has ${chain.length} processes`);
    Deno.kill(victim.pid, signal);
  });
  // A process that the signal ended, or the exit code for it.
  const code = { SIGINT: 130, SIGTERM: 143, SIGHUP: 143, SIGKILL: 137 }[String(signal)];
  assert(at > 0 || ended === signal || ended === code, `${line} ended with ${ended} after ${signal}`);
  return count;
}

const random = new Random(SEED);

/** Ends every process of the chain with `some` signals that are drawn; all of them in `deno task soak`. */
async function endsCleanly(user: User, line: string, some = 2): Promise<void> {
  for (let at = 0, count = 1; at < count; at++) {
    for (const signal of someOf(["SIGTERM", "SIGHUP", "SIGKILL", "SIGINT"] as const, some, random)) {
      count = await endsWith(user, line, signal, at);
    }
  }
}

Deno.test({
  ...withNpm("npm installs the package into an empty prefix, and removes all of it"),
  async fn(t) {
    await using user = await makeUser({ whole: true });
    const command = user.path("prefix/bin/reasonix");
    await t.step("with its scripts the command is the shell command, up to a finished task", async () => {
      await user.must(`npm i -g ${user.file}`);
      assertMatch(await Deno.readTextFile(command), /^#!\/bin\/sh\n/);
      await user.finishTask([command]);
      assertMatch(await user.must("reasonix --version"), /^reasonix \d/);
    });
    await t.step("it has the checks of the shell command", async () => {
      assertStringIncludes((await user.sh("reasonix --version >&-")).text, "Standard output is closed");
      const gone = await user.sh("mkdir gone && cd gone && rmdir ../gone && reasonix --version");
      assertStringIncludes(gone.text, "error: Cannot work in the current directory");
      const runtime = `${user.path("prefix")}/lib/node_modules`;
      await Deno.rename(runtime, `${runtime}.moved`);
      const moved = await user.sh(`${runtime}.moved/${NAME}/bin/reasonix --version`);
      await Deno.rename(`${runtime}.moved`, runtime);
      assertEquals([moved.code, moved.text], [
        1,
        `error: Cannot find the files of ${NAME}: they were moved or removed\n` +
        `       Install it again: npm install -g ${NAME}\n`,
      ]);
    });
    await t.step("install and uninstall name npm's lines, and doctor no launcher", async () => {
      const installed = await user.sh("reasonix install");
      assertEquals([installed.code, installed.text.split("\n")[0]], [
        2,
        "error: Cannot install the program: npm installed it already",
      ]);
      assertStringIncludes((await user.sh("reasonix uninstall")).text, `npm rm -g ${NAME}`);
      assert(!(await user.sh("reasonix doctor")).text.includes("launcher"));
    });
    await t.step("no signal to the command leaves a process", () => endsCleanly(user, command));
    await t.step("npm rm -g leaves nothing of it", async () => {
      await user.must(`npm rm -g ${NAME}`);
      assertEquals(filesBelow(user.path("prefix")), []);
      // Of the program: its sessions. Of the runtime: its cache.
      const left = [...Deno.readDirSync(user.path("home"))].map(({ name }) => name);
      assertEquals(left.sort(), [".cache", ".reasonix"]);
    });
  },
});

Deno.test({
  ...withNpm("without scripts the launcher of the package starts the program"),
  async fn(t) {
    await using user = await makeUser({ cache: CACHE });
    const command = user.path("prefix/bin/reasonix");
    await user.must(`npm i -g --ignore-scripts ${user.file}`);
    await t.step("a task is finished", async () => {
      assertMatch(await Deno.readTextFile(command), /^#!\/usr\/bin\/env node\n/);
      await user.finishTask([command]);
    });
    await t.step("doctor names the launcher, its cost and the remedy", async () => {
      assertMatch(
        (await user.sh("reasonix doctor")).text,
        new RegExp(`launcher .* Node.*: npm install -g --allow-scripts=${NAME},deno ${NAME}`),
      );
    });
    await t.step("it ends the way the program ended", async () => {
      assertEquals((await user.sh("reasonix run --no-such-flag")).code, 2);
      assertEquals((await user.sh("reasonix --version | cat")).code, 0);
    });
    await t.step("no signal to any of its processes leaves one", () => endsCleanly(user, command, 1));
    await t.step("Ctrl-C, which reaches both and is passed on, stops the program cleanly", async () => {
      const { output } = await waiting(user, `setsid ${command}`, ({ pid }) => Deno.kill(-pid, "SIGINT"));
      assertMatch(output, /Interrupted\n.*continue with: reasonix run --resume/);
    });
  },
});

Deno.test({
  ...withNpm("npx does a task without an installation, and leaves no process"),
  async fn() {
    await using user = await makeUser({ cache: CACHE });
    await user.finishTask([`${npmDirectory}/npx`, "-y", NAME]);
    // npx passes INT to its shell only, which waits for the program all the same; Ctrl-C reaches all of them.
    const line = `npx -y ${NAME}`;
    for (const signal of someOf(["SIGTERM", "SIGHUP", "SIGKILL"] as const, 1, random)) {
      await endsWith(user, line, signal, 0);
    }
    await endsWith(user, line, "SIGKILL", 1);
    await removeTree(`${CACHE}/_npx`);
    const launched = `npx --ignore-scripts -y ${NAME}`;
    const count = await endsWith(user, launched, "SIGKILL", 0);
    const others = Array.from({ length: count - 1 }, (_, at) => at + 1);
    for (const at of someOf(others, 1, random)) await endsWith(user, launched, "SIGKILL", at);
  },
});

/** The file of pnpm in the cache of packages, to be started with Node. */
async function pnpmFile(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(stdout));
  const files = [...Deno.readDirSync(npmCache)].map(({ name }) =>
    `${npmCache}/${name}/pnpm/${pnpm.version}/bin/pnpm.cjs`
  );
  const found = files.find((file) => {
    try {
      return Deno.statSync(file).isFile;
    } catch {
      return false;
    }
  });
  assert(found !== undefined, `pnpm ${pnpm.version} is not in ${npmCache}`);
  return found;
}

Deno.test({
  ...withNpm("pnpm installs the package, whose launcher starts the program"),
  async fn() {
    await using user = await makeUser();
    const line = `node ${await pnpmFile()}`;
    const PATH = `${user.path("pnpm")}:${npmDirectory}:/usr/bin:/bin`;
    await user.must(`${line} add -g ${NAME}`, { PATH });
    const command = user.path("pnpm/reasonix");
    await user.finishTask([command]);
    assertStringIncludes((await user.sh(`${command} doctor`)).text, "The launcher of the npm package");
    await endsCleanly(user, command, 1);
  },
});

/** A file that Node reads before a script, so that it sees another version or platform. */
const OTHER_NODE = `const process = require("process");
const set = (object, key, value) => Object.defineProperty(object, key, { value });
const { version, platform, arch, musl } = JSON.parse(process.env.OTHER_NODE);
if (version) set(process, "versions", { node: version });
if (platform) set(process, "platform", platform);
if (arch) set(process, "arch", arch);
if (musl) {
  const fs = require("fs");
  fs.existsSync = () => false;
  fs.readdirSync = () => ["ld-musl-x86_64.so.1"];
}
`;

/** An installation of a user that fails, and a check that it left no file. */
function installing(user: User) {
  const prefix = user.path("prefix");
  const nothing = async (text: string, pattern: RegExp) => {
    assertMatch(text, pattern);
    const files = await Deno.stat(prefix).then(() => filesBelow(prefix), () => []);
    assertEquals(files, [], text);
  };
  return { prefix, line: `npm i -g ${NAME}`, nothing };
}

const NOT_COMPLETE =
  /error: Cannot .* (?:is not complete|of this platform)\n.*check the network and the free space on the disk, then/;

Deno.test({
  ...withNpm("an installation that breaks off names the reason and leaves nothing"),
  async fn(t) {
    await using user = await makeUser({ whole: true });
    const { prefix, line, nothing } = installing(user);
    await t.step("where the network ends in the middle of the runtime or of the package", async () => {
      for (
        const [cut, pattern] of [
          [
            /linux/,
            NOT_COMPLETE,
          ],
          [/reasonix/, /npm error/],
        ] as const
      ) {
        user.registry.cut(cut);
        await Deno.remove(user.path("cache"), { recursive: true }).catch(() => {});
        const { code, text } = await user.sh(line);
        assert(code !== 0, text);
        await nothing(text, pattern);
      }
      user.registry.cut(undefined);
    });
    await t.step({
      ...needs("bwrap", HAS_BWRAP, "on a full disk"),
      fn: async () => {
        await Deno.mkdir(prefix, { recursive: true });
        const full = (size: number) =>
          user.sh(
            `bwrap --dev-bind / / --size ${size} --tmpfs ${prefix} ` +
              `sh -c '${line}; code=$?; find ${prefix} -type f; exit $code'`,
          );
        // Room for the package, which is written in the time of a part of the runtime, and for most of that.
        const sizes = [...filesBelow(PACKAGE), Deno.execPath()].map((file) => Deno.statSync(file).size);
        for (
          const [size, pattern] of [
            [sizes.reduce((sum, size) => sum + size) - 8_000_000, NOT_COMPLETE],
            [300_000, /is not complete|are not complete|npm error/],
          ] as const
        ) {
          const { code, text } = await full(size);
          assert(code !== 0, text);
          assertMatch(text, pattern);
          assert(!text.split("\n").some((row) => row.startsWith(`${prefix}/`)), text);
        }
      },
    });
  },
});

Deno.test({
  ...withNpm("an installation that cannot work names the reason and leaves nothing"),
  async fn(t) {
    await using user = await makeUser();
    const { prefix, line, nothing } = installing(user);
    await t.step({
      ...needs("bwrap", HAS_BWRAP, "with a home that is read-only"),
      fn: async () => {
        const home = user.path("home");
        const { code, text } = await user.sh(`bwrap --dev-bind / / --ro-bind ${home} ${home} ${line}`, {
          npm_config_cache: `${home}/.npm`,
        });
        assert(code !== 0, text);
        await nothing(text, /npm error .*\/\.npm/);
      },
    });
    await t.step("where a command of that name exists, which stays", async () => {
      await Deno.mkdir(`${prefix}/bin`, { recursive: true });
      await Deno.writeTextFile(`${prefix}/bin/reasonix`, "mine\n");
      const { code, text } = await user.sh(line);
      assert(code !== 0, text);
      assertMatch(text, /File exists: .*\/bin\/reasonix\n.*Remove the existing file/);
      assertEquals(await Deno.readTextFile(`${prefix}/bin/reasonix`), "mine\n");
      await Deno.remove(`${prefix}/bin/reasonix`);
      await nothing(text, /EEXIST/);
    });
    await t.step("on another platform or with an old Node", async () => {
      await Deno.writeTextFile(user.path("other.cjs"), OTHER_NODE);
      for (
        const [other, error, remedy] of [
          [{ version: "12.22.9" }, `Node 12.22.9 is too old for ${NAME}`, "install Node 16 or later"],
          [
            { arch: "ia32" },
            "There is no runtime for linux on ia32",
            "it exists for Linux, macOS and Windows on 64-bit",
          ],
          [{ platform: "freebsd" }, "There is no runtime for freebsd on ", "it exists for"],
          [
            { musl: true },
            "There is no runtime for Linux with musl (Alpine)",
            "use a system or an image with glibc",
          ],
        ] as const
      ) {
        const env = { OTHER_NODE: JSON.stringify(other), NODE_OPTIONS: `-r ${user.path("other.cjs")}` };
        const check = await user.sh(`node -e "require('${PACKAGE}/scripts.cjs').check()"`, env);
        assertEquals(check.code, 1, check.text);
        assertMatch(check.text, /^error: .*\n {7}.*\n$/);
        assertStringIncludes(check.text, `error: ${error}`);
        assertStringIncludes(check.text, `       ${remedy}`);
      }
      const found = await user.sh(`node ${PACKAGE}/bin/reasonix --version`);
      assertMatch(found.text, /^error: Cannot find the runtime.*\n.*npm install -g .* --include=optional\n$/);
    });
    await t.step({
      ...needs(
        "bwrap",
        HAS_BWRAP,
        "where scripts cannot write, or others than npm execute them, the launcher stays",
      ),
      fn: async () => {
        await user.must(`${line} --ignore-scripts`);
        const at = `${prefix}/lib/node_modules/${NAME}`;
        await user.must(
          `bwrap --dev-bind / / --ro-bind ${prefix} ${prefix} sh -c 'cd ${at} && reasonix --version &&
          npm_config_user_agent=npm/1 node -e "require(\\"./scripts.cjs\\").replaceLauncher()"'`,
        );
        for (const other of ["pnpm/10.0.0 npm/?", "bun/1.3.0 npm/?", "yarn/4.9.0 npm/?"]) {
          const replace = `node -e "require('${at}/scripts.cjs').replaceLauncher()"`;
          await user.must(replace, { npm_config_user_agent: other });
        }
        assertEquals([...Deno.readDirSync(`${at}/bin`)].map(({ name }) => name), ["reasonix"]);
        assertMatch(await Deno.readTextFile(`${at}/bin/reasonix`), /^#!\/usr\/bin\/env node\n/);
      },
    });
  },
});

Deno.test({
  ...withNpm("the line of the front page installs the package of a clone, with its runtime"),
  fn: async () => {
    const line = installLine({}, { npm: "", clone: "", key: "" }).split("\n")[2]?.split(" && ")[1] ?? "";
    await using user = await makeUser({ cache: CACHE });
    await user.must(line.replace("./dist/npm", PACKAGE));
    await user.finishTask(["reasonix"]);
    await user.must(`npm rm -g ${NAME}`);
    assertEquals(filesBelow(user.path("prefix")), []);
  },
});
