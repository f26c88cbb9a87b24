import { processFlags } from "../../../../src/sandbox/mod.ts";
import { assertEquals, assertMatch } from "../../../support/assert.ts";
import { runRestricted } from "../../../support/restricted.ts";
import { sandboxDirs } from "../support.ts";

/** Runs the operations in a process with these flags. */
async function ask(
  flags: readonly string[],
  attempts: readonly (readonly [string, string])[],
): Promise<string[]> {
  return await runRestricted(flags, new URL("./permission_probe.ts", import.meta.url), attempts) as string[];
}

const POSIX = { ignore: Deno.build.os === "windows" };

Deno.test("processFlags grant only the permissions that the process needs", POSIX, async () => {
  await using g = await sandboxDirs();
  const flags = processFlags({ writable: [g.ws], forbidRead: [] });
  const tries: [string, string, RegExp][] = [
    ["read", `${g.ws}/src/a.ts`, /^ok$/],
    ["read", `${g.outside}/secret.txt`, /^ok$/],
    ["write", `${g.ws}/src/b.ts`, /^ok$/],
    ["write", `${g.outside}/b.ts`, /^NotCapable/],
    ["write", `${g.home}/trust.json`, /^NotCapable/],
    ["run", "/bin/sh", /^NotCapable/],
    ["run", "/bin/ls", /^NotCapable/],
    ["env", "HOME", /^NotCapable/],
    ["connect", "127.0.0.1", /^NotCapable/],
    ["import", "https://example.com/x.ts", /^(?:NotCapable|TypeError)/],
    ["ffi", "/lib/libc.so.6", /^NotCapable/],
    ["hostname", "", /^NotCapable/],
  ];
  const answers = await ask(flags, tries.map(([kind, value]) => [kind, value]));
  for (const [index, [kind, value, expected]] of tries.entries()) {
    assertMatch(answers[index] ?? "", expected, `${kind} ${value}`);
  }
});

Deno.test("processFlags protect a file in a writable directory", POSIX, async () => {
  await using g = await sandboxDirs();
  const kept = `${g.home}/config.toml`;
  const flags = processFlags({ writable: ["/"], keep: [kept], forbidRead: [] });
  const answers = await ask(flags, [["write", kept], ["read", kept], ["write", `${g.outside}/b.ts`]]);
  assertEquals(answers.map((answer) => answer.split(":")[0]), ["NotCapable", "ok", "ok"]);
});

Deno.test("processFlags exclude exactly the forbidden files", POSIX, async () => {
  await using g = await sandboxDirs();
  await Deno.writeTextFile(`${g.base}/other.txt`, "x");
  const forbidRead = [g.outside, `${g.home}/.env`];
  const flags = processFlags({ writable: [g.ws], forbidRead });
  const paths = [
    `${g.ws}/src/a.ts`,
    `${g.base}/other.txt`,
    `${g.home}/config.toml`,
    "/etc/hosts",
    `${g.outside}/secret.txt`,
    `${g.home}/.env`,
  ];
  const answers = await ask(flags, paths.map((path) => ["read", path] as const));
  assertEquals(answers.map((answer) => answer.split(":")[0]), [
    "ok",
    "ok",
    "ok",
    "ok",
    "NotCapable",
    "NotCapable",
  ]);
});
