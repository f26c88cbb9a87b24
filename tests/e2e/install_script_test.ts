/** install.sh from a loopback server: what it installs, and every release that it refuses. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { testKey } from "../support/minisign.ts";
import { filesBelow, makeReleases, type Releases, stamped, TARGET } from "../support/releases.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { needs } from "../support/tools.ts";
import { removeTree } from "../support/remove_tree.ts";

const SCRIPT = await Deno.readTextFile(new URL("../../scripts/release/install.sh", import.meta.url));
/** Programs that the script uses, without those that download and verify. */
const TOOLS =
  "sh uname getconf ldd sed grep ls mktemp tr tail head cut awk sha256sum cat wc od mkdir rmdir rm mv " +
  "chmod sleep kill printf dirname basename env id shasum sysctl";

function which(name: string): string | undefined {
  return ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map((directory) =>
    `${directory}/${name}`
  )
    .find((file) => {
      try {
        return Deno.statSync(file).isFile;
      } catch {
        return false;
      }
    });
}

/** Programs here that verify signatures; LibreSSL does not. */
const VERIFIERS = ["openssl", "minisign"].filter((name) => {
  const path = which(name);
  if (path === undefined || name === "minisign") return path !== undefined;
  const { stdout } = new Deno.Command(path, { args: ["version"] }).outputSync();
  return /^OpenSSL [3-9]/.test(new TextDecoder().decode(stdout));
});
const [VERIFIER = "openssl"] = VERIFIERS;

interface Setting {
  readonly shell?: readonly string[];
  /** Programs in PATH in addition to the tools. */
  readonly tools?: readonly string[];
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Shell scripts in PATH before everything else. */
  readonly fakes?: Readonly<Record<string, string>>;
  readonly script?: string;
  /** A program that starts the shell, with its arguments. */
  readonly within?: readonly string[];
  readonly spawned?: (child: Deno.ChildProcess) => void;
}

/** A home without anything, and the script as a user pipes it into a shell. */
async function makeUser(releases: Releases) {
  const temp = await makeTempDir();
  const home = `${temp.path}/home with space`;
  await Deno.mkdir(home);
  let count = 0;
  return {
    home,
    command: `${home}/.local/bin/reasonix`,
    async install(
      {
        shell = ["sh"],
        tools = ["curl", "openssl"],
        env = {},
        args = [],
        fakes = {},
        script,
        within = [],
        spawned,
      }: Setting = {},
    ) {
      const [bin, scratch] = [`${temp.path}/bin${count}`, `${temp.path}/tmp${count++}`];
      await Deno.mkdir(bin);
      await Deno.mkdir(scratch);
      for (const [name, text] of Object.entries(fakes)) {
        await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      }
      for (const name of [...TOOLS.split(" "), ...tools]) {
        const [as = "", file = as] = name.split("=");
        const path = which(file);
        if (path !== undefined && !(as in fakes)) await Deno.symlink(path, `${bin}/${as}`);
      }
      const [program = "", ...words] = [...within, which(shell[0] ?? "") ?? "", ...shell.slice(1)];
      const child = new Deno.Command(program, {
        args: [...words, "-s", "--", ...args],
        clearEnv: true,
        env: {
          HOME: home,
          PATH: bin,
          TMPDIR: scratch,
          DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
          DENO_NO_UPDATE_CHECK: "1",
          NO_COLOR: "1",
          REASONIX_BASE_URL: releases.base,
          ...env,
        },
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      spawned?.(child);
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(script ?? stamped(SCRIPT, { key: releases.key.public })))
        .catch(() => {});
      await writer.close().catch(() => {});
      const { code, stdout, stderr } = await child.output();
      const decoder = new TextDecoder();
      if (code !== 137) assertEquals(filesBelow(scratch), [], "temporary files remain");
      return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
    },
    async [Symbol.asyncDispose]() {
      await temp[Symbol.asyncDispose]();
    },
  };
}

async function version(command: string): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(command, { args: ["--version"] }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

const COMPLETE = [
  { shell: ["dash"], tools: ["curl", VERIFIER] },
  { shell: ["bash", "--posix"], tools: ["wget", VERIFIERS.at(-1) ?? VERIFIER] },
  { shell: ["busybox", "sh"], tools: ["wget=busybox", VERIFIER] },
].filter(({ shell, tools }) =>
  [shell[0] ?? "", ...tools.map((tool) => tool.split("=").at(-1) ?? "")].every(which)
);

Deno.test("install.sh installs under each shell, updates, refuses an older latest, and uninstalls", async () => {
  await using releases = await makeReleases();
  assert(COMPLETE.length > 0);
  for (const { shell, tools } of COMPLETE) {
    await using user = await makeUser(releases);
    await releases.publish("0.5.0");
    const first = await user.install({ shell, tools });
    assertEquals([first.code, first.errors], [0, ""], first.out);
    assertStringIncludes(first.out, `Installed ${user.command}\n`);
    assertMatch(first.out, /Add .*\/\.local\/bin to PATH/);
    assertEquals(await version(user.command), "reasonix 0.5.0\n");
    await releases.publish("0.10.0-rc.1");
    // As GitHub answers.
    await Deno.writeTextFile(`${releases.root}/latest`, "");
    releases.answers.set("/latest", () => Response.redirect(`${releases.base}/tag/v0.10.0-rc.1`));
    releases.answers.set("/tag/v0.10.0-rc.1", () => new Response("<html>"));
    assertEquals((await user.install({ shell, tools })).code, 0);
    assertEquals(await version(user.command), "reasonix 0.10.0-rc.1\n");
    releases.answers.clear();
    await Deno.writeTextFile(`${releases.root}/latest`, "0.5.0\n");
    const older = await user.install({ shell, tools });
    assertEquals(older.code, 1);
    assertMatch(
      older.errors,
      /^error: Cannot install 0\.5\.0: 0\.10\.0-rc\.1, which is newer, is installed; .*\n$/,
    );
    assertEquals(await version(user.command), "reasonix 0.10.0-rc.1\n");
    releases.asked.length = 0;
    assertEquals((await user.install({ shell, tools, env: { REASONIX_VERSION: "v0.5.0" } })).code, 0);
    assertEquals(await version(user.command), "reasonix 0.5.0\n");
    assertEquals(
      releases.asked,
      ["/v0.5.0/SHA256SUMS", "/v0.5.0/SHA256SUMS.minisig"],
      "nothing is downloaded again",
    );
    await Deno.mkdir(`${user.home}/.reasonix`);
    await Deno.writeTextFile(`${user.home}/.reasonix/config.toml`, "");
    const removed = await user.install({ shell, tools, args: ["--uninstall"] });
    assertEquals([removed.code, removed.errors], [0, ""]);
    assertStringIncludes(removed.out, `remain in ${user.home}/.reasonix`);
    assertEquals(filesBelow(user.home), [
      ".local/",
      ".local/bin/",
      ".local/share/",
      ".reasonix/",
      ".reasonix/config.toml",
    ]);
  }
});

/** An executable that shows that it was executed. */
const MARKING = '#!/bin/sh\ntouch "$HOME/executed"\n';

interface Refused {
  readonly name: string;
  /** Changes the release of version 0.5.0 in this directory; returns the settings of the user. */
  readonly prepare: (directory: string, releases: Releases) => Promise<Setting | void> | Setting | void;
  readonly error: RegExp;
  /** Programs that verify signatures, each of which has to refuse; default: both. */
  readonly verifiers?: readonly string[];
}

const FILE = `reasonix-${TARGET}`;

async function edit(file: string, change: (text: string) => string): Promise<void> {
  await Deno.writeTextFile(file, change(await Deno.readTextFile(file)));
}

/** Answers one request with the first bytes of a file. */
async function cutAnswer(listener: Deno.TcpListener): Promise<void> {
  using connection = await listener.accept();
  listener.close();
  await connection.read(new Uint8Array(4096));
  const answer = `HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${MARKING}`;
  await connection.write(new TextEncoder().encode(answer));
}

const REFUSED: readonly Refused[] = [
  {
    name: "a changed executable",
    prepare: (directory) => edit(`${directory}/${FILE}`, (text) => `${text}:\n`),
    error: /Cannot use http.*: its SHA-256 is not the one of the release/,
  },
  {
    name: "an executable that ends half way",
    prepare(_directory, { answers }) {
      answers.set(`/v0.5.0/${FILE}`, () => {
        const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
        void cutAnswer(listener);
        return Response.redirect(`http://127.0.0.1:${listener.addr.port}/`);
      });
    },
    error: /Cannot fetch http.*check the network/,
  },
  {
    name: "checksums without a signature",
    prepare: (directory) => Deno.remove(`${directory}/SHA256SUMS.minisig`),
    error: /Cannot fetch .*SHA256SUMS\.minisig: .*404/,
  },
  {
    name: "checksums that were changed after they were signed",
    async prepare(directory, releases) {
      await Deno.writeTextFile(`${directory}/other`, "");
      const signature = await Deno.readTextFile(`${directory}/SHA256SUMS.minisig`);
      await releases.sign(directory, "0.5.0");
      await Deno.writeTextFile(`${directory}/SHA256SUMS.minisig`, signature);
    },
    error: /Cannot trust .*SHA256SUMS: its signature is missing or wrong/,
  },
  {
    name: "a signature by another key",
    prepare: (directory, releases) => releases.sign(directory, "0.5.0", testKey()),
    error: /its signature is missing or wrong/,
  },
  {
    name: "a signature by another key with the same id",
    prepare(directory, releases) {
      const id = Uint8Array.fromBase64(releases.key.public).subarray(2, 10);
      return releases.sign(directory, "0.5.0", testKey(id));
    },
    error: /its signature is missing or wrong/,
  },
  {
    name: "a changed trusted comment",
    prepare: (directory, releases) =>
      releases.sign(directory, "0.4.0").then(() =>
        edit(`${directory}/SHA256SUMS.minisig`, (text) => text.replace("reasonix 0.4.0", "reasonix 0.5.0"))
      ),
    error: /its signature is missing or wrong/,
  },
  {
    name: "an older release under the name of this one",
    prepare: (directory, releases) => releases.sign(directory, "0.4.0"),
    error: /its signature is one for 'reasonix 0\.4\.0', not for 'reasonix 0\.5\.0'/,
  },
  {
    name: "a signature that is cut off",
    prepare: (directory) => edit(`${directory}/SHA256SUMS.minisig`, (text) => text.slice(0, -20)),
    error: /its signature is missing or wrong/,
  },
  {
    name: "a signature that is an error page",
    prepare: (directory) => Deno.writeTextFile(`${directory}/SHA256SUMS.minisig`, "<html>\n".repeat(5)),
    error: /its signature is missing or wrong/,
  },
  {
    name: "a release without an executable for this system",
    async prepare(directory, releases) {
      await Deno.rename(`${directory}/${FILE}`, `${directory}/reasonix-other`);
      await releases.sign(directory, "0.5.0");
    },
    error: /Cannot find reasonix-\S+ in http\S+\/SHA256SUMS/,
  },
  {
    name: "a release without any program that verifies signatures",
    prepare: () => ({ tools: ["curl"] }),
    error: /Cannot verify the signature of the release; install minisign, or OpenSSL 3/,
    verifiers: [""],
  },
  {
    name: "an openssl that does not know Ed25519",
    prepare: () => ({ tools: ["curl"], fakes: { openssl: "echo unknown command >&2; exit 1" } }),
    error: /Cannot verify the signature of the release/,
    verifiers: [""],
  },
  {
    name: "a machine without curl and wget",
    prepare: () => ({ tools: ["openssl"] }),
    error: /Cannot download: neither curl nor wget is installed/,
    verifiers: [""],
  },
  {
    name: "a version that is none",
    prepare: () => ({ env: { REASONIX_VERSION: "../1" } }),
    error: /Cannot install the version '\.\.\/1'/,
    verifiers: [""],
  },
  {
    name: "a mirror that is no address",
    prepare: () => ({ env: { REASONIX_BASE_URL: 'http://a/"b' } }),
    error: /Cannot use REASONIX_BASE_URL/,
    verifiers: [""],
  },
  {
    name: "a server that does not answer",
    prepare: () => ({ env: { REASONIX_BASE_URL: "http://127.0.0.1:9" } }),
    error: /Cannot determine the latest version at http:\/\/127\.0\.0\.1:9\/latest; check the network/,
    verifiers: [""],
  },
  {
    name: "a copy of the script without a key",
    prepare: () => ({ script: SCRIPT }),
    error: /Cannot verify the release: this copy of the script has no public key/,
    verifiers: [""],
  },
  {
    name: "a copy of the script without a repository",
    prepare: () => ({ script: SCRIPT, env: { REASONIX_BASE_URL: "" } }),
    error: /this copy names no repository; set REASONIX_BASE_URL/,
    verifiers: [""],
  },
  {
    name: "an unknown argument",
    prepare: () => ({ args: ["--global"] }),
    error: /Cannot use the argument --global; the only one is --uninstall/,
    verifiers: [""],
  },
];

Deno.test("install.sh executes and leaves nothing of a release that it refuses", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  for (const { name, prepare, error, verifiers = VERIFIERS } of REFUSED) {
    await removeTree(`${releases.root}/v0.5.0`).catch(() => {});
    releases.answers.clear();
    const setting = await prepare(await releases.publish("0.5.0", MARKING), releases) ?? {};
    for (const [at, verifier] of verifiers.entries()) {
      const tools = setting.tools ?? ["curl", ...verifier === "" ? [] : [verifier]];
      const shell = at === 0 ? ["dash"] : ["bash"];
      const { code, errors } = await user.install({
        shell: which("dash") ? shell : ["sh"],
        ...setting,
        tools,
      });
      assertEquals(code, 1, name);
      assertMatch(errors, error, name);
      assertMatch(errors, /^error: [^\n]*\n$/, `${name} is more than one line`);
      assertEquals(filesBelow(user.home), [], name);
    }
  }
});

const LINUX = "case $1 in -m) echo x86_64;; -o) echo GNU/Linux;; *) echo Linux;; esac";

const PLATFORMS: readonly (readonly [system: string, fakes: Record<string, string>, error: RegExp])[] = [
  [
    "a 32-bit processor",
    { uname: "case $1 in -m) echo armv7l;; *) echo Linux;; esac" },
    /the processor armv7l/,
  ],
  ["32-bit programs on a 64-bit processor", { uname: LINUX, getconf: "echo 32" }, /a 32-bit system/],
  [
    "musl",
    { uname: LINUX, getconf: "exit 1", ldd: 'echo "musl libc (x86_64)" >&2; exit 1' },
    /a system with musl, such as Alpine/,
  ],
  [
    "an old glibc",
    { uname: LINUX, getconf: 'case $1 in LONG_BIT) echo 64;; *) echo "glibc 2.26";; esac' },
    /glibc 2\.26: the runtime needs 2\.27/,
  ],
  ["FreeBSD", { uname: "case $1 in -m) echo amd64;; *) echo FreeBSD;; esac" }, /Cannot install on FreeBSD/],
  ["Windows", { uname: "case $1 in -m) echo x86_64;; *) echo MINGW64_NT-10.0;; esac" }, /use install\.ps1/],
  [
    "Android",
    { uname: "case $1 in -m) echo aarch64;; -o) echo Android;; *) echo Linux;; esac" },
    /Cannot install on Android/,
  ],
];

Deno.test("install.sh refuses systems without a runtime by name, and asks no server", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  for (const [system, fakes, error] of PLATFORMS) {
    const { code, errors } = await user.install({ fakes });
    assertEquals(code, 1, system);
    assertMatch(errors, error, system);
  }
  assertEquals([releases.asked, filesBelow(user.home)], [[], []]);
  // Each other system gets its own file.
  const targets = [
    ["Darwin", "arm64", "0", "aarch64-apple-darwin"],
    ["Darwin", "x86_64", "0", "x86_64-apple-darwin"],
    ["Darwin", "x86_64", "1", "aarch64-apple-darwin"],
    ["Linux", "aarch64", "0", "aarch64-unknown-linux-gnu"],
  ];
  await releases.publish("0.5.0", MARKING);
  for (const [system, machine, translated, target] of targets) {
    const uname = `case $1 in -m) echo ${machine};; *) echo ${system};; esac`;
    const { errors } = await user.install({ fakes: { uname, sysctl: `echo ${translated}` } });
    if (target !== TARGET) assertStringIncludes(errors, `Cannot find reasonix-${target} in `);
  }
});

Deno.test("no part of install.sh executes anything", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  const script = stamped(SCRIPT, { key: releases.key.public });
  const last = script.lastIndexOf("\n{\n");
  const ends = [last, last + 2, last + 6, last + 10, last + 14, script.length - 3, script.length - 2];
  for (const end of [...ends, ...[0.2, 0.5, 0.8].map((part) => Math.floor(script.length * part))]) {
    const { out } = await user.install({ script: script.slice(0, end) });
    assertEquals([out, releases.asked, filesBelow(user.home)], ["", [], []], script.slice(end - 30, end));
  }
});

Deno.test("install.sh replaces no other program, and needs a home to which it can write", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0", MARKING);
  await Deno.mkdir(`${user.home}/.local/bin`, { recursive: true });
  await Deno.writeTextFile(user.command, "#!/bin/sh\necho mine\n", { mode: 0o755 });
  for (const args of [[], ["--uninstall"]]) {
    const { code, errors } = await user.install({ args });
    assertEquals(code, 1);
    assertMatch(
      errors,
      /^error: Cannot replace .*\/reasonix: it belongs to another program; remove or rename it\n$/,
    );
  }
  assertEquals(await version(user.command), "mine\n");
  await Deno.remove(user.command);
  const nothing = await user.install({ args: ["--uninstall"] });
  assertMatch(nothing.errors, /^error: Cannot find .*: nothing is installed there\n$/);
  // A file where a directory has to be stops root, too.
  await Deno.writeTextFile(`${user.home}/.local/share`, "");
  const blocked = await user.install();
  assertMatch(
    blocked.errors,
    /^error: Cannot write .*\/versions; free 200 MB there, or make it writable\. .*\n$/,
  );
  assertEquals(filesBelow(user.home), [".local/", ".local/bin/", ".local/share"]);
  // The program of the release does not start: nothing remains, whatever it did.
  await Deno.remove(`${user.home}/.local/share`);
  await releases.publish("0.5.1", "#!/bin/sh\nexit 1\n");
  const broken = await user.install();
  assertMatch(broken.errors, /^error: The program reasonix-\S+ cannot be installed here/);
  assertEquals(filesBelow(user.home), [".local/", ".local/bin/"]);
});

Deno.test({
  ...needs(
    "bwrap",
    which("bwrap") !== undefined,
    "install.sh reports a full disk and a read-only home in one line",
  ),
  fn: async () => {
    await using releases = await makeReleases();
    await using user = await makeUser(releases);
    await releases.publish("0.5.0", `${MARKING}${"#".repeat(200_000)}`);
    await Deno.mkdir(`${user.home}/.local`);
    const jail = [which("bwrap") ?? "", "--dev-bind", "/", "/"];
    const cases = [
      ["--size", "65536", "--tmpfs", `${user.home}/.local`],
      ["--ro-bind", user.home, user.home],
    ];
    for (const words of cases) {
      for (const tool of ["curl", "wget", "wget=busybox"]) {
        const { code, errors } = await user.install({
          within: [...jail, ...words],
          tools: [tool, VERIFIER],
        });
        assertEquals(code, 1);
        assertMatch(errors, /^error: Cannot write \S.*; free 200 MB there, or make it writable\. .*\n$/);
        assertEquals(filesBelow(user.home), [".local/"]);
      }
    }
  },
});

/** Fakes of a program that kill the script before or after the call whose arguments match. */
const KILLS:
  readonly (readonly [point: string, program: string, pattern: string, when: "before" | "after"])[] = [
    ["before the first request", "curl", "*latest*", "before"],
    ["before the checksums are there", "curl", "*SHA256SUMS", "before"],
    ["before the program is there", "curl", `*/${FILE}`, "before"],
    ["after the program is there", "curl", `*/${FILE}`, "after"],
    ["before the version is named", "mv", "*", "before"],
    ["after the version is named", "mv", "*", "after"],
  ];

Deno.test("install.sh killed at any point leaves the old version or the new one", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0");
  assertEquals((await user.install()).code, 0);
  await releases.publish("0.6.0");
  for (const [point, program, pattern, when] of KILLS) {
    const call = `${which(program)} "$@"`;
    const kill = `case "$*" in ${pattern}) kill -9 $PPID; exit 1 ;; esac`;
    const text = when === "before" ? `${kill}\nexec ${call}` : `${call} || exit\n${kill}`;
    const { code } = await user.install({ fakes: { [program]: text } });
    assertEquals(code, 137, point);
    assertEquals(await version(user.command), "reasonix 0.5.0\n", point);
  }
  assertEquals((await user.install()).code, 0);
  assertEquals(await version(user.command), "reasonix 0.6.0\n");
  const versions = [...Deno.readDirSync(`${user.home}/.local/share/reasonix/versions`)].map(({ name }) =>
    name
  );
  assertEquals(versions.sort().map((name) => name.replace(/\+.*/, "")), ["0.5.0", "0.6.0"]);
  assertEquals((await user.install({ args: ["--uninstall"] })).code, 0);
  assertEquals(filesBelow(user.home), [".local/", ".local/bin/", ".local/share/"]);
});

Deno.test("install.sh that is interrupted during a download ends at once and leaves nothing", async () => {
  await using releases = await makeReleases();
  await using user = await makeUser(releases);
  await releases.publish("0.5.0", MARKING);
  const shells = ["dash", "bash"].filter(which);
  for (const shell of shells.length > 0 ? shells : ["sh"]) {
    for (const [signal, exit] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
      const { promise, resolve } = Promise.withResolvers<void>();
      releases.answers.set(`/v0.5.0/${FILE}`, () => {
        resolve();
        const start = (control: ReadableStreamDefaultController) =>
          control.enqueue(new TextEncoder().encode(MARKING));
        return new Response(new ReadableStream({ start }));
      });
      const done = user.install({
        shell: [shell],
        spawned: (child) => void promise.then(() => child.kill(signal)),
      });
      assertEquals((await done).code, exit, `${shell} ${signal}`);
      assertEquals(filesBelow(user.home), [], `${shell} ${signal}`);
    }
  }
});

Deno.test({
  ...needs("shellcheck", which("shellcheck") !== undefined, "install.sh is clean for shellcheck"),
  fn: async () => {
    const file = new URL("../../scripts/release/install.sh", import.meta.url).pathname;
    const { code, stdout } = await new Deno.Command("shellcheck", { args: ["--shell=sh", file] }).output();
    assertEquals(code, 0, new TextDecoder().decode(stdout));
  },
});
