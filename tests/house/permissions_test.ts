import { PERMISSION_FLAGS } from "../../scripts/permissions.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { installLines } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the task and the install lines of both front pages say the permissions of the bundle", async () => {
  const lines = await installLines("README.md");
  assertEquals(lines, await installLines("README.zh-CN.md"));
  const [address = "", file = ""] = lines;
  assertStringIncludes(file, `deno install -g ${PERMISSION_FLAGS.join(" ")} -n reasonix`);
  // A program that is itself a remote module is let in from its own host, and nothing else is.
  const remote = PERMISSION_FLAGS.filter((flag) => !["--deny-import", "--no-remote"].includes(flag));
  assertStringIncludes(address, `deno install -g ${remote.join(" ")} --allow-import=example.org -n reasonix`);
  assertStringIncludes(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
    `"deno run ${PERMISSION_FLAGS.join(" ")} cli/main.ts"`,
  );
});

Deno.test("no permission is given by -A, which an installed command would turn into everything", () => {
  assert(!PERMISSION_FLAGS.some((flag) => ["-A", "--allow-all", "--allow-ffi"].includes(flag)));
  assert(PERMISSION_FLAGS.includes("--no-remote"));
});
