/** Attempts at the file tools, by every tool that takes a path. */
import { KEY, type Scene, SECRET } from "../conformance/sandbox/scene.ts";
import { TOOL_ATTACKS } from "../conformance/sandbox/tool_attacks.ts";
import type { ScriptedCall } from "../support/model_server.ts";
import type { Outcome } from "../unit/sandbox/jail/jail_support.ts";
import { type Attempt, bash, exists, textOf } from "./attack_lab.ts";

const call = (name: string, args: Record<string, unknown>): ScriptedCall => ({ name, args });
const write = (path: string) => call("write_file", { path, content: "pwned" });
const read = (path: string) => call("read_file", { path });
const patch = (...lines: string[]) =>
  call("apply_patch", { patch: ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n") });

/** Whether anything outside changed, or anything secret was told. */
async function gotThrough(s: Scene, { stdout }: Outcome): Promise<boolean> {
  if (stdout.includes(SECRET) || stdout.includes(KEY) || /^KEY=/m.test(stdout)) return true;
  const outside = [...Deno.readDirSync(s.g.outside)].map((entry) => entry.name);
  if (outside.join() !== "secret.txt" || await textOf(`${s.g.outside}/secret.txt`) !== "outside") return true;
  if (await textOf(`${s.userHome}/.bashrc`) !== "") return true;
  if (await exists(`${s.g.home}/trust.json`) || await exists(`${s.g.home}/sessions.jsonl`)) return true;
  const files = [".env", "config.toml"].map((name) => textOf(`${s.g.home}/${name}`));
  return (await Promise.all(files)).some((text) => text === "" || text.includes("pwned"));
}

/** A name that only a listing of the forbidden directory can know. */
async function listed(s: Scene, told: Outcome): Promise<boolean> {
  return told.stdout.split("\n").some((line) => /^\S*secret\.txt\b/.test(line)) || await gotThrough(s, told);
}

const DEEDS = { read, write, list: (path: string) => call("ls", { path }) };

/** Those with a move of another process between check and use are raced elsewhere. */
const table: readonly Attempt[] = TOOL_ATTACKS.filter((attack) => attack.meanwhile === undefined).map((
  attack,
) => ({
  name: `${attack.deed} by ${attack.name}`,
  calls: [DEEDS[attack.deed](attack.path)],
  ...(attack.prepare ? { prepare: async (s: Scene) => await attack.prepare?.(s) } : {}),
  succeeded: attack.deed === "list" ? listed : gotThrough,
}));

const attempt = (name: string, ...calls: ScriptedCall[]): Attempt => ({ name, calls, succeeded: gotThrough });
const list = (name: string, ...calls: ScriptedCall[]): Attempt => ({ name, calls, succeeded: listed });
const OUTSIDE = "{out}/secret.txt";
const linked = bash("ln -s {out} l; ln -s {out}/secret.txt f; ln -s {vault} v; ln -s {vault}/secret.txt s");

const others: readonly Attempt[] = [
  attempt(
    "edit_file outside",
    read(OUTSIDE),
    call("edit_file", { path: OUTSIDE, old_string: "outside", new_string: "pwned" }),
  ),
  attempt(
    "multi_edit outside",
    read(OUTSIDE),
    call("multi_edit", { path: OUTSIDE, edits: [{ old_string: "outside", new_string: "pwned" }] }),
  ),
  attempt("move_file out", call("move_file", { source_path: "src/a.ts", destination_path: "{out}/pwn" })),
  attempt("move_file in", call("move_file", { source_path: OUTSIDE, destination_path: "x" })),
  attempt(
    "move_file of a forbidden file",
    call("move_file", { source_path: "{vault}/secret.txt", destination_path: "x" }),
    read("x"),
  ),
  attempt(
    "move_file of the workspace",
    call("move_file", { source_path: "{ws}", destination_path: "{out}/ws" }),
  ),
  attempt("apply_patch that adds outside", patch("*** Add File: ../outside/pwn", "+x")),
  attempt("apply_patch that adds at an absolute path", patch("*** Add File: {out}/pwn", "+x")),
  attempt(
    "apply_patch that updates outside",
    patch("*** Update File: {out}/secret.txt", "@@", "-outside", "+pwned"),
  ),
  attempt("apply_patch that deletes outside", patch("*** Delete File: ../outside/secret.txt")),
  attempt(
    "apply_patch that moves out",
    patch("*** Update File: src/a.ts", "*** Move to: ../outside/pwn", "@@", "-inside", "+pwned"),
  ),
  attempt(
    "apply_patch in the form of diff",
    call("apply_patch", { patch: "--- /dev/null\n+++ b/../outside/pwn\n@@ -0,0 +1 @@\n+x\n" }),
  ),
  attempt(
    "apply_patch where one part is inside",
    patch("*** Add File: ok", "+x", "*** Add File: ../outside/pwn", "+x"),
  ),
  attempt("write_file through a link of a command", linked, write("l/pwn")),
  attempt("write_file over a link of a command", linked, write("f")),
  attempt(
    "edit_file through a link of a command",
    linked,
    read("f"),
    call("edit_file", { path: "f", old_string: "outside", new_string: "pwned" }),
  ),
  attempt("apply_patch through a link of a command", linked, patch("*** Add File: l/pwn", "+x")),
  attempt(
    "move_file through a link of a command",
    linked,
    call("move_file", { source_path: "src/a.ts", destination_path: "l/pwn" }),
  ),
  attempt(
    "move_file of a link, then a read of it",
    linked,
    call("move_file", { source_path: "s", destination_path: "t" }),
    read("t"),
  ),
  attempt("a link made after a good write", write("x/y"), bash("rm -r x; ln -s {out} x"), write("x/pwn")),
  attempt("read_file through a link of a command", linked, read("s"), read("v/secret.txt")),
  attempt(
    "edit_file to see a forbidden file",
    linked,
    call("edit_file", { path: "s", old_string: "the", new_string: "the" }),
  ),
  attempt("grep in a forbidden directory", call("grep", { pattern: "outside", path: "{vault}" })),
  attempt("grep from above", call("grep", { pattern: "the-outside", path: "{vault}/.." })),
  attempt("grep of a forbidden file", call("grep", { pattern: ".", path: "{vault}/secret.txt" })),
  attempt(
    "grep through a link of a command",
    linked,
    call("grep", { pattern: "outside", path: "v" }),
    call("grep", { pattern: "the-" }),
  ),
  attempt("grep with a glob that leaves", call("grep", { pattern: "the-", include: "../vault/**" })),
  attempt("grep of the key file", call("grep", { pattern: "KEY", path: "{home}" })),
  list(
    "glob in a forbidden directory",
    call("glob", { pattern: "{vault}/*" }),
    call("glob", { pattern: "*", path: "{vault}" }),
  ),
  list(
    "glob that leaves",
    call("glob", { pattern: "../vault/*" }),
    call("glob", { pattern: "{vault}/**/secret*" }),
  ),
  list(
    "glob through a link of a command",
    linked,
    call("glob", { pattern: "v/*" }),
    call("glob", { pattern: "**/secret.txt", path: "v" }),
  ),
  list("ls through a link of a command", linked, call("ls", { path: "v" })),
  list("ls in depth", call("ls", { path: "{vault}/..", depth: 3 })),
  {
    ...attempt("write_file to a hard link", read("h"), write("h")),
    prepare: (s) => Deno.link(`${s.g.outside}/secret.txt`, `${s.g.ws}/h`),
  },
  attempt("a path with a trailing space", write("../outside/pwn ")),
  attempt("a path in a URL", write("file://{out}/pwn"), read("file://{vault}/secret.txt")),
  attempt(
    "an environment variable",
    write("$HOME/.bashrc"),
    write("${HOME}/.bashrc"),
    read("$REASONIX_HOME/.env"),
  ),
  attempt(
    "the agent's view of the file system",
    read("/proc/{agent}/root{vault}/secret.txt"),
    read("/proc/{agent}/cwd/../vault/secret.txt"),
  ),
  attempt(
    "the agent's memory map",
    read("/proc/{agent}/environ"),
    read("/proc/thread-self/environ"),
    read("/dev/fd/../environ"),
  ),
  attempt("reading by the descriptor directory", read("/dev/fd/3"), read("/proc/self/fd/3")),
  attempt("bash with a forbidden working directory", bash("cat secret.txt", { workdir: "{vault}" })),
  attempt("bash with a working directory outside", bash("echo > pwn", { workdir: "{out}" })),
  attempt(
    "bash with a link as working directory",
    linked,
    bash("cat secret.txt", { workdir: "v" }),
    bash("echo > pwn", { workdir: "l" }),
  ),
  attempt(
    "the configuration of Reasonix",
    read("{home}/config.toml"),
    write("{home}/config.toml"),
    patch("*** Delete File: {home}/config.toml"),
  ),
];

export const FILE_ATTACKS: readonly Attempt[] = [...table, ...others];

/** Files that make other programs run code later: edits are allowed, and these are refused all the same. */
const PROTECTED = [
  ".git/hooks/pre-commit",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".git/modules/sub/hooks/post-checkout",
  "sub/.git/hooks/pre-commit",
  ".GIT/hooks/pre-push",
  "src/../.git/hooks/pre-commit",
  "{ws}/.git/hooks/pre-commit",
  ".envrc",
  ".mcp.json",
  "reasonix.toml",
  ".vscode/tasks.json",
  ".vscode/settings.json",
  ".reasonix/commands/x.md",
  ".reasonix/hooks/x.sh",
  ".reasonix/skills/x/SKILL.md",
  ".reasonix/agents/x.md",
  ".reasonix/plugins/x.ts",
  ".reasonix/settings.json",
  ".bashrc",
];

const protectedWrite = (path: string) => async (s: Scene): Promise<boolean> =>
  (await textOf(s.fill(path.startsWith("{") ? path : `{ws}/${path}`))).includes("pwned");

export const PROTECTED_ATTACKS: readonly Attempt[] = [
  ...PROTECTED.map((path): Attempt => ({
    name: `write of ${path}`,
    calls: [read(path), write(path)],
    succeeded: protectedWrite(path),
  })),
  ...PROTECTED.map((path): Attempt => ({
    name: `move to ${path}`,
    calls: [write("x"), call("move_file", { source_path: "x", destination_path: path })],
    succeeded: protectedWrite(path),
  })),
  ...PROTECTED.slice(0, 3).map((path): Attempt => ({
    name: `patch of ${path}`,
    calls: [patch(`*** Add File: ${path}`, "+pwned")],
    succeeded: protectedWrite(path),
  })),
  {
    name: "a hook through a link",
    calls: [bash("ln -s .git g; ln -s .git/hooks h"), write("g/hooks/pre-commit"), write("h/pre-commit")],
    succeeded: protectedWrite(".git/hooks/pre-commit"),
  },
  {
    name: "a directory moved in place of the hooks",
    calls: [
      write("h/pre-commit"),
      call("move_file", { source_path: ".git/hooks", destination_path: "old" }),
      call("move_file", { source_path: "h", destination_path: ".git/hooks" }),
    ],
    succeeded: protectedWrite(".git/hooks/pre-commit"),
  },
  {
    name: "a directory moved in place of the one above an editor task",
    calls: [
      write("h/tasks.json"),
      call("move_file", { source_path: ".vscode", destination_path: "old" }),
      call("move_file", { source_path: "h", destination_path: ".vscode" }),
    ],
    succeeded: protectedWrite(".vscode/tasks.json"),
  },
  {
    name: "a directory moved in place of the one above the hooks",
    calls: [
      write("h/hooks/x.sh"),
      call("move_file", { source_path: ".reasonix", destination_path: "old" }),
      call("move_file", { source_path: "h", destination_path: ".reasonix" }),
    ],
    succeeded: protectedWrite(".reasonix/hooks/x.sh"),
  },
  {
    name: "a repository moved in place of the real one",
    calls: [
      write("g/hooks/pre-commit"),
      call("move_file", { source_path: ".git", destination_path: "old" }),
      call("move_file", { source_path: "g", destination_path: ".git" }),
    ],
    succeeded: protectedWrite(".git/hooks/pre-commit"),
  },
];
