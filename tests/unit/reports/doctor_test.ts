import { loadTexts } from "../../../src/i18n/mod.ts";
import { pluginNotes, runtimeFaults } from "../../../src/reports/doctor.ts";
import { assertEquals } from "../../support/assert.ts";
import { configFixture } from "../config/fixture.ts";

/** Faults of a runtime by version and system. */
const ROWS: readonly (readonly [version: string, os: typeof Deno.build.os, faults: readonly string[]])[] = [
  ["2.7.13", "darwin", ["deniedSpellings", "unixSockets"]],
  ["2.7.14", "darwin", ["unixSockets"]],
  ["2.7.13", "linux", ["unixSockets"]],
  ["2.9.1", "linux", ["unixSockets"]],
  ["2.9.2", "linux", []],
  ["2.9.3", "windows", ["pipeNames"]],
  ["2.9.3+abc1234", "windows", ["pipeNames"]],
  ["2.10.0", "windows", []],
  ["3.0.0-rc.1", "darwin", []],
];

for (const [version, os, faults] of ROWS) {
  Deno.test(`runtimeFaults lists the known faults of Deno ${version} on ${os}`, () => {
    assertEquals(runtimeFaults(version, os).map(({ fault }) => fault), faults);
  });
}

Deno.test("the runtime of the tests has no known fault on any system", () => {
  for (const os of ["linux", "darwin", "windows"] as const) {
    assertEquals(runtimeFaults(Deno.version.deno, os), []);
  }
});

Deno.test("doctor reports what a plugin may touch, and a key that is not set", async () => {
  await using fixture = configFixture({
    "home/config.toml": `
[[providers]]
name = "far"
base_url = "https://far.example/v1"
api_key_env = "FAR_KEY"
model = "m"
[[plugins]]
name = "reviews"
command = "reasonix"
args = ["plugin", "persona"]
providers = ["far"]
[[plugins]]
name = "off"
enabled = false
command = "reasonix"
args = ["plugin", "persona"]
[[plugins]]
name = "other"
command = "sh"
`,
  });
  const { home, cwd } = fixture;
  const problems: string[] = [];
  const loaded = await fixture.load();
  const texts = await loadTexts("doctor", "en");
  const notes = await pluginNotes({ home, cwd, env: () => undefined }, loaded, texts, problems);
  assertEquals([...notes], [["reviews", [
    `its process may: read ${cwd}, ${home}/prompts/personas; connect to far.example:443`,
  ]]]);
  assertEquals(problems, [`reviews: FAR_KEY is not set; write FAR_KEY=… into ${home}/.env`]);
});
