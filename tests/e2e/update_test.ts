/** `reasonix update`: forward, back, with wrong releases, killed at any point, and next to a running chat. */
import { startFlagsFor } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, mockConfig } from "../support/program.ts";
import { filesBelow, makeReleases, type Releases, stamped, TARGET } from "../support/releases.ts";
import { makeTempDir } from "../support/tool_context.ts";

const SCRIPT = new URL("../../scripts/release/install.sh", import.meta.url);

/** A user with an empty home and workspace. */
async function makeUser(releases: Releases) {
  const temp = await makeTempDir();
  const [home, work] = [`${temp.path}/home`, `${temp.path}/work`];
  for (const path of [home, work]) await Deno.mkdir(path);
  const options = (env: Record<string, string>) => ({
    cwd: work,
    clearEnv: true,
    env: {
      HOME: home,
      PATH: `${home}/npm/bin:/usr/local/bin:/usr/bin:/bin`,
      ...denoDir(),
      DENO_NO_UPDATE_CHECK: "1",
      NO_COLOR: "1",
      REASONIX_LANG: "en",
      ...env,
    },
  });
  const run = async (line: string, env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
      args: ["-c", line],
      ...options(env),
    })
      .output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
  };
  return {
    home,
    work,
    run,
    spawn: (command: string, args: readonly string[]) =>
      new Deno.Command(command, {
        args: [...args],
        ...options({}),
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    /** Installs the latest version of a mirror, as install.sh does it. */
    async installScript(): Promise<string> {
      await Deno.writeTextFile(
        `${temp.path}/install.sh`,
        stamped(await Deno.readTextFile(SCRIPT), { key: releases.key.public }),
      );
      const done = await run(`sh ${temp.path}/install.sh`, { REASONIX_BASE_URL: releases.base });
      assertEquals([done.code, done.errors], [0, ""], done.out);
      return `${home}/.local/bin/reasonix`;
    },
    /** Writes a command that starts the program at an address, as `deno install` does it. */
    async installAddress(): Promise<string> {
      const address = `${releases.base}/files/reasonix.js`;
      const command = `${home}/.deno/bin/reasonix`;
      const flags = startFlagsFor(address);
      const done = await run(
        `${Deno.execPath()} install -g ${flags.join(" ")} -n reasonix --no-config ${address}`,
      );
      assertEquals(done.code, 0, done.errors);
      return command;
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

type User = Awaited<ReturnType<typeof makeUser>>;

async function assertVersion(user: User, command: string, version: string): Promise<void> {
  const { out, errors } = await user.run(`${command} --version`);
  assertEquals(out, `reasonix ${version}\n`, errors);
}

function versionsOf({ home }: User): string[] {
  return [...Deno.readDirSync(`${home}/.local/share/reasonix/versions`)].map(({ name }) =>
    name.replace(/\+.*/, "")
  ).sort();
}

/** Files of a home that are not the user's configuration, sessions and caches. */
function foreignFiles({ home }: User): string[] {
  return filesBelow(home).filter((file) => !file.endsWith("/") && !file.startsWith(".reasonix/"));
}

/** A chat on a pipe; the model answers, and edits a file when it is asked to. */
async function openChat(user: User, command: string) {
  const server = startModelServer([], {
    models: ["mock-1"],
    check: { prefix: false },
    fallback: ({ json }) => {
      const messages = json.messages as { role: string; content: string }[];
      const last = messages.at(-1);
      if (last?.role === "tool") return { text: "Edited." };
      return last?.content.includes("edit it")
        ? { calls: [{ name: "write_file", args: { path: "made.txt", content: "made\n" } }] }
        : { text: "Heard." };
    },
  });
  await Deno.mkdir(`${user.home}/.reasonix`, { recursive: true });
  await Deno.writeTextFile(`${user.home}/.reasonix/config.toml`, mockConfig(server.url));
  const child = user.spawn(command, ["chat", "--permission-mode", "acceptEdits"]);
  const writer = child.stdin.getWriter();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const errors = new Response(child.stderr).text();
  const say = async (line: string, answer: string) => {
    await writer.write(new TextEncoder().encode(`${line}\n`));
    let text = "";
    while (!text.includes(answer)) {
      const { value, done } = await output.read();
      assert(!done, `the chat ended: ${text}${done ? await errors : ""}`);
      text += value;
    }
  };
  await say("hello", "Heard.");
  return {
    say,
    async close(): Promise<void> {
      await writer.close();
      while (!(await output.read()).done);
      assertEquals((await child.status).code, 0, await errors);
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test("update, rollback and uninstall of install.sh's program leave exactly the user's files", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0");
  const command = await user.installScript();
  releases.asked.length = 0;
  // Nothing but the command asks a server.
  for (const line of ["--version", "doctor", "config path"]) await user.run(`${command} ${line}`);
  assertEquals(releases.asked, []);
  assertEquals(await user.run(`${command} update --check`), {
    code: 0,
    out: "reasonix 0.5.0 is the latest version\n",
    errors: "",
  });
  const nothing = await user.run(`${command} update --rollback`);
  assertEquals([nothing.code, nothing.errors.split("\n")[0]], [
    1,
    "error: Cannot go back: no earlier version is kept",
  ]);
  await releases.publish("0.6.0");
  const check = await user.run(`${command} update --check`);
  assertEquals([check.code, check.out], [
    10,
    "reasonix 0.6.0 is available; this is 0.5.0. To update: reasonix update\n",
  ]);
  await assertVersion(user, command, "0.5.0");
  const updated = await user.run(`${command} update`);
  assertEquals([updated.code, updated.out], [
    0,
    "Updated reasonix from 0.5.0 to 0.6.0\nTo go back: reasonix update --rollback\n",
  ], updated.errors);
  await assertVersion(user, command, "0.6.0");
  assertEquals((await user.run(`${command} update`)).out, "reasonix 0.6.0 is the latest version\n");
  const chinese = await user.run(`${command} update`, { REASONIX_LANG: "zh-CN" });
  assertEquals(chinese.out, "reasonix 0.6.0 已是最新版本\n");
  for (const version of ["0.5.0", "0.6.0", "0.5.0"]) {
    const back = await user.run(`${command} update --rollback`);
    assertEquals([back.code, back.out], [0, `The command starts reasonix ${version} again\n`], back.errors);
    await assertVersion(user, command, version);
  }
  // The kept files of a version are not downloaded again.
  releases.asked.length = 0;
  assertEquals((await user.run(`${command} update`)).code, 0);
  assert(!releases.asked.some((path) => path.endsWith(TARGET)), `${releases.asked}`);
  await releases.publish("0.10.0");
  assertEquals((await user.run(`${command} update`)).code, 0);
  assertEquals(versionsOf(user), ["0.10.0", "0.6.0"]);
  // A server that offers an older version as the latest one.
  await Deno.writeTextFile(`${releases.root}/latest`, "0.6.0\n");
  const older = await user.run(`${command} update`);
  assertEquals([older.code, older.errors.split("\n")[0]], [
    1,
    "error: Cannot update: the server offers version 0.6.0, which is older than this one, 0.10.0",
  ]);
  assertEquals((await user.run(`${command} update --check`)).code, 0);
  assertEquals((await user.run(`${command} update 0.6.0`)).code, 0);
  await assertVersion(user, command, "0.6.0");
  for (const words of ["0.6", "--check --rollback", "--check 0.6.0"]) {
    assertEquals((await user.run(`${command} update ${words}`)).code, 2, words);
  }
  await Deno.mkdir(`${user.home}/.reasonix`, { recursive: true });
  await Deno.writeTextFile(`${user.home}/.reasonix/config.toml`, "");
  const removed = await user.run(`${command} uninstall`);
  assertEquals(removed.code, 0, removed.errors);
  assertEquals(foreignFiles(user), []);
});

Deno.test("a chat that began before two updates loads its parts after them, and its files go when it has ended", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publishFiles("0.5.0");
  const command = await user.installAddress();
  await assertVersion(user, command, "0.5.0");
  await releases.publishFiles("0.6.0");
  const first = await user.run(`${command} update`);
  assertEquals(first.code, 0, first.errors);
  await assertVersion(user, command, "0.6.0");
  // What the server has next does not matter to the installed program.
  const chat = await openChat(user, command);
  for (const version of ["0.7.0", "0.8.0"]) {
    await releases.publishFiles(version);
    const { code, errors } = await user.run(`${command} update`);
    assertEquals(code, 0, errors);
    await assertVersion(user, command, version);
  }
  assertEquals(versionsOf(user), ["0.6.0", "0.7.0", "0.8.0"]);
  await chat.say("edit it", "Edited.");
  assertEquals(await Deno.readTextFile(`${user.work}/made.txt`), "made\n");
  await chat.close();
  await releases.publishFiles("0.9.0");
  assertEquals((await user.run(`${command} update`)).code, 0);
  assertEquals(versionsOf(user), ["0.8.0", "0.9.0"]);
  assertEquals(
    (await user.run(`${command} update --rollback`)).out,
    "The command starts reasonix 0.8.0 again\n",
  );
  assertEquals((await user.run(`${command} uninstall`)).code, 0);
  assertEquals(foreignFiles(user), []);
});
