import { ReasonixError } from "../../../../src/core/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { sandboxTest } from "../support.ts";

const POSIX = Deno.build.os !== "windows";

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
  { name: "verifyOpened refuses to modify a file with another hard link in place", ignore: !POSIX },
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
  { name: "verifyOpened refuses to read a hard link to a forbidden file", ignore: !POSIX },
  async (g) => {
    await Deno.link(`${g.outside}/secret.txt`, `${g.ws}/hard`);
    const paths = g.workspace({ forbidRead: [g.outside] });
    const path = await paths.read("hard");
    using file = await Deno.open(path);
    await assertRejects(() => paths.verifyOpened(file, path), ReasonixError, "forbidden");
  },
);

sandboxTest(
  { name: "paths under /tmp map to the private directory of the jail", ignore: !POSIX },
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
