/**
 * Read-only modes keep every file unchanged, however a command was classified: in the program, with the jail
 * and without.
 */
import type { Fixture } from "../conformance/sandbox/fixture.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type Attempt, bash } from "../conformance/sandbox/attacks.ts";
import { JAILED, play, through, UNJAILED } from "./attack_lab.ts";

/** Everything in the workspace except git's internal files. */
function treeOf(directory: string): string {
  const lines: string[] = [];
  for (const { name, isDirectory, isFile } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    if (name === ".git") continue;
    lines.push(
      isDirectory ? `${path}/ ${treeOf(path)}` : `${path}=${isFile ? Deno.readTextFileSync(path) : "?"}`,
    );
  }
  return lines.sort().join("\n");
}

const FILES: Readonly<Record<string, string>> = {
  "version": "echo changed > touched\n",
  "Makefile": "version:\n\techo changed > touched\n",
  "version.js": 'require("fs").writeFileSync("touched", "changed")\n',
  "rakefile": "task(:version) { File.write('touched', 'changed') }\n",
  "victim": "as it was\n",
  "two/a": "first\n",
  "two/b": "second\n",
  "prog.awk": "BEGIN { print 1 }\n",
};

/** Lines that were once classified as read-only, and obvious writers. */
const WRITERS = [
  "bash version",
  "sh version",
  ". version",
  ". ./version",
  "make version",
  "make -f Makefile version",
  "node version.js",
  "perl -e 'open F, \">touched\"; print F 1'",
  "echo x | uniq - victim",
  "uniq two/*",
  "uniq victim touched",
  "echo 41 | xxd -r -p - touched",
  "xxd - touched < victim",
  "xxd victim touched",
  "command time -o touched ls",
  "flock touched ls",
  "sed -l 5 'w touched' victim",
  "sed -n 'w touched' victim",
  "sed -bi 's/a/b/' victim",
  "sed -Ei s/a/b/ victim",
  "gawk -otouched -f prog.awk",
  "gawk -ptouched -f prog.awk",
  "gawk -dtouched -f prog.awk",
  "awk 'BEGIN { print 1 > \"touched\" }'",
  "tree -o touched",
  "sort -o victim two/b",
  "find . -name victim -delete",
  "touch touched",
  "cat victim > touched",
  "rm victim",
  "git checkout -b other && git mv victim moved",
  'python3 -c \'open("touched", "w")\'',
  "cp victim /workspace-copy; mv two three",
];

let before = "";
const ATTEMPTS: readonly Attempt[] = WRITERS.map((line) => ({
  name: line,
  calls: [bash(line)],
  prepare: (s: Fixture) => {
    for (const [name, text] of Object.entries(FILES)) {
      const path = `${s.g.ws}/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
    before = treeOf(s.g.ws);
  },
  succeeded: (s) => treeOf(s.g.ws) !== before,
}));

const MODES = {
  "read-only": ["--permission-mode", "read-only", "--allowed-tools", "Bash"],
  "plan": ["--permission-mode", "plan", "--allowed-tools", "Bash"],
  "writes deny": ["--writes", "deny", "--allowed-tools", "Bash"],
  "dry-run": ["--writes", "dry-run", "--allowed-tools", "Bash"],
};

for (const [mode, args] of Object.entries(MODES)) {
  for (const [kind, config] of Object.entries({ "with the jail": JAILED, "without a jail": UNJAILED })) {
    Deno.test({
      ...jailed(`no command changes the workspace in ${mode} ${kind}, however it was classified`),
      fn: async () => {
        const run = await play(ATTEMPTS, { args, config });
        assertEquals(run.played.length, ATTEMPTS.length, run.done.stderr);
        assertEquals(through([run]), []);
      },
    });
  }
}

Deno.test({
  ...jailed("in read-only mode a jailed command can only read the workspace"),
  fn: async () => {
    const reads = { name: "reads", calls: [bash("cat src/a.ts; git status --short | head -1")] };
    const run = await play([{ ...reads, succeeded: (_s, { stdout }) => stdout.includes("inside") }], {
      args: MODES["read-only"],
    });
    assertEquals(run.played.map((one) => one.through), [true]);
  },
});

/** Starts the program where bubblewrap is missing. */
const WITHOUT_JAIL = [
  "/usr/bin/bwrap",
  ...["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind", "/dev/null", "/usr/bin/bwrap"],
];

Deno.test({
  ...jailed(
    '[sandbox] bash = "enforce" without a working jail ends the run with exit 3 before the first request',
  ),
  fn: async () => {
    await using server = startModelServer([], { fallback: { text: "ok" } });
    await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "enforce"\n'));
    const refused = await world.run(["run", "go"], { within: WITHOUT_JAIL });
    assertEquals([refused.code, server.requests.length], [3, 0]);
    assertMatch(
      refused.stderr,
      /Cannot confine commands as \[sandbox\] bash = "enforce" asks: bubblewrap: it is/,
    );
    assertEquals((await world.run(["run", "go"])).code, 0);
    // The cached result does not apply to another program.
    assertEquals((await world.run(["run", "go"], { within: WITHOUT_JAIL })).code, 3);
    assertEquals(server.requests.length, 1);
  },
});

Deno.test({
  ...jailed("without a jail one line warns before the first request, in auto and when it is off"),
  fn: async () => {
    for (const [bash, within] of [["auto", WITHOUT_JAIL], ["off", []]] as const) {
      let log = "";
      await using world = await makeWorld();
      await using server = startModelServer([], {
        fallback: () => {
          log = logOf(world.home);
          return { text: "ok" };
        },
      });
      await Deno.writeTextFile(
        `${world.home}/config.toml`,
        mockConfig(server.url, `[sandbox]\nbash = "${bash}"\n`),
      );
      const done = await world.run(["run", "go"], { within });
      assertEquals(done.code, 0, done.stderr);
      const lines = done.stderr.split("\n").filter((line) => line.includes("Commands are not confined"));
      assertEquals(lines.length, 1, done.stderr);
      assertStringIncludes(lines[0] ?? "", "the check for destructive commands");
      assert(log.includes("Commands are not confined"), log.slice(0, 2000));
    }
  },
});

/** The session files below a home, as they are at this moment. */
function logOf(directory: string): string {
  let text = "";
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) text += logOf(path);
    else if (name.endsWith(".jsonl")) text += Deno.readTextFileSync(path);
  }
  return text;
}
