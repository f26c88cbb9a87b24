import { PERMISSION_FLAGS } from "../../scripts/permissions.ts";
import { assertStringIncludes } from "../support/assert.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the task and the install line of both front pages say the permissions of the bundle", async () => {
  const flags = PERMISSION_FLAGS.join(" ");
  for (const page of ["README.md", "README.zh-CN.md"]) {
    assertStringIncludes(
      await Deno.readTextFile(new URL(page, ROOT)),
      `deno install -g ${flags} -n reasonix`,
    );
  }
  assertStringIncludes(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
    `"deno run ${flags} cli/main.ts"`,
  );
});
