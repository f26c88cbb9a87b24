/** Moving or replacing a parent directory does not reach a file that an Edit rule denies. */
import type { ScriptedCall } from "../support/model_server.ts";
import { assertEquals } from "../support/assert.ts";
import { type Attempt, bash, textOf } from "../conformance/sandbox/attacks.ts";
import { playAll, through, UNJAILED } from "./attack_lab.ts";

const move = (source_path: string, destination_path: string): ScriptedCall => ({
  name: "move_file",
  args: { source_path, destination_path },
});
const write = (path: string): ScriptedCall[] => [
  { name: "read_file", args: { path } },
  { name: "write_file", args: { path, content: "two\n" } },
];
const patch = (...lines: string[]): ScriptedCall => ({
  name: "apply_patch",
  args: { patch: `*** Begin Patch\n${lines.join("\n")}\n*** End Patch\n` },
});

const attempt = (name: string, ...calls: ScriptedCall[]): Attempt => ({
  name,
  calls,
  async prepare({ g }) {
    for (const path of ["sub/docs/x.md", "prep/docs/x.md", "sub/other.md"]) {
      await Deno.mkdir(`${g.ws}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${g.ws}/${path}`, path.startsWith("prep") ? "two\n" : "one\n");
    }
    await Deno.symlink("sub", `${g.ws}/link`).catch(() => {});
  },
  succeeded: async ({ g }) => await textOf(`${g.ws}/sub/docs/x.md`) !== "one\n",
});

const ATTEMPTS: readonly Attempt[] = [
  attempt("move away and back", move("sub", "s2"), ...write("s2/docs/x.md"), move("s2", "sub")),
  attempt("move the directory itself", move("sub/docs", "d2"), ...write("d2/x.md"), move("d2", "sub/docs")),
  attempt(
    "move under another name",
    move("./prep/../sub/", "s2"),
    bash("echo two > s2/docs/x.md"),
    move("s2", "sub"),
  ),
  attempt("move by a command", bash("mv sub s2"), ...write("s2/docs/x.md"), bash("mv s2 sub")),
  attempt("move in one line", bash("mv sub s2 && echo two > s2/docs/x.md; mv s2 sub")),
  attempt("replace", bash("rm -rf sub; mv prep sub"), bash("rm -r sub"), move("prep", "sub")),
  attempt("copy over", bash("cp -r prep/. sub/"), bash("cp -rT prep sub"), bash("rsync -a prep/ sub/")),
  attempt("unpack over", bash("tar -C prep -cf p.tar . && tar -C sub -xf p.tar")),
  attempt("a link moved away", move("link/docs", "d2"), bash("mv link/docs d2")),
  attempt("a patch that moves", patch("*** Update File: sub/docs/x.md", "*** Move to: sub/y.md")),
  attempt("a patch through the link", patch("*** Update File: link/docs/x.md", "@@", "-one", "+two")),
];

Deno.test({
  name: "operations on a parent directory do not reach a file that an Edit rule denies",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const config =
      '[permissions]\nmode = "allow"\nallow = ["Bash", "Edit", "Read"]\ndeny = ["Edit(sub/docs/**)"]\n';
    const runs = await playAll(ATTEMPTS, { config: (s) => config + UNJAILED(s), args: [] });
    assertEquals(runs.flatMap((run) => run.played).length, ATTEMPTS.length, runs[0]?.done.stderr);
    assertEquals(through(runs), []);
    const free = await playAll(ATTEMPTS, { config: UNJAILED, args: [] });
    assertEquals(through(free).length, ATTEMPTS.length, through(free).join("\n"));
  },
});
