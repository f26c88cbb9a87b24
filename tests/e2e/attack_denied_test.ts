/**
 * Files that a Read rule denies or `forbid_read` names inside the workspace: in the program, with everything
 * else allowed.
 */
import type { Fixture } from "../conformance/sandbox/fixture.ts";
import type { ScriptedCall } from "../support/model_server.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type Attempt, bash } from "../conformance/sandbox/attacks.ts";
import { JAILED, play, through } from "./attack_lab.ts";

const SECRET = "a-key-of-the-workspace";

async function furnish(s: Fixture): Promise<void> {
  for (const [directory, name] of [["deny", ".key"], ["nest/in", "secret.txt"]]) {
    await Deno.mkdir(`${s.g.ws}/${directory}`, { recursive: true });
    await Deno.writeTextFile(`${s.g.ws}/${directory}/${name}`, SECRET);
  }
}

const attempt = (name: string, ...calls: ScriptedCall[]): Attempt => ({
  name,
  calls,
  prepare: furnish,
  succeeded: (_s, { stdout }) => stdout.includes(SECRET),
});
const read = (path: string): ScriptedCall => ({ name: "read_file", args: { path } });
const move = (from: string, to: string): ScriptedCall => ({
  name: "move_file",
  args: { source_path: from, destination_path: to },
});

/** A list or a search from above that shows the name or the content of the file. */
const lists = (tool: string, args: Record<string, unknown>): Attempt => ({
  ...attempt(`${tool} from above`, { name: tool, args }),
  succeeded: (_s, { stdout }) => /(?:deny|in)\/(?:\.key|secret\.txt)|a-key-of/.test(stdout),
});

const ATTEMPTS = [
  lists("grep", { pattern: "of-the-workspace" }),
  lists("grep", { pattern: "key-of", output_mode: "files", literal: true }),
  lists("grep", { pattern: "k(?=ey)", output_mode: "count" }),
  lists("glob", { pattern: "**/.key" }),
  lists("glob", { pattern: "**/*.txt" }),
  lists("ls", { path: ".", depth: 4, all: true }),
  attempt("a near name", read("keys/.key"), read(".key"), read("deny/key")),
  attempt("a script of another language", bash("perl -pe1 deny/.key"), bash("x=deny; cat $x/.k*")),
  attempt("an archive", bash("tar cf - deny nest")),
  attempt("a copy", bash("cp -r deny c; cat c/.key"), read("c/.key")),
  attempt("git", bash("git add -f deny; git show :deny/.key"), bash("git mv deny/.key x; cat x")),
  attempt("a search from above", bash("grep -rh key . --exclude-dir=.git")),
  attempt(
    "the directory moved by a command",
    bash("mv deny d; cat d/.key"),
    read("d/.key"),
    bash("cat d/.key"),
  ),
  attempt("the directory moved by a tool", move("deny", "d"), read("d/.key"), bash("cat d/.key")),
  attempt(
    "a forbidden file's directory moved by a command",
    bash("mv nest f"),
    bash("cat f/in/*"),
    read("f/in/secret.txt"),
  ),
  attempt(
    "a forbidden file's directory moved by a tool",
    move("nest", "f"),
    bash("cat f/in/*"),
    read("f/in/secret.txt"),
  ),
  attempt(
    "the directory moved by a program",
    bash("find . -maxdepth 1 -name nest -exec mv {} f ';'"),
    bash("cat f/in/*"),
  ),
];

Deno.test({
  ...jailed("nothing reads files in the workspace that a Read rule or forbid_read denies"),
  fn: async () => {
    const run = await play(ATTEMPTS, {
      prepare: furnish,
      config: (s) =>
        `[permissions]\ndeny = ["Read(deny/*)"]\n` +
        JAILED(s).replace(`"${s.vault}"`, `"${s.vault}", "${s.g.ws}/nest/in"`),
    });
    assertEquals(through([run]), []);
    assertEquals(run.played.length, ATTEMPTS.length);
    for (const text of [...run.sent, run.done.stdout, run.done.stderr]) assert(!text.includes(SECRET));
  },
});
