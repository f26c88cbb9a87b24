/**
 * A release as `deno task release` makes it, with stand-ins for the executables and for the runtime. dpkg
 * installs the Debian package into an empty root, podman builds the container image.
 */
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../../cli/identity.ts";
import { names } from "../../cli/release/channel.ts";
import { executableName, TARGETS } from "../../scripts/compile.ts";
import { debPackage } from "../../scripts/release/deb.ts";
import { acpRegistry } from "../../scripts/release/manifests.ts";
import { LOCAL_NAME } from "../../scripts/release/npm.ts";
import { makeTrial } from "../../scripts/try_program.ts";
import { VERSION } from "../../src/util/version.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { containerStore, IMAGE, isInstalled, podman } from "../support/containers.ts";
import { denoDir, programFile } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { needs } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const ARCHITECTURE = Deno.build.arch === "aarch64" ? "arm64" : "amd64";
/** Names that are not decided yet get a value here. */
const NAME = decided(REPOSITORY) ?? "some-owner/some-name";
const KEY = decided(PUBLIC_KEY) ?? "RWQdecidedInThisTest";
const decoder = new TextDecoder();

/** The running Deno under another name, without its bytes but with the marks of its libraries. */
const RUNTIME = `#!/bin/sh\nexec ${Deno.execPath()} "$@"\n# GLIBC_2.9\0 GLIBC_2.27\0 libgcc_s.so.1\0`;

async function run(command: readonly string[], env: Record<string, string> = {}) {
  const [program = "", ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program, { args, env, stdin: "null" }).output();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

async function mustRun(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, text } = await run(command, env);
  assertEquals(code, 0, text);
  return text;
}

/** Files and directories below a directory by their paths, in order. */
function entriesOf(directory: string, prefix = ""): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? [`${prefix}${name}/`, ...entriesOf(`${directory}/${name}`, `${prefix}${name}/`)]
      : [prefix + name]
  ).sort();
}

function filesOf(directory: string): string[] {
  return entriesOf(directory).filter((path) => !path.endsWith("/"));
}

/** Runs the task `release`. */
async function release(args: readonly string[], env: Record<string, string> = {}) {
  return await run(
    [Deno.execPath(), "run", "-A", "--quiet", "--no-check", `${ROOT}scripts/release/main.ts`, ...args],
    { ...denoDir(), NO_COLOR: "1", ...env },
  );
}

/** Makes a release of the built program in `release` and `channels` of a directory. */
async function makeRelease(directory: string, env: Record<string, string> = {}): Promise<void> {
  const from = `${directory}/dist`;
  await Deno.mkdir(from, { recursive: true });
  const built = (await programFile()).replace(/[^/]*$/, "");
  for (const { name, isFile } of Deno.readDirSync(built)) {
    if (isFile) await Deno.copyFile(built + name, `${from}/${name}`);
  }
  for (const target of TARGETS) await Deno.writeTextFile(`${from}/${executableName(target)}`, `${target}\n`);
  await Deno.writeTextFile(`${directory}/runtime`, RUNTIME);
  const options = {
    from,
    to: `${directory}/release`,
    channels: `${directory}/channels`,
    ...decided(REPOSITORY) ? {} : { repository: NAME },
    ...decided(PUBLIC_KEY) ? {} : { "public-key": KEY },
  };
  const words = [
    "all",
    "--dry-run",
    ...Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    ...["amd64", "arm64"].map((name) => `--runtime=${name}=${directory}/runtime`),
  ];
  const { code, text } = await release(words, env);
  assertEquals(code, 0, text);
}

const npx = isInstalled("npx") || isInstalled("npx", "/usr/local/bin");
const hasDpkg = isInstalled("dpkg") && isInstalled("bwrap");
const hasPodman = Deno.build.os === "linux" && isInstalled("podman");

Deno.test({
  ...needs(
    "dpkg",
    isInstalled("dpkg"),
    "a Debian package takes versions of SemVer, and its files are of root and of one time",
  ),
  fn: async () => {
    await using temp = await makeTempDir();
    const from = (await programFile()).replace(/[^/]*$/, "");
    const bytes = await debPackage({
      version: "1.2.0-rc.1",
      architecture: ARCHITECTURE,
      runtime: new TextEncoder().encode(RUNTIME),
      from,
      share: new Map([["man/man5/reasonix.toml.5.gz", new Uint8Array(3)]]),
      repository: NAME,
      time: new Date("2023-11-14T22:13:20Z"),
    });
    const deb = `${temp.path}/reasonix.deb`;
    await Deno.writeFile(deb, bytes);
    const control = await mustRun(["dpkg-deb", "--field", deb]);
    for (
      const line of [
        // dpkg takes a version with ~ for older than the one without.
        "Version: 1.2.0~rc.1",
        `Architecture: ${ARCHITECTURE}`,
        "Depends: libc6 (>= 2.27), libgcc-s1",
        "Recommends: bubblewrap, ripgrep",
        "Suggests: git",
        `Homepage: https://github.com/${NAME}`,
      ]
    ) {
      assertStringIncludes(`\n${control}`, `\n${line}\n`);
    }
    const listing = (await mustRun(["dpkg-deb", "--contents", deb], { TZ: "UTC" })).trimEnd().split("\n");
    for (const line of listing) {
      const [mode, owner, , date, , path = ""] = line.split(/ +/);
      assertEquals([owner, date], ["root/root", "2023-11-14"], line);
      const isProgram = /\/$|^\.\/usr\/bin\/reasonix$|\/deno$/.test(path);
      assertEquals(mode?.slice(1), isProgram ? "rwxr-xr-x" : "rw-r--r--", line);
    }
    assert(listing.some((line) => line.endsWith(" ./usr/share/man/man5/reasonix.toml.5.gz")));
  },
});

Deno.test({
  ...needs("npx", npx, "a release has every file, and two builds of it are equal"),
  fn: async (t) => {
    await using temp = await makeTempDir();
    const [one, two] = [`${temp.path}/one`, `${temp.path}/two`];
    await makeRelease(one);
    await makeRelease(two, { TMPDIR: two, TZ: "Asia/Tokyo", LC_ALL: "C" });
    const files = filesOf(`${one}/release`);
    for (
      const file of [
        "SHA256SUMS",
        "THIRD_PARTY_LICENSES",
        "install.js",
        "install.ps1",
        "install.sh",
        "reasonix-all.js",
        "reasonix-share.tar.gz",
        "reasonix.js",
        `reasonix_${VERSION}_amd64.deb`,
        `reasonix_${VERSION}_arm64.deb`,
        "sbom.cdx.json",
        ...TARGETS.map(executableName),
      ]
    ) {
      assert(files.includes(file), `${file} in ${files}`);
    }
    assert(files.some((file) => file.endsWith(`-${VERSION}.tgz`)), `${files}`);
    const winget = names(NAME).winget;
    const manifests = `winget/manifests/${NAME[0]?.toLowerCase()}/${
      winget.replace(".", "/")
    }/${VERSION}/${winget}`;
    const registry = acpRegistry({ version: VERSION, repository: NAME }, decided(NPM_NAME) ?? LOCAL_NAME);
    assertEquals(filesOf(`${one}/channels`), [
      ...Object.keys(registry).map((name) => `acp/${name}`),
      "homebrew/reasonix.rb",
      "image/Containerfile",
      "scoop/reasonix.json",
      `${manifests}.installer.yaml`,
      `${manifests}.locale.en-US.yaml`,
      `${manifests}.yaml`,
    ]);
    for (const directory of ["release", "channels"]) {
      assertEquals(filesOf(`${two}/${directory}`), filesOf(`${one}/${directory}`));
      for (const file of filesOf(`${one}/${directory}`)) {
        const [first, second] = await Promise.all(
          [one, two].map((each) => Deno.readFile(`${each}/${directory}/${file}`)),
        );
        assertEquals(first, second, file);
      }
    }
    // Names that are not decided are local ones here; those that are not given stay open.
    for (const file of ["reasonix.js", "reasonix-all.js", "install.sh", "install.ps1"]) {
      const text = await Deno.readTextFile(`${one}/release/${file}`);
      assertEquals([text.includes("@unset-repository"), text.includes(NAME)], [false, true], file);
    }
    for (const file of ["install.js", "install.sh", "install.ps1", "reasonix.js"]) {
      assert((await Deno.readTextFile(`${one}/release/${file}`)).includes(KEY), file);
    }
    const sums = await Deno.readTextFile(`${one}/release/SHA256SUMS`);
    const formula = await Deno.readTextFile(`${one}/channels/homebrew/reasonix.rb`);
    for (const [, sum = ""] of formula.matchAll(/sha256 "(.*?)"/g)) assertStringIncludes(sums, sum);

    await t.step({
      ...needs(
        "dpkg",
        hasDpkg,
        "dpkg installs the package, which does a task, and removes all but user files",
      ),
      fn: () => installDeb(one),
    });
    await t.step({
      ...needs("podman", hasPodman, "podman builds the image, whose user without rights does a task"),
      fn: () => useImage(one),
    });
  },
});

Deno.test("a step of a release stops without decided names and for wrong arguments", async () => {
  await using temp = await makeTempDir();
  const refusals: readonly (readonly [words: string, error: RegExp])[] = [
    ...[NPM_NAME, REPOSITORY, PUBLIC_KEY].every(decided) ? [] : [
      [
        "deb",
        /^error: Cannot release: set .*REPOSITORY.* in cli\/identity\.ts/,
      ] as const,
    ],
    [
      "scoop --repository=a/b",
      /^error: Cannot use --repository without --dry-run; edit cli\/identity\.ts$/m,
    ],
    ["deb snap --dry-run", /^error: Cannot find the step snap; steps are all, .*$/m],
    [
      `files --dry-run --from=${temp.path} --to=${temp.path}/x`,
      /^error: Cannot find reasonix\.js among the built files; make it with: deno task bundle$/m,
    ],
  ];
  for (const [words, error] of refusals) {
    const { code, text } = await release(words.split(" "));
    assertEquals(code, 1, text);
    assertMatch(text, error);
  }
});

/** The words that start a program with the files of an installed package in their place. */
function within(root: string): string[] {
  const libraries = [...Deno.readDirSync("/usr/lib")].flatMap(({ name, isSymlink }) => {
    const path = `/usr/lib/${name}`;
    return isSymlink ? ["--symlink", Deno.readLinkSync(path), path] : ["--ro-bind", path, path];
  });
  const program = ["--ro-bind", `${root}/usr/lib/reasonix`, "/usr/lib/reasonix"];
  return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/usr/lib", ...libraries, ...program];
}

async function installDeb(directory: string): Promise<void> {
  const root = `${directory}/root`;
  const home = `${root}/home/user`;
  for (const path of ["var/lib/dpkg/info", "var/lib/dpkg/updates", "home/user"]) {
    await Deno.mkdir(`${root}/${path}`, { recursive: true });
  }
  await Deno.writeTextFile(`${root}/var/lib/dpkg/status`, "");
  const forced = "--force-not-root,depends,bad-path";
  const dpkg = (...args: string[]) =>
    mustRun(["dpkg", `--root=${root}`, forced, `--log=${directory}/log`, ...args]);
  await dpkg("--install", `${directory}/release/reasonix_${VERSION}_${ARCHITECTURE}.deb`);
  assertEquals(await dpkg("--verify", "reasonix"), "");
  const share = filesOf(`${root}/usr/share`);
  for (
    const path of [
      "bash-completion/completions/reasonix",
      "doc/reasonix/THIRD_PARTY_LICENSES",
      "doc/reasonix/changelog.gz",
      "doc/reasonix/copyright",
      "fish/vendor_completions.d/reasonix.fish",
      "man/man1/reasonix-run.1.gz",
      "man/man1/reasonix.1.gz",
      "man/man5/reasonix.toml.5.gz",
      "man/man7/reasonix-events.7.gz",
      "zsh/vendor-completions/_reasonix",
    ]
  ) {
    assert(share.includes(path), `${path} in ${share}`);
  }

  await using trial = await makeTrial();
  const command = [...within(root), `${root}/usr/bin/reasonix`];
  const env = { HOME: home, ...denoDir() };
  await trial.work(command, env);
  const doctor = await run([...command, "doctor", "--verbose"], { ...env, REASONIX_HOME: trial.home });
  assertMatch(doctor.text, /channel +deb\n/);
  assertMatch(doctor.text, /program +\/usr\/lib\/reasonix\/reasonix\.js\n/);
  assertMatch(doctor.text, /denied +ffi, import\n/);
  const uninstall = await run([...command, "uninstall"], env);
  assertEquals(uninstall.code, 2, uninstall.text);
  assertMatch(uninstall.text, /it belongs to dpkg\n.*emove it with: sudo apt remove reasonix\n/);

  await Deno.writeTextFile(`${home}/notes.txt`, "mine\n");
  await dpkg("--remove", "reasonix");
  const left = entriesOf(root).filter((path) => !path.startsWith("var/"));
  assert(left.includes("home/user/notes.txt"), `${left}`);
  assertEquals(left.filter((path) => !path.startsWith("home/")), []);
}

/** Programs of Debian's slim image that the Containerfile uses, and what it installs. */
const BASE_PROGRAMS =
  "bwrap chown diff dpkg dpkg-deb dpkg-query dpkg-split git install ldconfig rm start-stop-daemon tail tar useradd";

/** Takes the place of apt-get where there is no archive: dpkg installs the file, the rest is there. */
const APT = `#!/bin/sh
for word in "$@"; do last=$word; done
[ "$1" = update ] || dpkg --force-depends --install "$last"
`;

const BASE = `set -e
mkdir -p root/usr/bin root/usr/sbin root/etc root/var/log root/var/lib/apt/lists root/var/lib/dpkg/info \\
  root/var/lib/dpkg/updates
files=$(PATH=$PATH:/usr/sbin:/sbin type -P ${BASE_PROGRAMS})
cp -L $files root/usr/bin
ldd $files 2>/dev/null | grep -o '[[:space:]]/[^ :]* ' | sort -u | xargs cp -L --parents -t root
touch root/var/lib/dpkg/status
cp /etc/login.defs root/etc
echo 'root:x:0:0:root:/root:/bin/sh' > root/etc/passwd
echo 'root:x:0:' > root/etc/group
tar -C root -cf root.tar .
rm -r root
printf 'FROM ${IMAGE}\\nADD root.tar /\\nCOPY --chmod=755 apt-get /usr/bin/apt-get\\n' > Containerfile
`;

async function useImage(directory: string): Promise<void> {
  const store = await containerStore();
  const base = `${directory}/base`;
  await Deno.mkdir(base);
  await Deno.writeTextFile(`${base}/apt-get`, APT);
  await mustRun(["/bin/bash", "-c", `cd '${base}' && ${BASE}`]);
  await podman("build", "--network=none", "--tag=localhost/base:1", base);
  const image = "localhost/reasonix:1";
  await podman(
    "build",
    "--network=none",
    "--build-arg=BASE=localhost/base:1",
    `--tag=${image}`,
    `--file=${directory}/channels/image/Containerfile`,
    `${directory}/release`,
  );
  const { User, WorkingDir, Entrypoint, Labels } = JSON.parse(
    await podman("inspect", "--format={{json .Config}}", image),
  );
  assertEquals([User, WorkingDir, Entrypoint], ["1000:1000", "/work", ["/usr/bin/reasonix"]]);
  assertEquals(Labels["org.opencontainers.image.version"], VERSION);
  assertEquals(Labels["org.opencontainers.image.source"], `https://github.com/${NAME}`);

  await using trial = await makeTrial();
  const shared = trial.home.replace(/\/home$/, "");
  const runtime = Deno.execPath().replace(/\/[^/]*$/, "");
  // The user of the image may change files of the user who starts it.
  const user = Deno.uid() === 0 ? [] : ["--userns=keep-id:uid=1000,gid=1000"];
  if (Deno.uid() === 0) await mustRun(["chown", "-R", "1000:1000", shared]);
  const command = [
    ...["podman", "run", "--rm", "--pull=never", "--network=none", ...user],
    ...[`--volume=${shared}:${shared}`, `--volume=${runtime}:${runtime}:ro`, `--workdir=${shared}/work`],
    ...["--env=REASONIX_HOME", "--env=NO_COLOR", image],
  ];
  await trial.work(command, store);
  const { text } = await run([...command, "doctor", "--verbose"], { ...store, REASONIX_HOME: trial.home });
  assertMatch(text, /channel +image\n/);
  assertMatch(text, /denied +ffi, import\n/);
  await podman("rmi", "--force", image, "localhost/base:1");
}
