/**
 * Calls of every built-in tool, most of them hostile: unusual paths, and patches that hide their targets.
 */
import type { Random } from "../../support/seed.ts";

/** The files of the workspace, by path; a text after `->` is the target of a link. */
export const TREE: Readonly<Record<string, string>> = {
  "ok.md": "one\ntoken-ok\n",
  "sp ace é.md": "one\ntoken-space\n",
  "docs/x.md": "one\ntoken-x\nthree\n",
  "docs/empty.md": "",
  "docs/deep/y.ts": "export function target() {\n  return 'token-y';\n}\n",
  "docs/line\u2028end.md": "one\ntoken-line\n",
  "alias.md": "-> docs/x.md",
  "dangling.md": "-> docs/fresh.md",
  "docs/inner": "-> ../ok.md",
  "link": "-> docs",
  "up": "-> docs/deep",
};

const NAMES = [
  ...Object.keys(TREE),
  "docs/fresh.md",
  "new/a/b.md",
  "docs",
  "docs/deep",
  ".",
  "link/x.md",
  "up/y.ts",
];

function anyPath(r: Random): string {
  const name = r.chance(0.7) ? r.pick(Object.keys(TREE)) : r.pick(NAMES);
  if (r.chance(0.55)) return name;
  return r.pick([
    () => `./${name}`,
    () => `docs/../${name}`,
    () => `none/../${name}`,
    () => `link/../${name}`,
    () => `up/../${name}`,
    () => `up/../../${name}`,
    () => `ok.md/../${name}`,
    () => `link/${name.replace(/^docs\//, "")}`,
    () => `{ws}/${name}`,
    () => `{ws}//./${name}`,
    () => `../ws/${name}`,
    () => `~/../ws/${name}`,
    () => `~/${name}`,
    () => `${name}/`,
    () => `${name}/.`,
    () => ` ${name}`,
    () => `${name} `,
    () => name.replaceAll("/", "//"),
    () => name.toUpperCase(),
    () => name.normalize("NFD"),
    () => name.replaceAll("/", "\\"),
    () => `file://{ws}/${name}`,
    () => encodeURI(name),
    () => `../outside.txt`,
    () => "",
    () => `${name}\0`,
    () => `x\u0002/../${name}`,
  ])();
}

function quoted(r: Random, text: string): string {
  const chars = [...text].map((char) =>
    r.chance(0.2)
      ? [...new TextEncoder().encode(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")
      : char === '"' || char === "\\"
      ? `\\${char}`
      : char
  );
  return `"${chars.join("")}"`;
}

/** A name with a prefix, as a header line may have it. */
function spelled(r: Random, path: string, prefix: string): string {
  const text = r.chance(0.05) ? path : prefix + path;
  return r.chance(0.4) ? quoted(r, text) : `${text}${r.chance(0.1) ? "\t2026-01-01" : ""}`;
}

const HUNKS = [
  ["@@ -1,2 +1,2 @@", "-one", "+two"],
  ["@@ -1 +1 @@", "-one", "+two"],
  ["@@ -1 +1,2 @@", " one", "+two"],
  ["@@", " one", "+more"],
  ["@@ -0,0 +1 @@", "+new"],
  ["@@ -1,2 +0,0 @@", "-one", "-zz"],
  [],
];

function unifiedSection(r: Random): string[] {
  const [a = "", b = ""] = r.pick([["a/", "b/"], ["i/", "w/"], ["c/", "w/"], ["o/", "w/"], ["b/", "a/"], [
    "",
    "",
  ]]);
  const [from, to] = r.chance(0.6) ? same(anyPath(r)) : [anyPath(r), anyPath(r)];
  const lines: string[] = [];
  if (r.chance(0.7)) lines.push(`diff --git ${spelled(r, from, a)} ${spelled(r, to, b)}`);
  const more = [
    ["deleted file mode 100644"],
    ["new file mode 100644"],
    ["new file mode 100755"],
    ["old mode 100644", "new mode 100755"],
    [`copy from ${spelled(r, from, "")}`, `copy to ${spelled(r, to, "")}`],
    [`rename from ${spelled(r, from, "")}`, `rename to ${spelled(r, to, "")}`],
    [`rename from ${spelled(r, anyPath(r), "")}`],
    ["similarity index 100%", "index 0000..1111"],
    [],
  ];
  lines.push(...r.pick(more));
  if (r.chance(0.7)) {
    lines.push(`--- ${r.chance(0.15) ? "/dev/null" : spelled(r, from, a)}`);
    lines.push(`+++ ${r.chance(0.15) ? "/dev/null" : spelled(r, to, b)}`);
  }
  return [...lines, ...r.pick(HUNKS)];
}

function same(path: string): [string, string] {
  return [path, path];
}

function directive(r: Random): string[] {
  const path = anyPath(r);
  return r.pick([
    [`*** Update File: ${path}`, "@@", "-one", "+two"],
    [`*** Update File: ${path}`, `*** Move to: ${anyPath(r)}`],
    [`*** Update File: ${path}`, `*** Move to: ${anyPath(r)}`, "@@", "-one", "+two"],
    [`*** Add File: ${path}`, "+new"],
    [`*** Add File: ${path}`],
    [`*** Delete File: ${path}`],
  ]);
}

/** The number of sections of a patch; only with one does every named file certainly change. */
export interface MadePatch {
  readonly text: string;
  readonly plain: boolean;
}

export function anyPatch(r: Random): MadePatch {
  const sections = r.pick([1, 1, 1, 1, 2, 3]);
  const begin = r.chance(0.35);
  const lines = Array.from({ length: sections }, () => begin ? directive(r) : unifiedSection(r)).flat();
  if (begin) {
    lines.unshift("*** Begin Patch");
    lines.push("*** End Patch");
  }
  let plain = sections === 1;
  // Text of a mail around it, lines that are missing, doubled, or of the other form.
  for (let tries = r.pick([0, 0, 0, 0, 1, 2]); tries > 0; tries--) {
    plain = false;
    const at = r.below(lines.length + 1);
    r.pick([
      () => lines.splice(at, 1),
      () => lines.splice(at, 0, r.pick(lines)),
      () => lines.splice(at, 0, `--- ${anyPath(r)}`, `+++ ${anyPath(r)}`),
      () => lines.splice(at, 0, ...directive(r)),
      () => lines.splice(at, 0, "Subject: [PATCH] x", "---"),
      () => lines.splice(at, 0, `rename to ${anyPath(r)}`),
    ])();
  }
  return { text: lines.join(r.chance(0.1) ? "\r\n" : "\n") + (r.chance(0.8) ? "\n" : ""), plain };
}

const pathKey = (r: Random): string => r.pick(["path", "file_path"]);
const TEXTS = ["one", "token", "target", "t.k", "", "zzz"];
const edit = (r: Random) => ({
  old_string: r.pick(["one", "one\n", "one", "zzz"]),
  new_string: r.pick(["two", ""]),
});
const GLOBS = [
  "**/*.md",
  "docs/**",
  "*",
  "{docs,new}/*.md",
  "link/*",
  "up/../*",
  "!docs/**",
  "{ws}/docs/*.md",
  "../*",
];

/** Arguments for each tool, by its name. */
export const ARGUMENTS: Readonly<Record<string, (r: Random) => Record<string, unknown>>> = {
  read_file: (r) => ({ [pathKey(r)]: anyPath(r), ...(r.chance(0.3) ? { offset: 1, limit: 1 } : {}) }),
  write_file: (r) => ({ [pathKey(r)]: anyPath(r), content: r.pick(["new\n", "", "one\n"]) }),
  edit_file: (r) => ({ [pathKey(r)]: anyPath(r), ...edit(r) }),
  multi_edit: (r) => ({ [pathKey(r)]: anyPath(r), edits: [edit(r), ...r.chance(0.3) ? [edit(r)] : []] }),
  apply_patch: (r) => ({ [r.pick(["patch", "input", "diff"])]: anyPatch(r).text }),
  move_file: (r) => ({
    [r.pick(["source_path", "source", "from"])]: anyPath(r),
    [r.pick(["destination_path", "destination", "to"])]: anyPath(r),
  }),
  ls: (r) => (r.chance(0.2) ? {} : { path: anyPath(r), depth: r.pick([1, 3]), all: true }),
  glob: (r) => ({
    pattern: r.chance(0.5) ? r.pick(GLOBS) : anyPath(r),
    ...(r.chance(0.3) ? { path: anyPath(r) } : {}),
  }),
  grep: (r) => ({ pattern: r.pick(TEXTS), ...(r.chance(0.7) ? { path: anyPath(r) } : {}) }),
  bash: (r) => ({ command: `cat '${anyPath(r)}'`, ...(r.chance(0.3) ? { workdir: anyPath(r) } : {}) }),
  job_output: () => ({ job_id: "docs/x.md" }),
  job_kill: () => ({ job_id: "docs/x.md" }),
  jobs: () => ({}),
  todo_write: (r) => ({ todos: [{ content: anyPath(r), status: "pending" }] }),
  todo_read: () => ({}),
  ask: (r) => ({ questions: [{ question: anyPath(r), options: [{ label: "a" }] }] }),
  skill: (r) => ({ name: anyPath(r) }),
  history: (r) => ({ operation: "search", query: anyPath(r) }),
  memory: (r) => ({ operation: "read", name: anyPath(r) }),
  remember: (r) => ({ name: anyPath(r), description: "d", text: "t" }),
  forget: (r) => ({ name: anyPath(r) }),
  exit_plan_mode: (r) => ({ plan: `1. Change ${anyPath(r)}` }),
  complete_step: (r) => ({ step: 1, note: anyPath(r) }),
  update_goal: (r) => ({ status: "progress", note: anyPath(r) }),
  task: (r) => ({ prompt: anyPath(r), agent: anyPath(r) }),
  read_only_task: (r) => ({ prompt: anyPath(r) }),
  task_output: (r) => ({ id: anyPath(r) }),
  task_stop: (r) => ({ id: anyPath(r) }),
};
