import { exists, isDirectory, isFile, readSmallText, sortedEntries } from "../../../src/path/probe.ts";
import { existingRealPath } from "../../../src/path/real_path.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("probes recognize files, directories, links and missing paths", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  await Deno.writeTextFile(`${root}/file`, "");
  await Deno.mkdir(`${root}/directory`);
  await Deno.symlink("directory", `${root}/link`);
  await Deno.symlink("nowhere", `${root}/dangling`);
  const look = (name: string) => {
    const path = `${root}/${name}`;
    return [exists(path), isFile(path), isDirectory(path), existingRealPath(path)];
  };
  assertEquals(look("file"), [true, true, false, `${root}/file`]);
  assertEquals(look("directory"), [true, false, true, `${root}/directory`]);
  assertEquals(look("link"), [true, false, true, `${root}/directory`]);
  assertEquals(look("dangling"), [true, false, false, undefined]);
  assertEquals(look("nothing"), [false, false, false, undefined]);
  assertEquals(sortedEntries(root).map((entry) => entry.name), ["dangling", "directory", "file", "link"]);
  assertEquals(sortedEntries(`${root}/file`), []);
});

Deno.test("readSmallText reads ordinary files and never blocks on others", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using dir = await makeTempDir();
  const at = (name: string) => `${dir.path}/${name}`;
  await Deno.writeTextFile(at("file"), "text");
  await Deno.symlink("file", at("link"));
  await Deno.symlink("/dev/zero", at("zero"));
  assertEquals((await new Deno.Command("mkfifo", { args: [at("pipe")] }).output()).success, true);
  assertEquals(["file", "link"].map((name) => readSmallText(at(name))), ["text", "text"]);
  assertEquals(
    ["zero", "pipe", "none", "."].map((name) => readSmallText(at(name))),
    Array(4).fill(undefined),
  );
  assertEquals([readSmallText(at("file"), 4), readSmallText(at("file"), 3)], ["text", undefined]);
});
