import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { stageFile, writeFileAtomic } from "../../../src/util/atomic_write.ts";

function names(dir: string): string[] {
  return [...Deno.readDirSync(dir)].map((entry) => entry.name).sort();
}

Deno.test("writeFileAtomic creates and replaces a file without leaving anything behind", async () => {
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

Deno.test("writeFileAtomic keeps the owner", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "old");
  try {
    await Deno.chown(`${dir.path}/a`, 12_345, 12_345);
  } catch {
    return; // Only root can set the scene.
  }
  await writeFileAtomic(`${dir.path}/a`, "new");
  const info = await Deno.stat(`${dir.path}/a`);
  assertEquals([info.uid, info.gid], [12_345, 12_345]);
});

Deno.test("stageFile leaves the target alone until it is committed", async () => {
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
