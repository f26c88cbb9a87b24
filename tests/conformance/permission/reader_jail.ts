/** A scratch tree in a bubblewrap jail that reports which lines changed something in it. */
import { removeTree } from "../../support/remove_tree.ts";

const SETUP = `set -e
mkdir -p ws/src ws/two home tmp
cd ws
printf 'x touch out\\ny\\nz a\\n' > a.txt; printf 'x\\nq\\n' > b.txt; printf 'out\\nb.txt\\nb.txt\\n' > names.txt
printf '1,2,3\\n4,5,6\\n' > data.csv; printf '{"a":[1]}' > data.json; printf 'export const a = 1;\\n' > src/a.ts
printf 'x\\nx\\n' > two/x; printf 'y\\n' > two/y; printf -- '-o out a.txt\\n' > two/opts; printf 'a.txt out\\n' > two/files; echo 1+1 > two/math
printf '{"name":"p","version":"1.0.0","scripts":{"x":"touch out"}}' > package.json
printf 'version:\\n\\ttouch out\\nhelp:\\n\\ttouch out\\n' > Makefile; printf '#!/bin/sh\\ntouch out\\ncat\\n' > run.sh; chmod +x run.sh
printf 'w out\\n' > run.sed; printf '{print > "out"}\\n' > run.awk; printf '.\\n' > run.jq; printf 'touch out\\n' > version; chmod +x version
printf 'old\\n' > victim; gzip -c a.txt > log.gz; tar cf dist.tar a.txt b.txt; zip -q dist.zip a.txt b.txt 2>/dev/null || true
cp run.sh src/ls; cp run.sh two/cat; printf '[user]\\n\\tname = t\\n\\temail = t@example.com\\n' > ../home/.gitconfig; echo note > ../home/notes
find . -exec touch -h -d 2020-01-01 {} +
git init -q -b main . ; git add -A; git commit -q -m one; echo more >> b.txt; touch -d 2020-01-02 b.txt; git commit -q -am two; git branch old; git tag v1
git remote add origin ../none; echo dirty >> b.txt; touch -d 2020-01-03 b.txt; cp b.txt untracked.txt; git status > /dev/null
git stash list > /dev/null; git config advice.x false`;

/**
 * Runs the lines of a file (each ended by a NUL) in groups, and prints the number of each group that changed
 * the tree. A group shares one shell, each line in a subshell; one that hangs is run again line by line, each
 * with its own time limit.
 */
const RUNNER = `cd "$1/ws"
snapshot() { find "$1" -path "$1/ws/.git" -o -printf '%p %y %m %s %T@ %C@ %l\\n' | sort | cksum; find /tmp -mindepth 1 -not -path "$1*" | cksum; }
group='at=$0; for line; do at=$((at + 1)); ( eval "$line" ) </dev/null >/dev/null 2>&1 3>&- && echo ok $at >&3; done'
run() {
  timeout -s KILL 6 bash -c "$group" "$at" "$@" && return
  local number=$at each
  for each; do
    number=$((number + 1))
    timeout -s KILL 0.5 bash -c "$each" </dev/null >/dev/null 2>&1 3>&- && echo ok $number >&3
  done
}
before=$(snapshot "$1"); n=0
mapfile -d '' -t lines < "$2"
for ((at = 0; at < \${#lines[@]}; at += $3)); do
  run "\${lines[@]:at:$3}" 2>/dev/null
  now=$(snapshot "$1"); if [ "$now" != "$before" ]; then echo "changed $n"; before=$now; fi; n=$((n + 1))
done 3>&1`;

/**
 * The names, kinds, sizes and times of files in a directory; `.git` itself changes with every lock of git.
 */
export function snapshot(directory: string): Promise<string> {
  const format = "%p %y %m %s %T@ %C@ %l\\n";
  return output("find", [directory, "-name", ".git", "-o", "-printf", format], { ...READER_ENV }, "/");
}

interface Recording {
  /** Indexes of the groups that changed something. */
  readonly changed: readonly number[];
  /** Lines that ended without an error. */
  readonly succeeded: number;
}

export const READER_ENV = {
  PATH: "/usr/bin:/bin",
  LC_ALL: "C",
  GIT_PAGER: "cat",
  GIT_OPTIONAL_LOCKS: "0",
  PAGER: "cat",
} as const;

async function output(command: string, args: readonly string[], env: Record<string, string>, cwd: string) {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    env,
    clearEnv: true,
    cwd,
    stdin: "null",
  })
    .output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${command} failed: ${decoder.decode(stderr).slice(0, 500)}`);
  return decoder.decode(stdout);
}

/** Creates the scratch tree: `ws` is a small project in git, `home` the home directory. */
export async function makeTree(root: string): Promise<void> {
  await Deno.mkdir(root, { recursive: true });
  await output("bash", ["-c", SETUP], { ...READER_ENV, HOME: `${root}/home` }, root);
}

/** Runs the lines in a separate jail with a separate tree. */
async function record(root: string, lines: readonly string[], group: number): Promise<Recording> {
  const tree = `${root}/tree`;
  await makeTree(tree);
  await Deno.writeTextFile(`${root}/lines`, lines.map((line) => `${line}\0`).join(""));
  const jail = [
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/var/tmp",
    "--bind",
    tree,
    tree,
  ];
  const report = await output(
    "bwrap",
    [
      ...jail,
      "--ro-bind",
      `${root}/lines`,
      `${root}/lines`,
      "--unshare-all",
      "--die-with-parent",
      "--new-session",
      "--",
      "bash",
      "-c",
      RUNNER,
      "bash",
      tree,
      `${root}/lines`,
      String(group),
    ],
    { ...READER_ENV, HOME: `${tree}/home` },
    "/",
  );
  await removeTree(root);
  const changed = [...report.matchAll(/^changed (\d+)$/gm)].map(([, index]) => Number(index));
  return { changed, succeeded: new Set(report.match(/^ok \d+$/gm)).size };
}

/** The lines that change a fresh tree alone, out of groups that did. */
export async function culprits(
  root: string,
  lines: readonly string[],
  group: number,
): Promise<{ wrong: string[]; succeeded: number }> {
  const { changed, succeeded } = await record(`${root}/all`, lines, group);
  const suspects = changed.flatMap((index) => lines.slice(index * group, (index + 1) * group));
  if (suspects.length === 0) return { wrong: [], succeeded };
  const alone = await record(`${root}/alone`, suspects, 1);
  return { wrong: alone.changed.flatMap((index) => suspects[index] ?? []), succeeded };
}
