import { CappedFile } from "../../../../src/tool/shell/capped_file.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

Deno.test("CappedFile keeps both ends in order for any sizes of chunks", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/out`;
  for (const size of [1, 7, 100, 999, 5000]) {
    using file = new CappedFile(path, 1000);
    let stream = "";
    for (let count = 0; count < 6000 / size; count++) {
      const chunk = Array.from({ length: size }, (_, at) => String((count * size + at) % 10)).join("");
      stream += chunk;
      assertEquals(file.write(new TextEncoder().encode(chunk)), size);
      const kept = await Deno.readTextFile(path);
      assert(kept.length <= 1000);
      const [head = "", tail = ""] = kept.split(/\n\[ *\d+ bytes left out\]\n/);
      assert(stream.startsWith(head) && stream.endsWith(tail));
      assertEquals(stream.length - file.leftOut, head.length + tail.length);
      for (const from of [0, stream.length - 100, stream.length]) {
        const read = file.read(Math.max(0, from));
        assertEquals(new TextDecoder().decode(read.bytes), stream.slice(read.from));
      }
    }
    assertEquals(file.total, stream.length);
  }
});
