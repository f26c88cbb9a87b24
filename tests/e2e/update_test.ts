/** `reasonix update`: forward, back, with wrong releases, killed at any point, and next to a running chat. */
import { START_FLAGS, startFlagsFor } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { testKey } from "../support/minisign.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, mockConfig } from "../support/program.ts";
import { filesBelow, makeReleases, type Releases, stamped, TARGET } from "../support/releases.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { needs } from "../support/tools.ts";

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
      PATH: `${home}/npm/bin:/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin`,
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
  const chat = await openChat(user, command);
  const updated = await user.run(`${command} update`);
  assertEquals([updated.code, updated.out], [
    0,
    "Updated reasonix from 0.5.0 to 0.6.0\nTo go back: reasonix update --rollback\n",
  ], updated.errors);
  await assertVersion(user, command, "0.6.0");
  await chat.say("edit it", "Edited.");
  assertEquals(await Deno.readTextFile(`${user.work}/made.txt`), "made\n");
  await chat.close();
  assertEquals((await user.run(`${command} update`)).out, "reasonix 0.6.0 is the latest version\n");
  const chinese = await user.run(`${command} update`, { REASONIX_LANG: "zh-CN" });
  assertEquals(chinese.out, "reasonix 0.6.0 已是最新版本\n");
  const wrong = await user.run(`${command} update 1`, { REASONIX_LANG: "zh-CN" });
  assertMatch(wrong.errors, /^error: 无法安装版本 "1"/);
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
  const removed = await user.run(`${command} uninstall`);
  assertEquals(removed.code, 0, removed.errors);
  assert(filesBelow(user.home).includes(".reasonix/config.toml"));
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

const FILE = `reasonix-${TARGET}`;
const SUMS = "SHA256SUMS";

/** Releases of version 0.6.0 that an update refuses, made from the right one in this directory. */
const REFUSED: Readonly<
  Record<string, readonly [change: (directory: string, releases: Releases) => unknown, error: RegExp]>
> = {
  "a changed executable": [
    (directory) => Deno.writeTextFile(`${directory}/${FILE}`, "#!/bin/sh\ntouch executed\n"),
    /Cannot use http.*: its SHA-256 is not the one of the release/,
  ],
  "an executable that is missing": [
    (directory) => Deno.remove(`${directory}/${FILE}`),
    /Cannot fetch http.*: 404 Not Found/,
  ],
  "checksums without a signature": [
    (directory) => Deno.remove(`${directory}/${SUMS}.minisig`),
    /Cannot fetch .*\.minisig: 404 Not Found/,
  ],
  "checksums that end half way": [
    async (directory) =>
      await Deno.writeTextFile(
        `${directory}/${SUMS}`,
        (await Deno.readTextFile(`${directory}/${SUMS}`)).slice(0, 40),
      ),
    /Cannot trust SHA256SUMS/,
  ],
  "a signature by another key": [
    (directory, { sign }) => sign(directory, "0.6.0", testKey()),
    /Cannot trust SHA256SUMS: it is signed with the key/,
  ],
  "an older release under the name of this one": [
    (directory, { sign }) => sign(directory, "0.4.0"),
    /Cannot trust SHA256SUMS: it is signed for version 0\.4\.0, and version 0\.6\.0 is wanted/,
  ],
  "a release without an executable for this system": [
    async (directory, { sign }) => {
      await Deno.rename(`${directory}/${FILE}`, `${directory}/reasonix-other`);
      await sign(directory, "0.6.0");
    },
    /Cannot find reasonix-\S+ in SHA256SUMS/,
  ],
  "a server without any version": [
    (_directory, { root }) => Deno.writeTextFile(`${root}/latest`, "<html>"),
    /Cannot determine the latest version: http\S*\/latest names none/,
  ],
  "a redirect to a file of this machine": [
    (_directory, { answers }) =>
      answers.set(
        `/v0.6.0/${SUMS}`,
        () => new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } }),
      ),
    /Cannot fetch .*: it leads to file:\/\/\/etc\/passwd, which is not followed/,
  ],
  "a program that does not start": [
    async (directory, { sign }) => {
      await Deno.writeTextFile(`${directory}/${FILE}`, "#!/bin/sh\necho missing library >&2\nexit 127\n");
      await sign(directory, "0.6.0");
    },
    /Cannot start version 0\.6\.0: missing library/,
  ],
};

Deno.test("an update refuses every wrong release, and follows redirects of a right one to another server", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0");
  const command = await user.installScript();
  const before = filesBelow(user.home);
  for (const [name, [change, error]] of Object.entries(REFUSED)) {
    const directory = await releases.publish("0.6.0");
    releases.answers.clear();
    await change(directory, releases);
    const { code, errors } = await user.run(`${command} update`);
    assertEquals(code, 1, name);
    assertMatch(errors, error, name);
    assertMatch(errors, /^(?:Downloading .*\n)?error: .*\n {7}\S.*\n$/, name);
    assertEquals(filesBelow(user.home).filter((file) => !file.startsWith(".reasonix/")), before, name);
  }
  await assertVersion(user, command, "0.5.0");
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  closed.close();
  const gone = await user.run(`${command} update`, {
    REASONIX_BASE_URL: `http://127.0.0.1:${closed.addr.port}`,
  });
  assertMatch(
    gone.errors,
    /^error: Cannot fetch http:\S+\/latest: .*\n {7}check the network and the address/,
  );
  await releases.publish("0.6.0");
  await using other = await makeReleases();
  releases.answers.clear();
  await Deno.remove(other.root);
  await Deno.symlink(releases.root, other.root);
  // As GitHub answers.
  releases.answers.set("/latest", () => Response.redirect(`${other.base}/tag/v0.6.0`));
  other.answers.set("/tag/v0.6.0", () => new Response("<html>"));
  for (const file of [SUMS, `${SUMS}.minisig`, FILE]) {
    releases.answers.set(`/v0.6.0/${file}`, () => Response.redirect(`${other.base}/v0.6.0/${file}`));
  }
  const done = await user.run(`${command} update`);
  assertEquals(done.code, 0, done.errors);
  assertEquals(other.asked.length, 4);
  await assertVersion(user, command, "0.6.0");
});

Deno.test("an update killed at any point leaves the old version or the new one, and the next one completes", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0");
  const command = await user.installScript();
  const directory = await releases.publish("0.6.0");
  const right = await Deno.readTextFile(`${directory}/${FILE}`);
  const ended = async (prepare: (child: Deno.ChildProcess) => void) => {
    const child = user.spawn(command, ["update"]);
    prepare(child);
    const [status] = await Promise.all([child.output(), child.stdin.close()]);
    return status;
  };
  const killed = async (point: string, kill: (child: Deno.ChildProcess) => void) =>
    assertEquals((await ended(kill)).signal, "SIGKILL", point);
  for (const path of ["/latest", `/v0.6.0/${SUMS}`, `/v0.6.0/${SUMS}.minisig`, `/v0.6.0/${FILE}`]) {
    await killed(path, (child) =>
      releases.answers.set(path, () => {
        releases.answers.delete(path);
        const body = new ReadableStream<Uint8Array>({
          start(control) {
            control.enqueue(new TextEncoder().encode(right.slice(0, 100)));
            child.kill("SIGKILL");
          },
        });
        return new Response(body);
      }));
    await assertVersion(user, command, "0.5.0");
  }
  // A signal that can be handled leaves nothing, not even what the ones above have left.
  const { code: terminated } = await ended((child) =>
    releases.answers.set(`/v0.6.0/${FILE}`, () => {
      releases.answers.clear();
      child.kill("SIGTERM");
      return new Response(new ReadableStream());
    })
  );
  assertEquals([terminated, versionsOf(user)], [143, ["0.5.0"]]);
  // The new version writes the command: the update dies before that, and after it.
  for (
    const [text, version] of [["kill -9 $PPID; exit 1", "0.5.0"], ['"$0" version && kill -9 $PPID', "0.6.0"]]
  ) {
    const dying = right.replace("exec ", `[ "$1" != install ] || trap '${text}' EXIT\n`).replace(
      "\nexport",
      version === "0.5.0" ? `\n[ "$1" != install ] || { ${text}; }\nexport` : "\nexport",
    );
    await Deno.writeTextFile(`${directory}/${FILE}`, dying);
    await releases.sign(directory, "0.6.0");
    await killed(text ?? "", () => {});
    await assertVersion(user, command, version ?? "");
  }
  await Deno.writeTextFile(`${directory}/${FILE}`, right);
  await releases.sign(directory, "0.6.0");
  await releases.publish("0.7.0");
  const { code, errors } = await user.run(`${command} update`);
  assertEquals(code, 0, errors);
  await assertVersion(user, command, "0.7.0");
  assertEquals(versionsOf(user), ["0.6.0", "0.7.0"]);
});

/** An npm that knows two versions of a package, in directories. */
const NPM = `#!/bin/sh
set -e
echo "$*" >> "$PACKAGES/asked"
case $1 in
  view) cat "$PACKAGES/latest" ;;
  install)
    [ "$2 $3" = "-g --prefix" ]
    directory=$4/lib/node_modules/a-program
    rm -rf "$directory"
    mkdir -p "$directory"
    cp -R "$PACKAGES/\${5#a-program@}" "$directory/lib"
    ;;
  *) exit 1 ;;
esac
`;

Deno.test("an update of the npm package runs npm, and a chat that began before it loads its parts after it", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  const packages = `${user.home}/packages`;
  const prefix = `${user.home}/npm`;
  await Deno.mkdir(packages);
  await Deno.mkdir(`${prefix}/bin`, { recursive: true });
  for (const version of ["0.5.0", "0.6.0"]) {
    await Deno.symlink(await releases.bundleOf(version), `${packages}/${version}`);
  }
  await Deno.writeTextFile(`${packages}/latest`, "0.6.0\n");
  const npm = NPM.replaceAll("$PACKAGES", packages).replace("cp -R", "cp -RH");
  await Deno.writeTextFile(`${prefix}/bin/npm`, npm, { mode: 0o755 });
  const command = `${prefix}/bin/reasonix`;
  const words = [Deno.execPath(), "run", ...START_FLAGS, "--no-config"];
  await Deno.writeTextFile(
    command,
    `#!/bin/sh\nexec ${words.join(" ")} ${prefix}/lib/node_modules/a-program/lib/reasonix.js "$@"\n`,
    { mode: 0o755 },
  );
  await user.run(`npm install -g --prefix ${prefix} a-program@0.5.0`);
  await assertVersion(user, command, "0.5.0");
  const check = await user.run(`${command} update --check`);
  assertEquals([check.code, check.out.split(";")[0]], [10, "reasonix 0.6.0 is available"], check.errors);
  const chat = await openChat(user, command);
  const updated = await user.run(`${command} update`);
  assertEquals(
    [updated.code, updated.out.split("\n")[0]],
    [0, "Updated reasonix from 0.5.0 to 0.6.0"],
    updated.errors,
  );
  await assertVersion(user, command, "0.6.0");
  await chat.say("edit it", "Edited.");
  assertEquals(await Deno.readTextFile(`${user.work}/made.txt`), "made\n");
  await chat.close();
  for (const version of ["0.5.0", "0.6.0"]) {
    const back = await user.run(`${command} update --rollback`);
    assertEquals(back.code, 0, back.errors);
    await assertVersion(user, command, version);
  }
  const asked = (await Deno.readTextFile(`${packages}/asked`)).split("\n");
  assert(asked.includes(`install -g --prefix ${prefix} a-program@0.5.0`));
  const removal = await user.run(`${command} uninstall`);
  assertEquals(removal.code, 2);
  assertMatch(removal.errors, /remove it with: npm rm -g /);
});

Deno.test("an update replaces a copied executable, keeps it next to it, and a chat that began before continues", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  const copy = await Deno.readTextFile(`${await releases.publish("0.5.0")}/${FILE}`);
  const command = `${user.work}/bin/reasonix`;
  await Deno.mkdir(`${user.work}/bin`);
  await Deno.writeTextFile(command, copy, { mode: 0o755 });
  const env = { REASONIX_BASE_URL: releases.base };
  const names = () => filesBelow(`${user.work}/bin`);
  const chat = await openChat(user, command);
  const directory = await releases.publish("0.6.0");
  const right = await Deno.readTextFile(`${directory}/${FILE}`);
  for (const wrong of [`${right}:\n`, "#!/bin/sh\nexit 3\n"]) {
    await Deno.writeTextFile(`${directory}/${FILE}`, wrong);
    if (!wrong.startsWith(right)) await releases.sign(directory, "0.6.0");
    assertEquals((await user.run(`${command} update`, env)).code, 1);
    assertEquals(names(), ["reasonix"]);
  }
  for (const version of ["0.6.0", "0.7.0"]) {
    await releases.publish(version);
    const { code, errors } = await user.run(`${command} update`, env);
    assertEquals(code, 0, errors);
    await assertVersion(user, command, version);
  }
  assertEquals(names(), ["reasonix", "reasonix-0.5.0", "reasonix-0.6.0"]);
  await chat.say("edit it", "Edited.");
  assertEquals(await Deno.readTextFile(`${user.work}/made.txt`), "made\n");
  await chat.close();
  for (const version of ["0.6.0", "0.7.0"]) {
    const back = await user.run(`${command} update --rollback`, env);
    assertEquals([back.code, back.out], [0, `The command starts reasonix ${version} again\n`], back.errors);
    await assertVersion(user, command, version);
  }
  await Deno.writeTextFile(`${user.work}/bin/reasonix-notes`, "mine");
  assertEquals((await user.run(`${command} uninstall`)).code, 0);
  assertEquals(names(), ["reasonix-notes"]);
});

/** The line or sentence that an update prints for each way that has another owner of the files. */
const LINES: readonly (readonly [channel: string, out: RegExp])[] = [
  ["deb", /^curl -fLO \S+reasonix_99\.0\.0_(?:amd|arm)64\.deb && sudo apt install \S+\n$/],
  ["homebrew", /^brew upgrade reasonix\n$/],
  ["scoop", /^scoop update reasonix\n$/],
  ["winget", /^winget upgrade --id \S+\n$/],
  ["image", /^podman pull \S+:99\.0\.0\n$/],
  ["clone", /^git pull && deno task install\n$/],
  [
    "file",
    /^To update, replace the files in \S+ by those .* install it with http\S+\/v99\.0\.0\/install\.js\n$/,
  ],
];

Deno.test("an update changes nothing that a package manager or the user has put there, and prints the line", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await Deno.writeTextFile(`${releases.root}/latest`, "99.0.0\n");
  // No other test has this version, whose files this one changes.
  const bundle = await releases.bundleOf("0.4.9");
  const line = `${Deno.execPath()} run ${START_FLAGS.join(" ")} --no-config ${bundle}/reasonix.js`;
  for (const [channel, out] of LINES) {
    await Deno.writeTextFile(`${bundle}/channel.json`, JSON.stringify({ channel, from: releases.base }));
    const done = await user.run(`${line} update`);
    assertEquals(done.code, 0, `${channel}: ${done.errors}`);
    assertMatch(done.out, out);
    const back = await user.run(`${line} update --rollback`);
    assertMatch(back.errors, /^error: Cannot (?:go back|find the command)/, channel);
  }
  assertEquals(foreignFiles(user), []);
  await Deno.remove(`${bundle}/channel.json`);
  const unnamed = await user.run(`${line} update`);
  assertEquals([unnamed.code, unnamed.errors.split("\n")[0]], [
    1,
    "error: Cannot determine the latest version: this build names no repository of releases",
  ]);
});

const bwrap = await new Deno.Command("bwrap", { args: ["--version"] }).output().then(() => true, () => false);

Deno.test({
  ...needs("bwrap", bwrap, "an update on a full or read-only disk changes nothing and says so"),
  fn: async () => {
    await using releases = await makeReleases();
    await using user = await makeUser(releases);
    await releases.publish("0.5.0");
    const command = await user.installScript();
    const directory = await releases.publish("0.6.0");
    await Deno.writeTextFile(`${directory}/${FILE}`, "#".repeat(200_000));
    await releases.sign(directory, "0.6.0");
    const store = `${user.home}/.local/share/reasonix`;
    const [version] = [...Deno.readDirSync(`${store}/versions`)];
    const own = `${store}/versions/${version?.name}`;
    const before = filesBelow(`${user.home}/.local`);
    for (
      const mounts of [
        `--size 65536 --tmpfs ${store}/versions --ro-bind ${own} ${own}`,
        `--ro-bind ${store} ${store}`,
      ]
    ) {
      const { code, errors } = await user.run(`bwrap --dev-bind / / ${mounts} ${command} update`);
      assertEquals(code, 1);
      assertMatch(
        errors,
        /^(?:Downloading .*\n)?error: Cannot write \S+: .*\n {7}free space there or make it writable.*\n$/,
      );
      assertEquals(filesBelow(`${user.home}/.local`).filter((file) => !file.endsWith("/lock")), before);
    }
    await assertVersion(user, command, "0.5.0");
  },
});
