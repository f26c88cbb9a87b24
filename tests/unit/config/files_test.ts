import { ConfigError } from "../../../src/config/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const SYNTAX: [name: string, text: string, place: string, remedy: string][] = [
  ["a duplicate table", "[a]\n[b]\n[a]\n", "3:2", "[[…]]"],
  ["a duplicate key", "x = 1\nx = 2\n", "2:1", "merge"],
  ["a missing value", "language =\n", "1:11", "quotes"],
  ["an unquoted text", "language = zh\n", "1:12", "quotes"],
  ["an open string", 'language = "zh\n', "1:15", ""],
  ["an open array", "[tools]\nenabled = [1,\n", "3:1", ""],
  ["NUL", 'language = "a\0b"\n', "1:14", "close the quote"],
  ["a lone header bracket", "[tools\n", "1:7", ""],
  ["a key with an umlaut", "schlüssel = 1\n", "1:5", "put the key in quotes"],
  ["a number beyond 2^53", "[agent]\nmax_steps = 99999999999999999999\n", "2:13", ""],
];

for (const [name, text, place, remedy] of SYNTAX) {
  for (const file of ["home/config.toml", "project/reasonix.toml"]) {
    Deno.test(`loadConfig refuses ${name} in ${file} and points at ${place}`, async () => {
      await using fixture = configFixture({ [file]: text });
      const error = await assertRejects(() => fixture.load(), ConfigError, "Cannot read the TOML");
      assertEquals(`${error.place?.line}:${error.place?.column}`, place);
      assertStringIncludes(error.remedy ?? "", remedy);
    });
  }
}

Deno.test("loadConfig does not quote the value of an invalid line", async () => {
  await using fixture = configFixture({ "home/config.toml": '[serve]\ntoken = "hush\n' });
  const error = await assertRejects(() => fixture.load(), ConfigError, '(at "token")');
  assertEquals(error.message.includes("hush"), false);
});

Deno.test("loadConfig reads a file with a byte order mark and CRLF, with correct line numbers", async () => {
  await using fixture = configFixture({
    "home/config.toml": '\uFEFFlangage = "zh"\r\n[agent]\r\nmax_step = 1\r\n',
  });
  const { warnings } = await fixture.load();
  assertEquals(warnings.map(({ place }) => [place?.line, place?.column]), [[1, 1], [3, 1]]);
});

Deno.test("loadConfig reads TOML 1.1: inline tables over several lines, trailing commas, \\e", async () => {
  await using fixture = configFixture({
    "home/config.toml": 'language = "\\e"\n[agent]\nsubagent_models = {\n  a = "b",\n}\n',
  });
  assertEquals((await fixture.load()).config.agent.subagent_models, { a: "b" });
});

for (const file of ["home/config.toml", "project/reasonix.toml"]) {
  const refuse = (name: string, prepare: (path: string) => void, reason: string) =>
    Deno.test(`loadConfig refuses ${name} as ${file}`, async () => {
      await using fixture = configFixture();
      prepare(`${fixture.home.replace(/home$/, "")}${file}`);
      const error = await assertRejects(
        () => fixture.load(),
        ConfigError,
        "Cannot read the configuration file",
      );
      assertStringIncludes(error.message, reason);
      assertStringIncludes(error.place?.file ?? "", file);
    });
  refuse("a directory", (path) => Deno.mkdirSync(path), "it is a directory");
  refuse("a link to itself", (path) => Deno.symlinkSync(path, path), "");
  refuse("2 MiB", (path) => Deno.writeTextFileSync(path, `# ${"x".repeat(2 << 20)}\n`), "1 MiB");
  refuse(
    "UTF-16",
    (path) => Deno.writeFileSync(path, new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0])),
    "not UTF-8",
  );
  refuse(
    "Latin-1",
    (path) => Deno.writeFileSync(path, new Uint8Array([0x23, 0x20, 0xe9, 0x0a])),
    "not UTF-8",
  );
}

Deno.test({
  name: "loadConfig refuses a project file that is a link to an endless device",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using fixture = configFixture();
    Deno.symlinkSync("/dev/zero", `${fixture.cwd}/reasonix.toml`);
    await assertRejects(() => fixture.load(), ConfigError, "it is not a regular file");
  },
});

Deno.test({
  name: "loadConfig refuses a file it may not read",
  ignore: Deno.build.os === "windows" || Deno.uid() === 0,
  fn: async () => {
    await using fixture = configFixture();
    Deno.chmodSync(fixture.write("home/config.toml", ""), 0);
    await assertRejects(() => fixture.load(), ConfigError, "ermission denied");
  },
});

Deno.test("loadConfig accepts a U+FFFD that is in the file", async () => {
  await using fixture = configFixture({ "home/config.toml": 'language = "\uFFFD"' });
  assertEquals((await fixture.load()).config.language, "\uFFFD");
});

Deno.test("loadConfig treats keys named __proto__ and constructor as ordinary keys", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[__proto__]\npolluted = 1\n[constructor]\nx = 1\n[agent.subagent_models]\n__proto__ = "m"\nconstructor = "n"\n[[providers]]\nname = "p"\nextra = { __proto__ = { polluted = 1 } }\n',
  });
  const { config, warnings } = await fixture.load();
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
  assertEquals(Object.entries(config.agent.subagent_models), [["__proto__", "m"], ["constructor", "n"]]);
  assertEquals(warnings.length, 2);
});

Deno.test("loadConfig works without any file", async () => {
  await using fixture = configFixture();
  Deno.removeSync(fixture.home);
  const { config, warnings, files } = await fixture.load();
  assertEquals(config.providers[0]?.name, "deepseek");
  assertEquals([warnings.length, files.map((file) => file.found)], [0, [false, false]]);
});
