import { START_FLAGS, startFlagsFor } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { installLines } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the task and the install lines of docs/start.md have the flags of the bundle", async () => {
  const lines = await installLines();
  const [address = "", npx = "", file = ""] = lines;
  assertStringIncludes(file, `deno install -g ${START_FLAGS.join(" ")} -n reasonix`);
  const remote = startFlagsFor("https://example.org/reasonix.js");
  assertStringIncludes(address, `deno install -g ${remote.join(" ")} -n reasonix`);
  assertStringIncludes(npx, `run ${remote.join(" ")} --no-config https://example.org/reasonix.js install`);
  assertStringIncludes(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
    `"deno run ${START_FLAGS.join(" ")} cli/main.ts"`,
  );
});

Deno.test("start flags never contain -A, which an installed command would turn into all permissions", () => {
  assert(!START_FLAGS.some((flag) => ["-A", "--allow-all", "--allow-ffi"].includes(flag)));
  assert(START_FLAGS.includes("--no-remote"));
  assertEquals(startFlagsFor("file:///x/reasonix.js"), START_FLAGS);
  const remote = startFlagsFor("http://127.0.0.1:80/reasonix.js").join(" ");
  assertStringIncludes(remote, "--deny-ffi --allow-import=127.0.0.1");
  assert(!remote.includes("no-remote"));
});

Deno.test("the runtime writes nothing to the terminal, however the program is started", () => {
  for (const flags of [START_FLAGS, startFlagsFor("https://example.org/reasonix.js")]) {
    assertEquals(flags[0], "--quiet");
  }
});
