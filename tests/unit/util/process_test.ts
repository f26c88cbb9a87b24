import { findProgram } from "../../../src/util/process.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("findProgram ignores directories that others can write, also behind links", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using temp = await makeTempDir();
  const at = (name: string) => `${temp.path}/${name}`;
  for (const directory of ["ws/bin", "usr", "links", "other"]) {
    await Deno.mkdir(at(directory), { recursive: true });
  }
  for (const path of ["ws/bin/tool", "usr/tool", "other/tool"]) await Deno.writeTextFile(at(path), "");
  await Deno.symlink(at("ws/bin"), at("alias"));
  await Deno.symlink(at("ws/bin/tool"), at("links/tool"));
  await Deno.mkdir(at("usr/directory"));
  const find = (name: string, directories: readonly string[], ...untrusted: string[]) =>
    findProgram(
      name,
      directories.map((directory) => directory.startsWith(".") ? directory : at(directory)).join(":"),
      untrusted,
    );
  assertEquals(find("tool", ["ws/bin", "usr"], at("ws")), at("usr/tool"));
  assertEquals(find("tool", ["alias", "links", "usr"], at("ws")), at("usr/tool"));
  assertEquals(find("tool", ["usr", "other"], at("alias"), at("usr")), at("other/tool"));
  assertEquals(find("tool", ["links"], at("ws")), undefined);
  assertEquals(find("tool", ["./usr", ".", "other"], at("ws")), at("other/tool"));
  assertEquals(find("directory", ["usr"], at("ws")), undefined);
  assertEquals(find("tool", ["ws/bin"]), at("ws/bin/tool"));
  assertEquals(find("tool", ["usr"], "/"), undefined);
});
