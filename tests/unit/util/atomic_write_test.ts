import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { stageFile, writeFileAtomic } from "../../../src/util/atomic_write.ts";

function names(dir: string): string[] {
  return [...Deno.readDirSync(dir)].map((entry) => entry.name).sort();
}

Deno.test("writeFileAtomic creates and replaces a file without temporary files", async () => {
  await using dir = await makeTempDir();
  await writeFileAtomic(`${dir.path}/a`, "one", { mode: 0o640, sync: true });
  assertEquals(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o777, 0o640);
  await writeFileAtomic(`${dir.path}/a`, new Uint8Array([50]));
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "2");
  assertEquals(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o777, 0o640);
  assertEquals(names(dir.path), ["a"]);
});

Deno.test("writeFileAtomic writes through a symlink and keeps the link", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/sub`);
  await Deno.writeTextFile(`${dir.path}/sub/real`, "old");
  await Deno.symlink("sub/real", `${dir.path}/link`);
  await writeFileAtomic(`${dir.path}/link`, "new");
  assertEquals(await Deno.readLink(`${dir.path}/link`), "sub/real");
  assertEquals(await Deno.readTextFile(`${dir.path}/sub/real`), "new");
});

Deno.test({
  name: "writeFileAtomic keeps the owner" +
    (Deno.uid() === 0 ? "" : " [skipped: only root can give files away]"),
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await using dir = await makeTempDir();
    await Deno.writeTextFile(`${dir.path}/a`, "old");
    await Deno.chown(`${dir.path}/a`, 12_345, 12_345);
    await writeFileAtomic(`${dir.path}/a`, "new");
    const info = await Deno.stat(`${dir.path}/a`);
    assertEquals([info.uid, info.gid], [12_345, 12_345]);
  },
});

/** Prevents new files next to the target, like a directory without write permission. */
const noneBeside = (path: string) => {
  if (path.endsWith(".tmp")) throw new Deno.errors.PermissionDenied("no new files here");
};

Deno.test("writeFileAtomic writes in place when no file can be created next to it, after a second check", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a`;
  await Deno.writeTextFile(path, "old");
  await writeFileAtomic(path, "new", { verify: (_, path) => Promise.resolve(noneBeside(path)) });
  assertEquals([await Deno.readTextFile(path), names(dir.path)], ["new", ["a"]]);
  const verify = (_: Deno.FsFile, path: string) => {
    noneBeside(path);
    return Promise.reject(new Error("It leads elsewhere"));
  };
  await assertRejects(() => writeFileAtomic(path, "newer", { verify }), Error, "It leads elsewhere");
  assertEquals(await Deno.readTextFile(path), "new");
});

Deno.test("writeFileAtomic never writes in place to a file with another hard link", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "old");
  await Deno.link(`${dir.path}/a`, `${dir.path}/b`);
  const verify = (_: Deno.FsFile, path: string) => Promise.resolve(noneBeside(path));
  await assertRejects(
    () => writeFileAtomic(`${dir.path}/a`, "new", { verify }),
    Deno.errors.PermissionDenied,
  );
  assertEquals([await Deno.readTextFile(`${dir.path}/b`), names(dir.path)], ["old", ["a", "b"]]);
});

Deno.test("writeFileAtomic keeps a verified path unchanged and its new file private", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/sub`);
  await Deno.writeTextFile(`${dir.path}/sub/real`, "old");
  await Deno.chmod(`${dir.path}/sub/real`, 0o644);
  await Deno.symlink("sub/real", `${dir.path}/link`);
  const seen: string[] = [];
  const verify = (file: Deno.FsFile, path: string) => {
    seen.push(`${path.slice(0, path.lastIndexOf("/"))} ${((file.statSync().mode ?? 0) & 0o777).toString(8)}`);
    return Promise.resolve();
  };
  await writeFileAtomic(`${dir.path}/link`, "new", { verify });
  assertEquals([await Deno.readTextFile(`${dir.path}/sub/real`), seen], ["old", [`${dir.path} 600`]]);
  assertEquals((await Deno.lstat(`${dir.path}/link`)).isFile, true);
});

Deno.test("writeFileAtomic leaves no temporary file when the target is a directory", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/a`);
  await assertRejects(() => writeFileAtomic(`${dir.path}/a`, "x"));
  assertEquals(names(dir.path), ["a"]);
});

Deno.test("stageFile does not change the target before the commit", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "old");
  const staged = await stageFile(`${dir.path}/a`, "new");
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "old");
  assertEquals(names(dir.path).length, 2);
  await staged.discard();
  assertEquals(names(dir.path), ["a"]);
  const again = await stageFile(`${dir.path}/a`, "new", { setMode: 0o755 });
  await again.commit();
  assertEquals(await Deno.readTextFile(`${dir.path}/a`), "new");
  assert(((await Deno.stat(`${dir.path}/a`)).mode ?? 0) & 0o100);
});

Deno.test("writeFileAtomic rejects and cleans up when the directory does not exist", async () => {
  await using dir = await makeTempDir();
  await assertRejects(() => writeFileAtomic(`${dir.path}/no/a`, "x"), Deno.errors.NotFound);
  assertEquals(names(dir.path), []);
});
