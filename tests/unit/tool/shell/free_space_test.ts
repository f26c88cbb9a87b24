import { freeSpace } from "../../../../src/tool/shell/disk_watch.ts";
import { assert } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

Deno.test("freeSpace returns the space of the volume, also for a missing directory", async () => {
  await using dir = await makeTempDir();
  for (const directory of [dir.path, `${dir.path}/not/yet`, "/", "/no-such-directory"]) {
    const bytes = await freeSpace(directory);
    assert(bytes !== undefined && bytes > 0 && Number.isInteger(bytes), directory);
  }
});
