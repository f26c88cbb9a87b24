import { loadTexts } from "../../../src/i18n/mod.ts";
import { diagnose, pluginNotes, reportText, runtimeFaults } from "../../../src/reports/doctor.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
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

Deno.test("doctor says where telemetry goes, and warns where the runtime itself exports addresses", async () => {
  await using fixture = configFixture({
    "home/config.toml": `
[telemetry]
otlp = "https://user:secret@otlp.example:4318/?key=secret"
signals = ["traces", "logs"]
`,
  });
  const { home, cwd } = fixture;
  const texts = await loadTexts("doctor", "en");
  const report = async (variables: Readonly<Record<string, string>>) => {
    const env = (name: string) => variables[name];
    const options = {
      online: false,
      loaded: await fixture.load(),
      locale: "en",
      texts,
      warnings: [],
    } as const;
    return await reportText(await diagnose({ home, cwd, env }, options), texts);
  };
  const plain = await report({});
  assertStringIncludes(plain, "Telemetry\n  traces, logs → https://otlp.example:4318\n");
  assertEquals(plain.includes("OTEL_DENO") || plain.includes("secret"), false);
  const split = await report({
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://logs.example/x",
  });
  assertStringIncludes(split, "traces, logs → https://otlp.example:4318, http://logs.example/x\n");
  assertStringIncludes(split, "! OTEL_DENO is set: ");
});
