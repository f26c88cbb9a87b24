import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld } from "../support/program.ts";

Deno.test("the user's own configuration never comes from the working directory when HOME is not set", async () => {
  await using world = await makeWorld();
  await world.write(".reasonix/config.toml", 'default_model = "hostile"\n');
  const env = { REASONIX_HOME: "", HOME: "", USERPROFILE: "", APPDATA: "" };
  const { code, stdout, stderr } = await world.run(["config", "path"], { env });
  assert(!stdout.includes(`${world.dir}/.reasonix`), stdout);
  // A user whom the system's list does not know has to say where the home is.
  if (code !== 0) {
    assertEquals(code, 6);
    assertStringIncludes(stderr, "set REASONIX_HOME");
  }
});

Deno.test("a relative HOME is none: it would be another place in every directory", async () => {
  await using world = await makeWorld();
  await world.write("rel/.reasonix/config.toml", 'default_model = "hostile"\n');
  const env = { REASONIX_HOME: "", HOME: "rel", USERPROFILE: "", APPDATA: "" };
  const { stdout } = await world.run(["config", "path"], { env });
  assert(!/(?:^|\/work\/)rel\b/m.test(stdout), stdout);
});

Deno.test("a flag that is nearly one is answered with the flag as it is typed", async () => {
  await using world = await makeWorld();
  const { code, stderr } = await world.run(["run", "--max-step", "3", "x"]);
  assertEquals([code, stderr], [2, "error: Unknown option --max-step\n       did you mean --max-steps?\n"]);
});
