import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";

const NO_HOME = { REASONIX_HOME: "", HOME: "", USERPROFILE: "", APPDATA: "" };

/** A user with a home in the system's list, and one without. */
for (
  const { uid, code, says } of [{ uid: 0, code: 0, says: "" }, {
    uid: 54321,
    code: 6,
    says: "set REASONIX_HOME",
  }]
) {
  Deno.test({
    ...jailed(
      `the configuration of user ${uid} never comes from the working directory when HOME is not set`,
    ),
    fn: async () => {
      await using world = await makeWorld();
      await world.write(".reasonix/config.toml", 'default_model = "hostile"\n');
      const within = ["/usr/bin/bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", String(uid)];
      const done = await world.run(["config", "path"], { env: NO_HOME, within });
      assert(!done.stdout.includes(`${world.dir}/.reasonix`), done.stdout);
      assertEquals(done.code, code, done.stderr);
      assertStringIncludes(done.stderr, says);
    },
  });
}

Deno.test("a relative HOME is ignored: it would differ in every directory", async () => {
  await using world = await makeWorld();
  await world.write("rel/.reasonix/config.toml", 'default_model = "hostile"\n');
  const { stdout } = await world.run(["config", "path"], { env: { ...NO_HOME, HOME: "rel" } });
  assert(!/(?:^|\/work\/)rel\b/m.test(stdout), stdout);
});

Deno.test("a misspelled flag gets a suggestion of the correct flag", async () => {
  await using world = await makeWorld();
  const { code, stderr } = await world.run(["run", "--max-step", "3", "x"]);
  assertEquals([code, stderr], [2, "error: Unknown option --max-step\n       did you mean --max-steps?\n"]);
});

Deno.test("a directory removed during the start is a readable error", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
  const preload = `${world.home}/remove.ts`;
  await Deno.writeTextFile(preload, "Deno.removeSync(Deno.cwd(), { recursive: true });\n");
  for (const args of [["run", "hi"], [], ["chat"], ["context"], ["doctor"]]) {
    const cwd = `${world.dir}/gone`;
    await Deno.mkdir(cwd);
    const { code, stderr } = await world.run(args, { cwd, preload });
    assertEquals([args, code], [args, 2], stderr);
    assertStringIncludes(stderr, "Cannot work in the current directory: there is no such directory");
  }
});
