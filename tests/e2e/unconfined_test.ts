/**
 * Protections that stay in force without confinement of commands: one line at the start names them, doctor
 * lists them, and they hold.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type ScriptedCall, startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { bash } from "../conformance/sandbox/attacks.ts";

const read = (path: string): ScriptedCall => ({ name: "read_file", args: { path } });
const write = (path: string): ScriptedCall => ({ name: "write_file", args: { path, content: "changed\n" } });

/** Calls that are refused in both ways to run unconfined, and what stops them. */
const STOPPED: readonly ScriptedCall[] = [
  bash("git push"),
  write("docs/a.md"),
  bash('rm -rf "$HOME"'),
  read("../vault/secret.txt"),
  read("../home/.env"),
  write("../home/trust.json"),
  write("../home/config.toml"),
  write("/proc/self/comm"),
];
/** Stopped as long as only the jail is off. */
const STOPPED_IN_WORKSPACE: readonly ScriptedCall[] = [write("../outside.txt"), write(".envrc")];

const MODES = [
  { name: '[sandbox] bash = "off"', args: [], stopped: [...STOPPED, ...STOPPED_IN_WORKSPACE] },
  { name: "danger-full-access", args: ["--permission-mode", "danger-full-access"], stopped: STOPPED },
];

for (const { name, args, stopped } of MODES) {
  Deno.test(`${name}: one line at the start lists the protections in force, and they hold`, async () => {
    const secret = "github-value-4715";
    const calls = [...stopped, bash("echo token=${GITHUB_TOKEN-absent}; touch ../made")];
    await using server = startModelServer([...calls.map((call) => ({ calls: [call] })), { text: "done" }]);
    await using world = await makeWorld();
    const config = '[sandbox]\nbash = "off"\nforbid_read = ["../vault"]\n' +
      '[permissions]\ndeny = ["Bash(git push:*)", "Edit(docs/**)"]\n';
    await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url, config));
    await Deno.writeTextFile(`${world.home}/.env`, "OTHER=of-the-home-0123\n");
    await Deno.mkdir(`${world.dir}/../vault`);
    await Deno.writeTextFile(`${world.dir}/../vault/secret.txt`, "of-the-vault");
    await world.write("reasonix.toml", '[tools.shell]\npath = "/bin/false"\n');
    const env = { GITHUB_TOKEN: secret, HOME: world.home };
    const done = await world.run(["run", "--ignore-untrusted", ...args, "go"], { env });
    assertEquals(done.code, 0, done.stderr);
    const results = server.requests.slice(1).map((request) => request.json.messages.at(-1).content as string);
    for (const [at, call] of stopped.entries()) {
      assertMatch(results[at] ?? "", /^(?:blocked|error)\b/, JSON.stringify(call));
    }
    // Commands do run, and without a jail, by the user's own shell and without secrets.
    assertStringIncludes(results.at(-1) ?? "", "token=absent");
    await Deno.lstat(`${world.dir}/../made`);
    assert(await Deno.lstat(`${world.dir}/../outside.txt`).then(() => false, () => true));
    const lines = done.stderr.split("\n").filter((line) => line.includes("still in force"));
    assertEquals(lines.length, 1, done.stderr);
    assertMatch(
      lines[0] ?? "",
      /deny rules, the check for destructive commands, .*the cleaned environment, trust$/,
    );
  });
}

Deno.test("doctor lists the protections without a jail and in danger-full-access", async () => {
  await using world = await makeWorld('[sandbox]\nbash = "off"\n');
  const { stdout } = await world.run(["doctor", "--verbose"]);
  const [, off = "", full = ""] =
    /Still in force without a jail:\n([^]*?)In force with --permission-mode danger-full-access:\n([^]*?)\n\n/
      .exec(stdout) ?? [];
  assertEquals([off, full].map((part) => part.match(/^ *- /gm)?.length), [7, 5], stdout);
  assert(off.includes("workspace limit of file tools") && !full.includes("workspace limit of file tools"));
  await Deno.writeTextFile(`${world.home}/config.toml`, "");
});
