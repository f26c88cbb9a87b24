import { exists, isFile, isFolder, realPath, sortedEntries } from "../../../src/util/look.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("looks answer for files, folders, links and nothing", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  await Deno.writeTextFile(`${root}/file`, "");
  await Deno.mkdir(`${root}/folder`);
  await Deno.symlink("folder", `${root}/link`);
  await Deno.symlink("nowhere", `${root}/dangling`);
  const look = (name: string) => {
    const path = `${root}/${name}`;
    return [exists(path), isFile(path), isFolder(path), realPath(path)];
  };
  assertEquals(look("file"), [true, true, false, `${root}/file`]);
  assertEquals(look("folder"), [true, false, true, `${root}/folder`]);
  assertEquals(look("link"), [true, false, true, `${root}/folder`]);
  assertEquals(look("dangling"), [true, false, false, undefined]);
  assertEquals(look("nothing"), [false, false, false, undefined]);
  assertEquals(sortedEntries(root).map((entry) => entry.name), ["dangling", "file", "folder", "link"]);
  assertEquals(sortedEntries(`${root}/file`), []);
});
