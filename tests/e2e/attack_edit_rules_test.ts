/**
 * Files that Edit rules deny, and protected files that do not exist yet: commands of the program with
 * everything else allowed.
 */
import type { Fixture } from "../conformance/sandbox/fixture.ts";
import type { ScriptedCall } from "../support/model_server.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type Attempt, bash, textOf } from "../conformance/sandbox/attacks.ts";
import { JAILED, play, through } from "./attack_lab.ts";

const KEPT = "as the user left it";
const RULES = ["Edit(sub/docs/**)", "Edit(*.lock)", "Edit(one/exact.txt)", "Edit(**/gen/*.ts)"];
const FILES = [
  "sub/docs/a.md",
  "sub/docs/deep/b.md",
  "deps.lock",
  "x/y/other.lock",
  "one/exact.txt",
  "src2/gen/c.ts",
];

async function furnish(s: Fixture): Promise<void> {
  for (const name of FILES) {
    const path = `${s.g.ws}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, KEPT);
  }
  await Deno.mkdir(`${s.g.ws}/prep/docs`, { recursive: true });
  await Deno.writeTextFile(`${s.g.ws}/prep/docs/a.md`, "of the attacker");
}

async function changed({ g }: Fixture): Promise<boolean> {
  const texts = await Promise.all(FILES.map((name) => textOf(`${g.ws}/${name}`)));
  const names = [...Deno.readDirSync(`${g.ws}/sub/docs`)].map((entry) => entry.name).sort();
  return texts.some((text) => text !== KEPT) || names.join() !== "a.md,deep";
}

const attempt = (name: string, ...calls: ScriptedCall[]): Attempt => ({
  name,
  calls,
  prepare: furnish,
  succeeded: changed,
});
const line = (command: string): Attempt => attempt(command, bash(command));
const move = (from: string, to: string): ScriptedCall => ({
  name: "move_file",
  args: { source_path: from, destination_path: to },
});

const ATTEMPTS = [
  line("cp -r prep/. sub/"),
  line("echo x > sub/docs/a.md"),
  line('python3 -c \'open("sub/docs/new.md", "w").write("x")\''),
  line("mv sub s2; echo x > s2/docs/a.md; mv s2 sub"),
  line("mv sub/docs sub/d2; cp -r prep/docs sub/docs"),
  line("rm -r sub/docs"),
  line("rm -r sub && mv prep sub"),
  line("tar cf t.tar -C prep docs && tar xf t.tar -C sub"),
  line("ln -f prep/docs/a.md sub/docs/a.md"),
  line("x=sub; perl -i -pe s/a/b/g $x/docs/*.md"),
  line("sed -i s/a/b/ deps.lock; sed -i s/a/b/ x/y/other.lock"),
  line("mv x/y x/z; echo y > x/z/other.lock; mv x/z x/y"),
  line("truncate -s 0 one/exact.txt"),
  line("mv one two; rm -f two/exact.txt; mv two one"),
  line("echo x >> src2/gen/c.ts; cp prep/docs/a.md src2/gen/c.ts"),
  attempt("the parent moved by a tool", move("sub", "s2"), bash("echo x > s2/docs/a.md; mv s2 sub")),
  attempt(
    "a background job",
    bash("cp -r prep/. sub/", { run_in_background: true }),
    bash("sleep 0.3"),
  ),
];

Deno.test({
  ...jailed("no command changes a file that an Edit rule denies"),
  fn: async () => {
    const config = (s: Fixture) => `[permissions]\ndeny = ${JSON.stringify(RULES)}\n${JAILED(s)}`;
    const run = await play(ATTEMPTS, { config });
    assertEquals(run.played.length, ATTEMPTS.length, run.done.stderr);
    assertEquals(through([run]), []);
  },
});

Deno.test({
  ...jailed(
    "a rule that denies to edit every file leaves the workspace read-only for commands, and other files stay writable",
  ),
  fn: async () => {
    const config = (rule: string) => (s: Fixture) => `[permissions]\ndeny = ["${rule}"]\n${JAILED(s)}`;
    const write = { name: "write", calls: [bash("echo x > fresh.txt; cat fresh.txt")] };
    const made = (s: Fixture) => textOf(`${s.g.ws}/fresh.txt`).then((text) => text === "x\n");
    const all = await play([{ ...write, succeeded: made }], { config: config("Edit(**)") });
    assertEquals(all.played.map((one) => one.through), [false]);
    const some = await play([{ ...write, succeeded: made }], { config: config("Edit(docs/**)") });
    assertEquals(some.played.map((one) => one.through), [true]);
  },
});

Deno.test({
  ...jailed("the result and a notice list protected files that a jailed command created"),
  fn: async () => {
    const command =
      "rm -rf sub; mkdir -p sub/.vscode sub/.reasonix/hooks .reasonix/skills; touch sub/.envrc " +
      "sub/.vscode/tasks.json sub/.mcp.json sub/reasonix.toml sub/.reasonix/hooks/x .reasonix/skills/p sub/plain.txt";
    const names = [
      "sub/.envrc",
      "sub/.vscode/tasks.json",
      "sub/.mcp.json",
      "sub/reasonix.toml",
      "sub/.reasonix/hooks",
    ];
    const calls = [
      bash(command),
      bash("touch sub/plain2.txt"),
      bash("sleep 0.2; touch sub/later.txt sub/.vscode/settings.json", { run_in_background: true }),
      { name: "job_output", args: { job_id: "job-1", wait_seconds: 10 } },
      bash("python3 build.py"),
    ];
    const config = (s: Fixture) => `[permissions]\ndeny = ["Edit(kept/docs/**)"]\n${JAILED(s)}`;
    const script = 'import os\nos.makedirs("kept/" + "docs")\n';
    const prepare = (s: Fixture) => Deno.writeTextFile(`${s.g.ws}/build.py`, script);
    const run = await play([{ name: "makes", calls, prepare, succeeded: () => true }], { config });
    const [first = "", second = "", , fourth = "", fifth = ""] = run.played[0]?.results ?? [];
    const kinds = first.split("\n").find((text) => text.includes("other programs run or obey")) ?? "";
    for (const name of [...names, ".reasonix/skills"]) assertStringIncludes(kinds, `/${name}`);
    assert(!first.includes("plain.txt") && !second.includes("other programs"), second);
    assertStringIncludes(fourth, "sub/.vscode/settings.json");
    assertMatch(fifth, /made files that an Edit rule denies: \S*\/kept\/docs/);
    for (const name of [...names, "sub/.vscode/settings.json", "kept/docs"]) {
      assertStringIncludes(run.done.stderr, `/${name}`);
    }
  },
});
