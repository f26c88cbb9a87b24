import { freeSpace } from "../../../../src/tool/shell/disk_watch.ts";
import { assert } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

Deno.test("freeSpace asks the volume, also for a directory that does not exist yet", async () => {
  await using dir = await makeTempDir();
  for (const directory of [dir.path, `${dir.path}/not/yet`, "/", "/no-such-directory"]) {
    const bytes = await freeSpace(directory);
    assert(bytes !== undefined && bytes > 0 && Number.isInteger(bytes), directory);
  }
});
