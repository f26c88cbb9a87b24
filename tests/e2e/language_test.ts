/** The language of the interface; machine formats do not change with it. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const ENGLISH = { REASONIX_LANG: "", LC_ALL: "C.UTF-8" };
const CHINESE = { REASONIX_LANG: "", LC_ALL: "zh_CN.UTF-8" };

Deno.test("doctor prints the language of the system, and JSON is the same in every language", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1"));
  const [english, chinese] = [
    await world.run(["doctor", "--verbose"], { env: ENGLISH }),
    await world.run(["doctor", "--verbose"], { env: CHINESE }),
  ];
  for (const title of ["Versions\n", "Providers\n", "Sandbox\n"]) assertStringIncludes(english.stdout, title);
  for (const title of ["版本\n", "供应商\n", "沙箱\n"]) assertStringIncludes(chinese.stdout, title);
  assert(!/\p{Script=Han}/u.test(english.stdout));
  assertEquals(chinese.code, english.code);
  const json = await Promise.all(
    [ENGLISH, CHINESE].map(async (env) => (await world.run(["doctor", "--json"], { env })).stdout),
  );
  assertEquals(json[1], json[0]);
});

Deno.test("the setting language beats the system, and REASONIX_LANG beats the setting", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1", 'language = "zh-TW"'));
  assertStringIncludes((await world.run(["doctor"], { env: ENGLISH })).stdout, "供应商");
  const { stdout } = await world.run(["doctor"], { env: { ...ENGLISH, REASONIX_LANG: "en" } });
  assertStringIncludes(stdout, "Providers");
});

Deno.test("an unknown language is reported with its location and the supported languages", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1", 'language = "klingon"'));
  const { stdout } = await world.run(["doctor"], { env: ENGLISH });
  assertStringIncludes(
    stdout,
    `language (user ${world.home}/config.toml:2:1) is "klingon", which is no language of the interface; ` +
      "set it to one of: en, zh-CN",
  );
  const bare = await world.run([], { env: { ...ENGLISH, REASONIX_LANG: "fr" } });
  assertStringIncludes(bare.stderr, '· REASONIX_LANG is "fr"');
});

Deno.test("a run without a configuration prints a hint in the user's language", async () => {
  await using world = await makeWorld();
  const { code, stderr } = await world.run(["run", "hi"], { env: CHINESE });
  assertEquals(code, 6);
  assertStringIncludes(stderr, "错误：还没有配置模型供应商\n      运行：reasonix setup");
  const unknown = await world.run(["run", "hi"], { env: { REASONIX_LANG: "fr" } });
  assertStringIncludes(unknown.stderr, '· REASONIX_LANG is "fr"');
  const json = await world.run(["run", "hi", "--output-format", "json"], { env: CHINESE });
  assertStringIncludes(json.stdout, "No provider is set up yet");
});
