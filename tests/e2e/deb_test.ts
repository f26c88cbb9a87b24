/** The Debian package: installed by dpkg into an empty root, used for a task, and removed. */
import { MARKER } from "../../cli/release/channel.ts";
import { debPackage, type Package } from "../../scripts/release/deb.ts";
import { shareFiles } from "../../scripts/release/share.ts";
import { makeTrial } from "../../scripts/try_program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { denoDir, programFile } from "../support/program.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { needs } from "../support/tools.ts";

const decoder = new TextDecoder();

async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args], env, stdin: "null" })
    .output();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

async function mustRun(command: string, args: readonly string[]): Promise<string> {
  const { code, text } = await run(command, args);
  assertEquals(code, 0, text);
  return text;
}

/** Files below a directory by their paths, in order. */
function filesOf(directory: string, prefix = ""): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? [`${prefix}${name}/`, ...filesOf(`${directory}/${name}`, `${prefix}${name}/`)]
      : [prefix + name]
  ).sort();
}

/** The words that start a program with the files of the package in their place. */
function within(root: string): string[] {
  const libraries = [...Deno.readDirSync("/usr/lib")].flatMap(({ name, isSymlink }) => {
    const path = `/usr/lib/${name}`;
    return isSymlink ? ["--symlink", Deno.readLinkSync(path), path] : ["--ro-bind", path, path];
  });
  const program = ["--ro-bind", `${root}/usr/lib/reasonix`, "/usr/lib/reasonix"];
  return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/usr/lib", ...libraries, ...program];
}

/** The running Deno under another name, without its bytes. */
const RUNTIME = new TextEncoder().encode(
  `#!/bin/sh\nexec ${Deno.execPath()} "$@"\n# GLIBC_2.9\0 GLIBC_2.27\0 libgcc_s.so.1\0`,
);

const isThere = Deno.build.os === "linux" &&
  ["dpkg", "bwrap"].every((name) => {
    try {
      return Deno.statSync(`/usr/bin/${name}`).isFile;
    } catch {
      return false;
    }
  });

Deno.test({
  ...needs(
    "bwrap",
    isThere,
    "dpkg installs the package, which edits files, and removes all but the user's files",
    "dpkg or bwrap is not installed",
  ),
  fn: async () => {
    await using temp = await makeTempDir();
    const from = `${temp.path}/dist`;
    await Deno.mkdir(from);
    const bundle = (await programFile()).replace(/[^/]*$/, "");
    for (const { name } of Deno.readDirSync(bundle)) {
      if (/^reasonix.*\.js$|^THIRD/.test(name)) await Deno.copyFile(bundle + name, `${from}/${name}`);
    }
    const options: Package = {
      version: "1.2.0-rc.1",
      architecture: Deno.build.arch === "aarch64" ? "arm64" : "amd64",
      runtime: RUNTIME,
      from,
      share: shareFiles(new Map([["reasonix.1", ".Dd x\n"], ["reasonix.toml.5", ".Dd y\n"]])),
      repository: "some-owner/some-name",
      time: 1_700_000_000,
    };
    const bytes = await debPackage(options);
    assertEquals(await debPackage(options), bytes, "two packages of the same files are equal");
    const deb = `${temp.path}/reasonix.deb`;
    await Deno.writeFile(deb, bytes);

    const control = await mustRun("dpkg-deb", ["--field", deb]);
    for (
      const line of [
        "Version: 1.2.0~rc.1",
        "Depends: libc6 (>= 2.27), libgcc-s1",
        "Recommends: bubblewrap, ripgrep",
        "Suggests: git",
        "Homepage: https://github.com/some-owner/some-name",
      ]
    ) {
      assertStringIncludes(`\n${control}`, `\n${line}\n`);
    }
    for (const line of (await mustRun("dpkg-deb", ["--contents", deb])).trimEnd().split("\n")) {
      const [mode, owner, , date, , path = ""] = line.split(/ +/);
      assertEquals([owner, date], ["root/root", "2023-11-14"], line);
      const isProgram = path.endsWith("/") ||
        ["./usr/bin/reasonix", "./usr/lib/reasonix/deno"].includes(path);
      assertEquals(mode?.slice(1), isProgram ? "rwxr-xr-x" : "rw-r--r--", line);
    }

    const root = `${temp.path}/root`;
    const home = `${root}/home/user`;
    for (const directory of ["var/lib/dpkg/info", "var/lib/dpkg/updates", "home/user"]) {
      await Deno.mkdir(`${root}/${directory}`, { recursive: true });
    }
    await Deno.writeTextFile(`${root}/var/lib/dpkg/status`, "");
    const dpkg = (...args: string[]) =>
      mustRun("dpkg", [
        `--root=${root}`,
        "--force-not-root,depends,bad-path",
        `--log=${temp.path}/log`,
        ...args,
      ]);
    await dpkg("--install", deb);
    assertEquals(await dpkg("--verify", "reasonix"), "");
    assertEquals(filesOf(`${root}/usr/share`).filter((path) => !path.endsWith("/")), [
      "bash-completion/completions/reasonix",
      "doc/reasonix/THIRD_PARTY_LICENSES",
      "doc/reasonix/changelog.gz",
      "doc/reasonix/copyright",
      "fish/vendor_completions.d/reasonix.fish",
      "man/man1/reasonix.1.gz",
      "man/man5/reasonix.toml.5.gz",
      "zsh/vendor-completions/_reasonix",
    ]);
    assertEquals(await Deno.readTextFile(`${root}/usr/lib/reasonix/${MARKER}`), '{ "channel": "deb" }\n');

    await using trial = await makeTrial();
    const command = [...within(root), `${root}/usr/bin/reasonix`];
    const env = { HOME: home, ...denoDir() };
    await trial.work(command, env);
    const [program = "", ...args] = command;
    const doctor = await run(program, [...args, "doctor", "--verbose"], {
      ...env,
      REASONIX_HOME: trial.home,
    });
    assertMatch(doctor.text, /channel +deb\n/);
    assertMatch(doctor.text, /program +\/usr\/lib\/reasonix\/reasonix\.js\n/);
    assertMatch(doctor.text, /denied +ffi, import\n/);
    const uninstall = await run(program, [...args, "uninstall"], env);
    assertEquals(uninstall.code, 2, uninstall.text);
    assertStringIncludes(uninstall.text, "it belongs to dpkg");
    assertStringIncludes(uninstall.text.toLowerCase(), "remove it with: sudo apt remove reasonix");

    await Deno.writeTextFile(`${home}/notes.txt`, "mine\n");
    await dpkg("--remove", "reasonix");
    const left = filesOf(root).filter((path) => !path.startsWith("var/"));
    assert(left.includes("home/user/notes.txt"));
    assertEquals(left.filter((path) => !path.startsWith("home/")), []);
  },
});
