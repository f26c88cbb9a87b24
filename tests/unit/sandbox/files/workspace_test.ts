import { ReasonixError } from "../../../../src/core/mod.ts";
import { DeniedFiles } from "../../../../src/sandbox/files/denied_files.ts";
import { processFlags } from "../../../../src/sandbox/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { runRestricted } from "../../../support/restricted.ts";
import { jailed, sandboxJail, sh } from "../jail/jail_support.ts";
import { type SandboxDirs, sandboxDirs, sandboxTest } from "../support.ts";

const IS_POSIX = Deno.build.os !== "windows";

sandboxTest("write returns the real path when a relative path is in the workspace", async (g) => {
  const paths = g.workspace();
  assertEquals(await paths.write("src/a.ts"), `${g.ws}/src/a.ts`);
  assertEquals(await paths.write("./src/../new/deep/file.ts"), `${g.ws}/new/deep/file.ts`);
  assertEquals(await paths.write(`${g.ws}/src/b.ts`), `${g.ws}/src/b.ts`);
});

sandboxTest("write creates nothing when the path does not exist", async (g) => {
  await g.workspace().write("new/deep/file.ts");
  await assertRejects(() => Deno.lstat(`${g.ws}/new`), Deno.errors.NotFound);
});

sandboxTest("write refuses every path that leaves the workspace", async (g) => {
  await Deno.symlink(g.outside, `${g.ws}/directory`);
  await Deno.symlink(`${g.outside}/secret.txt`, `${g.ws}/file`);
  await Deno.symlink(`${g.outside}/not-yet.txt`, `${g.ws}/dangling`);
  await Deno.symlink("dangling", `${g.ws}/chain`);
  await Deno.symlink("../outside/deep/not-yet", `${g.ws}/relative`);
  const paths = g.workspace();
  const ways = [
    "../outside/secret.txt",
    "src/../../outside/secret.txt",
    "missing/../../outside/new.txt",
    `${g.outside}/new.txt`,
    "directory/new.txt",
    "directory/../outside/new.txt",
    "file",
    "dangling",
    "chain",
    "relative/x.txt",
    "/",
    "..",
    "/etc/passwd",
    "~/x.txt",
    `${g.ws}x/sibling.txt`,
    "/proc/self/cwd/../outside/x",
    "/dev/null",
    "/dev/shm/x",
    "/sys/x",
  ];
  for (const way of ways) {
    const error = await assertRejects(() => paths.write(way), ReasonixError, "Cannot write");
    assertEquals(error.exit, "blocked", way);
  }
});

sandboxTest("write names the path, the roots and the remedy when it refuses", async (g) => {
  await Deno.symlink(g.outside, `${g.ws}/directory`);
  const error = await assertRejects(() => g.workspace().write("directory/x"), ReasonixError);
  assertEquals(
    error.message,
    `Cannot write directory/x (really ${g.outside}/x): it is outside the writable roots (${g.ws})`,
  );
  assertStringIncludes(error.remedy ?? "", "--add-dir DIR");
  assertStringIncludes(error.remedy ?? "", "[sandbox] allow_write");
});

sandboxTest("write follows symlinks that stay in the workspace", async (g) => {
  await Deno.symlink("src", `${g.ws}/link`);
  await Deno.symlink("src/later.ts", `${g.ws}/dangling`);
  assertEquals(await g.workspace().write("link/a.ts"), `${g.ws}/src/a.ts`);
  assertEquals(await g.workspace().write("dangling"), `${g.ws}/src/later.ts`);
});

sandboxTest("write allows extra roots, also through a symlink", async (g) => {
  await Deno.symlink(g.outside, `${g.base}/alias`);
  const paths = g.workspace({ roots: [g.ws, `${g.base}/alias`] });
  assertEquals(await paths.write(`${g.outside}/x`), `${g.outside}/x`);
  assertEquals(await paths.write("../alias/x"), `${g.outside}/x`);
});

sandboxTest("write keeps its roots when one becomes a symlink after the start", async (g) => {
  const paths = g.workspace({ roots: [g.ws, `${g.base}/later`] });
  await Deno.symlink(g.outside, `${g.base}/later`);
  await assertRejects(() => paths.write(`${g.base}/later/x`), ReasonixError, "outside the writable roots");
});

sandboxTest("write refuses the Reasonix home by file name, even inside a root", async (g) => {
  for (const roots of [[g.ws], [g.base], ["/"]]) {
    const paths = g.workspace({ roots });
    for (const name of ["config.toml", ".env", "trust.json", "projects/x/sessions/1.jsonl", ""]) {
      await assertRejects(
        () => paths.write(`${g.home}/${name}`),
        ReasonixError,
        `Cannot write ${g.home}/${name}`,
      );
    }
  }
});

sandboxTest("a symlinked config file does not grant access to the Reasonix home", async (g) => {
  await Deno.remove(`${g.home}/config.toml`);
  await Deno.symlink("trust.json", `${g.home}/config.toml`);
  await assertRejects(() => g.workspace().write(`${g.home}/config.toml`), ReasonixError, "state of Reasonix");
});

sandboxTest("read allows every path that is not forbidden", async (g) => {
  await Deno.mkdir(`${g.outside}/keys`);
  await Deno.writeTextFile(`${g.outside}/keys/id`, "k");
  await Deno.symlink(`${g.outside}/keys`, `${g.ws}/k`);
  await Deno.symlink("k/id", `${g.ws}/one`);
  const paths = g.workspace({ forbidRead: [`${g.outside}/keys/`] });
  assertEquals(await paths.read("../outside/secret.txt"), `${g.outside}/secret.txt`);
  const ways = [
    `${g.outside}/keys/id`,
    `${g.outside}/keys`,
    "k/id",
    "k",
    "one",
    "src/../../outside/keys/new",
    `${g.home}/.env`,
    `${g.home}/mcp-auth.json`,
  ];
  for (const way of ways) {
    const error = await assertRejects(() => paths.read(way), ReasonixError, "the user has forbidden it");
    assertMatch(error.remedy ?? "", /ask the user/);
  }
  assertEquals(await paths.read(`${g.outside}/keyserver`), `${g.outside}/keyserver`);
});

sandboxTest(
  "an agent writes in its own worktree of the Reasonix home and nowhere else",
  async (g) => {
    const [own, other] = [`${g.home}/worktrees/one/tree/ws`, `${g.home}/worktrees/two/tree/ws`];
    for (const directory of [own, other]) await Deno.mkdir(directory, { recursive: true });
    const paths = g.workspace({ cwd: own, roots: [own] });
    assertEquals(await paths.write("a.ts"), `${own}/a.ts`);
    for (const way of [`${other}/a.ts`, `${own}/../../owner.json`, `${g.home}/trust.json`, `${g.ws}/a.ts`]) {
      await assertRejects(() => paths.write(way), ReasonixError, "Cannot write");
    }
  },
);

sandboxTest("a file that must not be read cannot be written, even in the workspace", async (g) => {
  await Deno.mkdir(`${g.ws}/private`);
  await Deno.symlink("private", `${g.ws}/alias`);
  const paths = g.workspace({ forbidRead: [`${g.ws}/private`] });
  for (const way of ["private/a.txt", "private", "alias/a.txt", "src/../private/deep/a.txt"]) {
    const error = await assertRejects(() => paths.write(way), ReasonixError, "Cannot write");
    assertStringIncludes(error.message, "the user has forbidden it");
  }
  assertEquals(await paths.write("private.txt"), `${g.ws}/private.txt`);
});

sandboxTest("read forbids an entry that is itself a symlink under both names", async (g) => {
  await Deno.symlink(`${g.outside}/secret.txt`, `${g.base}/alias`);
  const paths = g.workspace({ forbidRead: [`${g.base}/alias`] });
  await assertRejects(() => paths.read(`${g.outside}/secret.txt`), ReasonixError, "forbidden");
  assert(paths.hidden(`${g.base}/alias`));
  assert(paths.hidden(`${g.outside}/secret.txt`));
  assert(!paths.hidden(`${g.ws}/src/a.ts`));
});

sandboxTest(
  { name: "read refuses processes, devices and kernel memory", ignore: Deno.build.os !== "linux" },
  async (g) => {
    await Deno.symlink("/proc/self/environ", `${g.ws}/env`);
    const paths = g.workspace();
    const ways = [
      "/proc/self/environ",
      "/proc/1/environ",
      "/proc/thread-self/maps",
      "/proc/self/root/proc/1/mem",
      "env",
      "/dev/zero",
      "/dev/stdin",
      "/dev/fd/0",
      "/proc/kcore",
    ];
    for (const way of ways) await assertRejects(() => paths.read(way), ReasonixError, "Cannot read");
    assertEquals(await paths.read("/proc/cpuinfo"), "/proc/cpuinfo");
  },
);

sandboxTest({
  name: "read resolves the /proc/self forms of ordinary files",
  ignore: Deno.build.os !== "linux",
}, async (g) => {
  const paths = g.workspace({ forbidRead: [g.outside] });
  assertEquals(await paths.read(`/proc/self/root${g.ws}/src/a.ts`), `${g.ws}/src/a.ts`);
  await assertRejects(
    () => paths.read(`/proc/self/root${g.outside}/secret.txt`),
    ReasonixError,
    "forbidden",
  );
  await assertRejects(
    () => paths.write(`/proc/self/root${g.base}/x`),
    ReasonixError,
    "outside the writable roots",
  );
});

sandboxTest("NUL bytes, empty paths and symlink loops are errors", async (g) => {
  await Deno.symlink("loop-b", `${g.ws}/loop-a`);
  await Deno.symlink("loop-a", `${g.ws}/loop-b`);
  const paths = g.workspace();
  await assertRejects(() => paths.read("a\0b"), ReasonixError, "NUL byte");
  await assertRejects(() => paths.write(""), ReasonixError, "empty");
  await assertRejects(() => paths.write("loop-a/x"), ReasonixError, "Too many levels of symbolic links");
});

sandboxTest("a tilde means the user's home only at the beginning", async (g) => {
  const paths = g.workspace();
  assertEquals(await paths.read("~"), `${g.base}/home`);
  assertEquals(await paths.read("~/x"), `${g.base}/home/x`);
  assertEquals(await paths.write("~root"), `${g.ws}/~root`);
  assertEquals(await paths.write("./~/x"), `${g.ws}/~/x`);
});

sandboxTest(
  "names that differ in case or composition are equal where the file system ignores both",
  async (g) => {
    const paths = g.workspace({ caseInsensitive: true, forbidRead: [`${g.outside}/Caf\u00e9 Keys`] });
    for (
      const name of ["cafe\u0301 keys", "CAFE\u0301 KEYS/id", "Caf\u00e9 \u212aeys", "Ca\u200bf\u00e9 Keys"]
    ) {
      await assertRejects(() => paths.read(`${g.outside}/${name}`), ReasonixError, "forbidden");
      assert(paths.hidden(`${g.outside}/${name}`));
    }
  },
);

sandboxTest({
  name: "a directory that only differs in case from a root is not that root",
  ignore: Deno.build.os !== "linux",
}, async (g) => {
  await Deno.mkdir(`${g.base}/WS`);
  const paths = g.workspace({ caseInsensitive: true });
  await assertRejects(() => paths.write(`${g.base}/WS/x`), ReasonixError, "outside the writable roots");
});

sandboxTest("verifyOpened accepts the file that was checked", async (g) => {
  const paths = g.workspace();
  const path = await paths.write("src/a.ts");
  using file = await Deno.open(path, { read: true, write: true });
  await paths.verifyOpened(file, path);
  await paths.verifyOpened(file, path, "write");
});

sandboxTest("verifyOpened detects a directory that became a symlink between check and open", async (g) => {
  const paths = g.workspace();
  await Deno.writeTextFile(`${g.outside}/a.ts`, "outside");
  const path = await paths.write("src/a.ts");
  await Deno.rename(`${g.ws}/src`, `${g.ws}/old`);
  await Deno.symlink(g.outside, `${g.ws}/src`);
  using file = await Deno.open(path, { read: true, write: true });
  await assertRejects(() => paths.verifyOpened(file, path, "write"), ReasonixError, "Cannot write");
  await Deno.remove(`${g.ws}/src`);
  await Deno.rename(`${g.ws}/old`, `${g.ws}/src`);
  await assertRejects(() => paths.verifyOpened(file, path, "write"), ReasonixError, "was replaced while");
});

sandboxTest(
  { name: "verifyOpened refuses to modify a file with another hard link in place", ignore: !IS_POSIX },
  async (g) => {
    await Deno.link(`${g.outside}/secret.txt`, `${g.ws}/hard`);
    const paths = g.workspace();
    const path = await paths.write("hard");
    using file = await Deno.open(path, { read: true, write: true });
    await assertRejects(() => paths.verifyOpened(file, path, "write"), ReasonixError, "2 names");
    await paths.verifyOpened(file, path, "read");
  },
);

sandboxTest(
  { name: "verifyOpened refuses to read a hard link to a forbidden file", ignore: !IS_POSIX },
  async (g) => {
    await Deno.link(`${g.outside}/secret.txt`, `${g.ws}/hard`);
    const paths = g.workspace({ forbidRead: [g.outside] });
    const path = await paths.read("hard");
    using file = await Deno.open(path);
    await assertRejects(() => paths.verifyOpened(file, path), ReasonixError, "forbidden");
  },
);

sandboxTest(
  { name: "paths under /tmp map to the private directory of the jail", ignore: !IS_POSIX },
  async (g) => {
    const privateTmp = `${g.base}/tmp`;
    await Deno.mkdir(privateTmp);
    await Deno.writeTextFile(`${privateTmp}/there.txt`, "x");
    const paths = g.workspace();
    await assertRejects(() => paths.write("/tmp/new.txt"), ReasonixError, "outside the writable roots");
    paths.usePrivateTmp(privateTmp);
    assertEquals(await paths.write("/tmp/new.txt"), `${privateTmp}/new.txt`);
    assertEquals(await paths.read("/tmp/there.txt"), `${privateTmp}/there.txt`);
    assertEquals(await paths.read("/tmp/elsewhere.txt"), "/tmp/elsewhere.txt");
    assertEquals(await paths.write(`${g.ws}/x`), `${g.ws}/x`);
    await assertRejects(() => paths.write("/tmp/../etc/x"), ReasonixError, "outside the writable roots");
    paths.usePrivateTmp(privateTmp, ["/tmp/home"]);
    await assertRejects(() => paths.write("/tmp/home/x"), ReasonixError, "outside the writable roots");
    assertEquals(await paths.write("/tmp/homes"), `${privateTmp}/homes`);
  },
);

sandboxTest("a workspace created from the same data in a worker decides equally", async (g) => {
  const url = new URL("./workspace_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  try {
    const answer = new Promise<string[]>((resolve) => worker.onmessage = (event) => resolve(event.data));
    worker.postMessage({ options: g.workspace().options, paths: ["src/a.ts", "../outside/x"] });
    const [inside, outside] = await answer;
    assertEquals(inside, `${g.ws}/src/a.ts`);
    assertStringIncludes(outside ?? "", "outside the writable roots");
  } finally {
    worker.terminate();
  }
});

sandboxTest("files with a Read deny rule are omitted from lists and can still be written", async (g) => {
  await Deno.symlink(g.ws, `${g.base}/link`);
  const denyRead = ["deny/*", "**/.env", "src/**/own.ts", `${g.base}/link/linked`, "~/notes/**", "**"];
  const paths = g.workspace({ denyRead });
  const seen = (names: readonly string[]) => names.filter((name) => !paths.hidden(`${g.ws}/${name}`));
  const hidden = [
    "deny/a",
    "deny/b/c",
    ".env",
    "x/y/.env",
    ".env/z",
    "src/own.ts",
    "src/a/own.ts",
    "linked/x",
  ];
  assertEquals(seen(hidden), []);
  const shown = ["deny2/a", "denyx", ".env2", "src/myown.ts", "own.ts", "linked2", "src/a.ts", ""];
  assertEquals(seen(shown), shown);
  const home = `${g.base}/home`;
  assert(paths.hidden(`${home}/notes/a`) && !paths.hidden(`${home}/notes2`));
  assertEquals(await paths.write("deny/a"), `${g.ws}/deny/a`);
  assert(!paths.forbids(`${g.ws}/deny/a`));
});

const SECRET = "a-secret-of-the-user";

async function furnish(g: SandboxDirs): Promise<void> {
  for (const directory of ["sub/in", "docs/deep", "node_modules/x", "keys"]) {
    await Deno.mkdir(`${g.ws}/${directory}`, { recursive: true });
  }
  for (
    const path of [".env", "sub/.env", "sub/in/.env", "docs/deep/a.md", "keys/a.pem", "node_modules/x/.env"]
  ) {
    await Deno.writeTextFile(`${g.ws}/${path}`, SECRET);
  }
}

function found(g: SandboxDirs, globs: readonly string[]): string[] {
  return new DeniedFiles({ globs, roots: [g.ws], userHome: `${g.base}/home` }).find()
    .map(({ path }) => path.replace(`${g.ws}/`, "")).sort();
}

sandboxTest("DeniedFiles matches globs of Read rules as the rules do", async (g) => {
  await furnish(g);
  assertEquals(found(g, [".env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["**/.env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["/**/.env"]), [".env", "sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["./sub/.env"]), ["sub/.env"]);
  assertEquals(found(g, ["sub/*.env"]), ["sub/.env", "sub/in/.env"]);
  assertEquals(found(g, ["docs/**"]), ["docs"]);
  assertEquals(found(g, ["*.pem", `${g.ws}/docs/deep`]), ["docs/deep", "keys/a.pem"]);
  assertEquals(found(g, ["node_modules/x/.env", "missing"]), ["node_modules/x/.env"]);
  assertEquals(found(g, ["**", "*"]), []);
});

sandboxTest("DeniedFiles notices new and deleted files", async (g) => {
  await furnish(g);
  const denied = new DeniedFiles({ globs: ["*.pem"], roots: [g.ws] });
  const names = () => denied.find().map(({ path }) => path.slice(g.ws.length + 1)).sort();
  assertEquals(names(), ["keys/a.pem"]);
  await Deno.writeTextFile(`${g.ws}/docs/deep/b.pem`, SECRET);
  assertEquals(names(), ["docs/deep/b.pem", "keys/a.pem"]);
  await Deno.rename(`${g.ws}/docs`, `${g.ws}/papers`);
  await Deno.remove(`${g.ws}/keys/a.pem`);
  assertEquals(names(), ["papers/deep/b.pem"]);
  assertEquals(denied.capped, false);
});

sandboxTest("DeniedFiles stops at its limit and reports it", async (g) => {
  for (let i = 0; i < 300; i++) await Deno.writeTextFile(`${g.ws}/${i}.pem`, "");
  const denied = new DeniedFiles({ globs: ["*.pem"], roots: [g.ws] });
  assertEquals([denied.find().length, denied.capped], [256, true]);
});

sandboxTest(
  jailed("a jailed command cannot read files that a Read rule denies, under any name"),
  async (g) => {
    await furnish(g);
    await Deno.symlink(`${g.ws}/sub/.env`, `${g.ws}/link`);
    const jail = await sandboxJail(g, { denyRead: [".env", "docs/**", "*.pem"] });
    assertStringIncludes(jail.describe().text, "5 paths are hidden (Read rules)");
    for (
      const line of [
        "cat .env sub/.env link docs/deep/a.md keys/a.pem",
        "tar cf - --exclude=node_modules . | cat",
        "grep -rh --exclude-dir=node_modules . .",
        "mv sub sub2; cat sub2/.env sub2/in/.env",
        "mv sub/in x; cat x/.env",
        "cp -r sub c; cat c/.env c/in/.env",
        "ln .env h; cat h; ln -s .env s; cat s",
        "mv .env x; cat x",
        "git init -q r; cd r; git --work-tree=.. add -f ../.env; git show :.env",
        "f=.e; cat ${f}nv; cat .e*; while read -r l; do echo $l; done < .env",
      ]
    ) {
      const { stdout, stderr } = await sh(jail, g.ws, line);
      assert(!(stdout + stderr).includes(SECRET), line);
    }
    // What is not denied works, next to it too.
    assertEquals((await sh(jail, g.ws, "echo new > keys/new && cat keys/new")).stdout, "new\n");
  },
);

sandboxTest(
  jailed("hidden and protected paths stay in place when a parent directory is moved"),
  async (g) => {
    await furnish(g);
    await Deno.mkdir(`${g.ws}/.vscode`);
    await Deno.writeTextFile(`${g.ws}/.vscode/tasks.json`, "{}");
    await Deno.mkdir(`${g.ws}/.reasonix/hooks`, { recursive: true });
    const jail = await sandboxJail(g, { forbidRead: [`${g.ws}/sub/in/.env`] });
    await sh(jail, g.ws, "mv sub sub2; mv sub/in in2");
    const { stdout } = await sh(jail, g.ws, "cat sub2/in/.env sub/in2/.env in2/.env sub/in/.env");
    assert(!stdout.includes(SECRET), stdout);
    await sh(jail, g.ws, "mv .vscode v; mkdir .vscode; echo pwned > .vscode/tasks.json");
    assertEquals(await Deno.readTextFile(`${g.ws}/.vscode/tasks.json`), "{}");
    await sh(jail, g.ws, "mv .reasonix r; mkdir -p .reasonix/hooks; echo pwned > .reasonix/hooks/x");
    assertEquals([...Deno.readDirSync(`${g.ws}/.reasonix/hooks`)], []);
  },
);

/** Runs the operations in a process with these flags. */
async function ask(
  flags: readonly string[],
  attempts: readonly (readonly [string, string])[],
): Promise<string[]> {
  return await runRestricted(flags, new URL("./permission_probe.ts", import.meta.url), attempts) as string[];
}

const POSIX = { ignore: Deno.build.os === "windows" };

function needless(): string {
  throw new Error("These permissions need no file");
}

Deno.test("processFlags grant only the permissions that the process needs", POSIX, async () => {
  await using g = await sandboxDirs();
  const flags = processFlags({ writable: [g.ws], forbidRead: [] }, needless);
  const tries: [string, string, RegExp][] = [
    ["read", `${g.ws}/src/a.ts`, /^ok$/],
    ["read", `${g.outside}/secret.txt`, /^ok$/],
    ["write", `${g.ws}/src/b.ts`, /^ok$/],
    ["write", `${g.outside}/b.ts`, /^NotCapable/],
    ["write", `${g.home}/trust.json`, /^NotCapable/],
    ["run", "/bin/sh", /^NotCapable/],
    ["run", "/bin/ls", /^NotCapable/],
    ["env", "HOME", /^NotCapable/],
    ["connect", "127.0.0.1", /^NotCapable/],
    ["import", "https://example.com/x.ts", /^(?:NotCapable|TypeError)/],
    ["ffi", "/lib/libc.so.6", /^NotCapable/],
    ["hostname", "", /^NotCapable/],
  ];
  const answers = await ask(flags, tries.map(([kind, value]) => [kind, value]));
  for (const [index, [kind, value, expected]] of tries.entries()) {
    assertMatch(answers[index] ?? "", expected, `${kind} ${value}`);
  }
});

Deno.test("processFlags protect a file in a writable directory", POSIX, async () => {
  await using g = await sandboxDirs();
  const kept = `${g.home}/config.toml`;
  const flags = processFlags({ writable: ["/"], keep: [kept], forbidRead: [] }, needless);
  const answers = await ask(flags, [["write", kept], ["read", kept], ["write", `${g.outside}/b.ts`]]);
  assertEquals(answers.map((answer) => answer.split(":")[0]), ["NotCapable", "ok", "ok"]);
});

Deno.test("processFlags name paths without a comma in the command line alone", POSIX, () => {
  const all = { writable: ["/none/ws", "/none/out"], keep: ["/none/config"], forbidRead: ["/none/key"] };
  assertEquals(processFlags(all, needless), [
    "--allow-read",
    "--deny-read=/none/key",
    "--deny-write=/none/key,/none/config",
    "--allow-write=/none/ws,/none/out",
  ]);
  assertEquals(processFlags({ writable: ["/none/ws"], forbidRead: [] }, needless), [
    "--allow-read",
    "--allow-write=/none/ws",
  ]);
});

Deno.test("processFlags do not divide a path with a comma, and grant nothing else", POSIX, async () => {
  await using g = await sandboxDirs();
  const root = `${g.base}/w,${g.outside}`;
  const [key, keys, kept] = [`${root}/key`, `${root}/key,s`, `${root}/kept,${g.base}/w`];
  for (const directory of [keys, kept, `${root},b`, `${g.base}/w`]) {
    await Deno.mkdir(directory, { recursive: true });
  }
  for (const file of [key, `${keys}/a`, `${kept}/a`, `${root}/key,`]) await Deno.writeTextFile(file, "x");
  const file = `${root}/worker.json`;
  const scope = { writable: [root, `${g.base}/*`, `${g.base}/%2C`], keep: [kept], forbidRead: [key, keys] };
  const flags = processFlags(scope, () => file);
  // The runtime reads no other file of these, whose directories could be writable.
  for (const name of ["deno.json", "package.json"]) await Deno.writeTextFile(`${g.base}/${name}`, "{");
  const tries: [string, string, RegExp][] = [
    ["write", `${root}/new`, /^ok$/],
    ["read", `${root}/key,`, /^ok$/],
    ["write", `${root}/key,`, /^ok$/],
    ["read", "/etc/hosts", /^ok$/],
    ["read", `${kept}/a`, /^ok$/],
    ["write", `${kept}/a`, /^NotCapable/],
    ["read", key, /^NotCapable/],
    ["write", key, /^NotCapable/],
    ["read", `${keys}/a`, /^NotCapable/],
    ["write", `${keys}/a`, /^NotCapable/],
    ["write", file, /^NotCapable/],
    ["write", `${g.outside}/b`, /^NotCapable/],
    ["write", `${g.base}/w/b`, /^NotCapable/],
    ["write", `${g.base}/w,`, /^NotCapable/],
    ["write", `${root},b/b`, /^NotCapable/],
    ["write", `${g.ws}/b`, /^NotCapable/],
    ["write", "/etc/reasonix-attack", /^NotCapable/],
    ["run", "/bin/sh", /^NotCapable/],
    ["env", "HOME", /^NotCapable/],
    ["connect", "127.0.0.1", /^NotCapable/],
    ["import", "https://example.com/x.ts", /^(?:NotCapable|TypeError)/],
    ["ffi", "/lib/libc.so.6", /^NotCapable/],
    ["hostname", "", /^NotCapable/],
  ];
  const answers = await ask(flags, tries.map(([kind, value]) => [kind, value]));
  for (const [index, [kind, value, expected]] of tries.entries()) {
    assertMatch(answers[index] ?? "", expected, `${kind} ${value}`);
  }
});

Deno.test("processFlags exclude exactly the forbidden files", POSIX, async () => {
  await using g = await sandboxDirs();
  await Deno.writeTextFile(`${g.base}/other.txt`, "x");
  const forbidRead = [g.outside, `${g.home}/.env`];
  const flags = processFlags({ writable: [g.ws], forbidRead }, needless);
  const paths = [
    `${g.ws}/src/a.ts`,
    `${g.base}/other.txt`,
    `${g.home}/config.toml`,
    "/etc/hosts",
    `${g.outside}/secret.txt`,
    `${g.home}/.env`,
  ];
  const answers = await ask(flags, paths.map((path) => ["read", path] as const));
  assertEquals(answers.map((answer) => answer.split(":")[0]), [
    "ok",
    "ok",
    "ok",
    "ok",
    "NotCapable",
    "NotCapable",
  ]);
});
