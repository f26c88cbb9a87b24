import { createWorkspace } from "../../../src/sandbox/mod.ts";
import { BUILTINS } from "../../../src/tool/mod.ts";
import { assert, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";

/**
 * A policy whose answer is outdated when it is used: the directory becomes a link in between.
 */
function racingPolicy(dir: string, outside: string) {
  const workspace = createWorkspace({ cwd: dir, roots: [dir], home: `${dir}-home` });
  const swap = async (real: string) => {
    await Deno.rename(`${dir}/sub`, `${dir}/old`);
    await Deno.symlink(outside, `${dir}/sub`);
    return real;
  };
  return {
    read: async (path: string) => await swap(await workspace.read(path)),
    write: async (path: string) => await swap(await workspace.write(path)),
    hidden: (path: string) => workspace.hidden(path),
    verifyOpened: (file: Deno.FsFile, path: string, access?: "read" | "write") =>
      workspace.verifyOpened(file, path, access),
  };
}

for (
  const [name, args] of [
    ["read_file", { path: "sub/secret.txt" }],
    ["write_file", { path: "sub/new.txt", content: "pwned" }],
  ] as const
) {
  Deno.test(`${name} detects a directory that became a link after the path was checked`, async () => {
    await using temp = await makeTempDir();
    const [dir, outside] = [`${temp.path}/w`, `${temp.path}/outside`];
    await Deno.mkdir(`${dir}/sub`, { recursive: true });
    await Deno.mkdir(outside);
    await Deno.writeTextFile(`${dir}/sub/secret.txt`, "harmless");
    await Deno.writeTextFile(`${outside}/secret.txt`, "TOPSECRET");
    const tool = BUILTINS.find((candidate) => candidate.name === name);
    const result = await tool?.execute(
      { ...args },
      makeToolContext(dir, { paths: racingPolicy(dir, outside) }),
    );
    assert(result?.isError, result?.content);
    assert(!result.content.includes("TOPSECRET"));
    assert(await Deno.stat(`${outside}/new.txt`).then(() => false, () => true));
    assertStringIncludes(result.content, "error: ");
  });
}
