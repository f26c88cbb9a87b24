/**
 * The permissions of the process that changes files, as the program starts it, against hostile code in it.
 */
import { makeFixture } from "../conformance/sandbox/fixture.ts";
import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../support/assert.ts";
import { textOf } from "../conformance/sandbox/attacks.ts";
import { JAILED } from "./attack_lab.ts";

/** The arguments of the tool process that this process has started. */
async function toolProcess(parent: number): Promise<string[]> {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const words = (await textOf(`/proc/${name}/cmdline`)).split("\0");
    const owner = /\) \S (\d+)/.exec(await textOf(`/proc/${name}/stat`))?.[1];
    if (Number(owner) === parent && words.some((word) => word.startsWith("--worker="))) {
      return words.slice(1, -1);
    }
  }
  return [];
}

/** Tries the accesses in a process with the flags of the tool process. */
async function answersOf(
  words: readonly string[],
  tries: readonly (readonly [string, string, RegExp])[],
): Promise<string[]> {
  const probe = new URL("../unit/sandbox/files/permission_probe.ts", import.meta.url);
  const started = new Deno.Command(Deno.execPath(), {
    args: [...words.slice(0, -2), probe.href],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = started.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(tries.map(([kind, value]) => [kind, value]))));
  await writer.close();
  const { code, stdout } = await started.output();
  assert(code === 0);
  return JSON.parse(new TextDecoder().decode(stdout)) as string[];
}

Deno.test({
  name: "the worker process of the real program has only the permissions that it needs",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using s = await makeFixture();
    await using world = await makeWorld();
    const agent = Promise.withResolvers<number>();
    let words: string[] = [];
    await using server = startModelServer([
      { calls: [{ name: "write_file", args: { path: "made.txt", content: "made" } }] },
      async () => {
        words = await toolProcess(await agent.promise);
        return { text: "done" };
      },
    ]);
    await Deno.writeTextFile(
      `${s.g.home}/config.toml`,
      mockConfig(server.url, JAILED(s), 'api_key_env = "KEY"\ncontext_window = 200000'),
    );
    const env = { REASONIX_HOME: s.g.home, HOME: s.userHome };
    const child = await world.spawn(["run", "--allowed-tools", "Edit", "go"], { cwd: s.g.ws, env });
    agent.resolve(child.pid);
    const done = await finished(child);
    assertEquals([done.code, await textOf(`${s.g.ws}/made.txt`)], [0, "made"], done.stderr);
    assertEquals(words.at(-1)?.startsWith("--worker="), true, words.join(" "));
    const tries: [string, string, RegExp][] = [
      ["read", `${s.g.ws}/src/a.ts`, /^ok$/],
      ["write", `${s.g.ws}/src/b.ts`, /^ok$/],
      ["read", `${s.vault}/secret.txt`, /^NotCapable/],
      ["write", `${s.vault}/secret.txt`, /^NotCapable/],
      ["read", `${s.g.home}/.env`, /^NotCapable/],
      ["read", `/proc/self/environ`, /^NotCapable/],
      ["write", `${s.g.home}/config.toml`, /^NotCapable/],
      ["write", `${s.g.home}/trust.json`, /^NotCapable/],
      ["write", `${s.g.outside}/b.ts`, /^NotCapable/],
      ["write", `${s.userHome}/.bashrc`, /^NotCapable/],
      ["write", "/tmp/reasonix-attack", /^NotCapable/],
      ["run", "/bin/sh", /^NotCapable/],
      ["env", "KEY", /^NotCapable/],
      ["env", "HOME", /^NotCapable/],
      ["connect", "127.0.0.1", /^NotCapable/],
      ["hostname", "", /^NotCapable/],
      ["ffi", "/lib/libc.so.6", /^NotCapable/],
      ["import", "https://example.com/x.ts", /^TypeError/],
      ["import", "https://raw.githubusercontent.com/a/b/main/x.ts", /^TypeError: .*--no-remote/],
      ["import", "https://esm.sh/x", /^TypeError: .*--no-remote/],
      ["import", "jsr:@std/path", /^TypeError: .*--no-remote/],
      ["import", "npm:some-package", /^TypeError: npm specifiers were requested; but --no-npm/],
    ];
    const answers = await answersOf(words, tries);
    for (const [index, [kind, value, expected]] of tries.entries()) {
      assertMatch(answers[index] ?? "", expected, `${kind} ${value}`);
    }
  },
});

Deno.test({
  name: "the worker process of a workspace with a comma in its path writes there and nowhere else",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using world = await makeWorld();
    const agent = Promise.withResolvers<number>();
    const outside = `${world.dir}/outside`;
    const cwd = `${world.dir}/a,${outside}`;
    for (const directory of [cwd, outside]) await Deno.mkdir(directory, { recursive: true });
    await Deno.writeTextFile(`${cwd}/a.txt`, "one\n");
    const tries = [
      ["write", `${cwd}/b.txt`, /^ok$/],
      ["write", `${outside}/b.txt`, /^NotCapable/],
      ["read", `${world.home}/.env`, /^NotCapable/],
      ["write", `${world.home}/config.toml`, /^NotCapable/],
      ["run", "/bin/sh", /^NotCapable/],
    ] as const;
    let file = "";
    let answers: string[] = [];
    let mode: number | null = null;
    await using server = startModelServer([
      { calls: [{ name: "read_file", args: { path: "a.txt" } }] },
      { calls: [{ name: "edit_file", args: { path: "a.txt", old_string: "one", new_string: "two" } }] },
      async () => {
        const words = await toolProcess(await agent.promise);
        file = words.find((word) => word.startsWith("--config="))?.slice("--config=".length) ?? "";
        mode = (await Deno.stat(file)).mode;
        answers = await answersOf(words, tries);
        return { text: "done" };
      },
    ]);
    await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url));
    const child = await world.spawn(["run", "--allowed-tools", "Edit", "go"], { cwd });
    agent.resolve(child.pid);
    const done = await finished(child);
    assertEquals([done.code, await textOf(`${cwd}/a.txt`)], [0, "two\n"], done.stderr);
    for (const [index, [kind, value, expected]] of tries.entries()) {
      assertMatch(answers[index] ?? "", expected, `${kind} ${value}`);
    }
    assertEquals([file.startsWith(`${world.home}/`), (mode ?? 0) & 0o777], [true, 0o600], file);
    await assertRejects(() => Deno.lstat(file), Deno.errors.NotFound);
  },
});
