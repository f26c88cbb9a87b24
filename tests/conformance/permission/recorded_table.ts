/** The tree in which the lines of the table run, and the lines without a visible effect there. */
import type { RULE_SETS } from "./command_table.ts";

type SetName = keyof typeof RULE_SETS;

/** Text of the files that the rules of `files` protect from reading. */
export const SECRET = "x-secret-text";

/**
 * Builds the tree: a repository on a branch that could be rebased, in the middle of a bisection, with a
 * submodule. The times are old and in the index of git, so that it does not read a file again.
 */
export const SETUP = `set -e
mkdir -p home lib ws/secret ws/sub ws/dir ws/x ws/t ws/docs ws/out; cd lib
git init -q -b main .; git config user.name t; git config user.email t@example.com; echo l > l; git add l; git commit -qm l; cd ../ws
echo one > secret/a; echo ${SECRET} > .env; echo ${SECRET} > sub/.env; echo one > a; echo one > f; echo one > h; echo x > t/x
echo 'echo hello' > file; echo t > list; echo 'text x' > README; echo text > LICENSE; echo 'echo hello' > script.sh
echo 'print(1)' > script.py; echo 'print(1)' > x.py; echo > script.js; printf 'all:\\n\\t@true\\n' > Makefile; touch deno.lock p conf
git init -q -b main .; git config user.name t; git config user.email t@example.com
git config core.editor 'sed -i 1im'; git config core.trustctime false; git config core.checkStat minimal
git -c protocol.file.allow=always submodule add -q ../lib lib 2>/dev/null; git add -A; git commit -qm A; git tag A
git checkout -q -b work; for each in D E F; do git commit -q --allow-empty -m "$each"; done; git checkout -q main
echo two > h; git commit -qam B; git checkout -q work; git bisect start work A >/dev/null 2>&1
find . -exec touch -h -d 2001-01-01 {} +; git update-index --refresh >/dev/null; touch -d 2001-01-02 .git/index`;

/** The differences in the tree of a set: something to commit, and what a comparison with git shows. */
export const CHANGES: Readonly<Record<SetName, string>> = {
  refuse: "",
  permit: "",
  carve: "echo more >> f; git add f",
  files: `echo ${SECRET}-2 >> .env; echo ${SECRET}-2 >> sub/.env`,
};

/** Programs that require another machine; they are only recorded. */
export const IMITATED = "apt curl eslint foo go gofmt gotest npm npx remake ssh tsc x y".split(" ");
export const NOTED = [...IMITATED, ..."cp git make mv node perl python python3 rm rmdir touch".split(" ")];

const NO_RIGHTS = "gaining rights does not work in a jail";

/** The reason why no effect is visible; with `needs` only if the program is missing. */
export type Excuse = string | { readonly needs: string };

/** Refused lines without their refused effect in this tree. */
export const UNSEEN: Readonly<Record<SetName, Readonly<Record<string, Excuse>>>> = {
  refuse: {
    "echo x || rm -rf t": "the first command succeeds",
    "select i in a; do rm -rf t; done": "no user chooses",
    "function f { rm -rf t; }": "the function is not called",
    "sudo rm -rf t": NO_RIGHTS,
    "sudo -u root -n rm -rf t": NO_RIGHTS,
    "sudo X=1 rm -rf t": NO_RIGHTS,
    "sudo env nice timeout 5 rm -rf t": NO_RIGHTS,
    "sudo sh -c 'rm -rf t'": NO_RIGHTS,
    "doas rm -rf t": NO_RIGHTS,
    "busybox rm -rf t": "it would delete without starting another program",
    "strace -f rm -rf t": { needs: "strace" },
    "fd -x rm -rf": { needs: "fd" },
  },
  permit: {},
  carve: { "x || (y; rm a)": "the first command succeeds" },
  files: {
    "rm -r .": "rm refuses the directory it is in",
    "mv . ../x": "mv refuses the directory it is in",
  },
};

/** Lines with a weaker decision than a command they start, with the reason. */
export const MILDER: Readonly<Record<string, string>> = {
  "find . -exec touch {} +":
    "words that only find knows are not taken for protected files; the jail keeps those",
  "make SHELL=x": "the rule allows make, whatever that runs",
};
