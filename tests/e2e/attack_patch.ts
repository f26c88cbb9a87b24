/**
 * Patches that reach a file by a disguised name: every spelling of a name, in every kind of change.
 */
import type { Fixture } from "../conformance/sandbox/fixture.ts";
import type { ScriptedCall } from "../support/model_server.ts";
import { type Attempt, textOf } from "../conformance/sandbox/attacks.ts";

const SECRET = "a-line-that-a-Read-rule-hides";

/** A way to write a name in a patch. */
interface Spelling {
  readonly name: string;
  write(path: string, prefix: string): string;
}

const octal = (text: string, which: RegExp): string =>
  text.replace(
    which,
    (char) =>
      [...new TextEncoder().encode(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  );

const QUOTED: readonly Spelling[] = [
  { name: "plain", write: (path, prefix) => prefix + path },
  { name: "quoted", write: (path, prefix) => `"${prefix}${path}"` },
  { name: "one octal escape", write: (path, prefix) => `"${prefix}${octal(path, /[co](?=[a-z])/)}"` },
  { name: "octal escapes only", write: (path, prefix) => `"${octal(prefix + path, /[\s\S]/gu)}"` },
  { name: "an escaped slash", write: (path, prefix) => `"${prefix}${octal(path, /\//g)}"` },
  { name: "needless escapes", write: (path, prefix) => `"${prefix}${path.replace(/[.-]/g, "\\$&")}"` },
];

/** Other names of the same file. */
const DETOURS: readonly Spelling[] = [
  { name: "a dot", write: (path, prefix) => `${prefix}./${path}` },
  { name: "a directory and back", write: (path, prefix) => `${prefix}ok/../${path}` },
  { name: "a missing directory and back", write: (path, prefix) => `${prefix}none/../${path}` },
  { name: "a link of the repository", write: (path, prefix) => `${prefix}link/${path}` },
  { name: "an absolute path", write: (path) => `{ws}/${path}` },
  { name: "double slashes", write: (path, prefix) => `${prefix}${path.replaceAll("/", "//")}` },
];

const PREFIXES = [["a/", "b/"], ["i/", "w/"], ["c/", "i/"], ["c/", "w/"], ["o/", "w/"], ["b/", "a/"], [
  "",
  "",
]];

/**
 * The files of one attempt: `old` holds one line, `empty` nothing, `fresh` is missing; `other` may be
 * changed.
 */
interface Files {
  readonly old: string;
  readonly empty: string;
  readonly fresh: string;
  readonly other: string;
}

interface Form {
  readonly name: string;
  patch(files: Files): readonly string[];
}

const CHANGE = ["@@ -1 +1 @@", "-one", "+two"];
const ADD = ["@@ -0,0 +1 @@", "+two"];
const DROP = ["@@ -1 +0,0 @@", "-one"];

function labelled(label: string, forms: readonly Form[]): Form[] {
  return forms.map((form) => ({ ...form, name: `${form.name}, ${label}` }));
}

function unified(spelling: Spelling, [a = "", b = ""]: readonly string[], label: string): Form[] {
  const from = (path: string) => spelling.write(path, a);
  const to = (path: string) => spelling.write(path, b);
  const git = (path: string) => `diff --git ${from(path)} ${to(path)}`;
  return labelled(label, [
    { name: "change", patch: ({ old }) => [`--- ${from(old)}`, `+++ ${to(old)}`, ...CHANGE] },
    { name: "git change", patch: ({ old }) => [git(old), `--- ${from(old)}`, `+++ ${to(old)}`, ...CHANGE] },
    { name: "time", patch: ({ old }) => [`--- ${from(old)}\t2026`, `+++ ${to(old)}\t2026`, ...CHANGE] },
    {
      name: "creation",
      patch: ({ fresh }) => ["--- /dev/null", `+++ ${spelling.write(fresh, "b/")}`, ...ADD],
    },
    { name: "removal", patch: ({ old }) => [`--- ${spelling.write(old, "a/")}`, "+++ /dev/null", ...DROP] },
  ]);
}

/** Header lines of git, with names as `spelling` writes them. */
function extended(spelling: Spelling): Form[] {
  const bare = (path: string) => spelling.write(path, "");
  const git = (path: string) => `diff --git ${spelling.write(path, "a/")} ${spelling.write(path, "b/")}`;
  const pair = (a: string, b: string) => `diff --git ${spelling.write(a, "a/")} ${spelling.write(b, "b/")}`;
  return labelled(spelling.name, [
    { name: "empty removal", patch: ({ empty }) => [git(empty), "deleted file mode 100644"] },
    { name: "empty creation", patch: ({ fresh }) => [git(fresh), "new file mode 100644"] },
    { name: "empty program", patch: ({ fresh }) => [git(fresh), "new file mode 100755"] },
    { name: "mode", patch: ({ old }) => [git(old), "old mode 100644", "new mode 100755"] },
    {
      name: "copy to",
      patch: ({ other, fresh }) => [pair(other, fresh), `copy from ${bare(other)}`, `copy to ${bare(fresh)}`],
    },
    {
      name: "copy and change",
      patch: ({ other, fresh }) => [
        pair(other, fresh),
        `copy from ${bare(other)}`,
        `copy to ${bare(fresh)}`,
        `--- ${spelling.write(other, "a/")}`,
        `+++ ${spelling.write(fresh, "b/")}`,
        ...CHANGE,
      ],
    },
    {
      name: "rename from",
      patch: ({ old, other }) => [
        pair(old, `${other}.new`),
        `rename from ${bare(old)}`,
        `rename to ${bare(`${other}.new`)}`,
      ],
    },
    {
      name: "rename to",
      patch: (
        { other, fresh },
      ) => [pair(other, fresh), `rename from ${bare(other)}`, `rename to ${bare(fresh)}`],
    },
    {
      name: "rename behind another file",
      patch: ({ old, other }) => [
        `diff --git a/${other} b/${other}.new`,
        `rename from ${bare(old)}`,
        `rename to ${other}.new`,
      ],
    },
  ]);
}

/** The other form of a patch. */
function directives(spelling: Spelling): Form[] {
  const name = (path: string) => spelling.write(path, "");
  const wrap = (lines: readonly string[]) => ["*** Begin Patch", ...lines, "*** End Patch"];
  return labelled(`directive, ${spelling.name}`, [
    { name: "update", patch: ({ old }) => wrap([`*** Update File: ${name(old)}`, "@@", "-one", "+two"]) },
    { name: "add", patch: ({ fresh }) => wrap([`*** Add File: ${name(fresh)}`, "+two"]) },
    { name: "add nothing", patch: ({ fresh }) => wrap([`*** Add File: ${name(fresh)}`]) },
    { name: "delete", patch: ({ old }) => wrap([`*** Delete File: ${name(old)}`]) },
    {
      name: "move away",
      patch: ({ old, other }) => wrap([`*** Update File: ${name(old)}`, `*** Move to: ${other}.new`]),
    },
    {
      name: "move in",
      patch: ({ other, fresh }) => wrap([`*** Update File: ${other}`, `*** Move to: ${name(fresh)}`]),
    },
    { name: "blanks", patch: ({ old }) => wrap([`*** Update File:  ${name(old)}  `, "@@", "-one", "+two"]) },
  ]);
}

const PLAIN = DETOURS.concat(QUOTED.slice(0, 1));

const FORMS: readonly Form[] = [
  ...QUOTED.flatMap((spelling) => unified(spelling, ["a/", "b/"], spelling.name)),
  ...PREFIXES.slice(1).flatMap((pair) => unified(QUOTED[0] as Spelling, pair, `prefixes ${pair.join(" ")}`)),
  ...PREFIXES.slice(1, 5).flatMap((pair) =>
    unified(QUOTED[1] as Spelling, pair, `quoted prefixes ${pair.join(" ")}`)
  ),
  ...QUOTED.flatMap(extended),
  ...DETOURS.flatMap((spelling) => unified(spelling, ["a/", "b/"], spelling.name)),
  ...PLAIN.flatMap(directives),
];

/** The argument under each of its names, and line ends as mailers write them. */
function call(lines: readonly string[], index: number): ScriptedCall {
  const key = ["patch", "input", "diff"][index % 3] as string;
  const end = index % 5 === 4 ? "\r\n" : "\n";
  const text = lines.join(end) + (index % 2 === 0 || end !== "\n" ? end : "");
  return { name: "apply_patch", args: { [key]: text } };
}

const LINE_ENDS = ["x\u2028", "\u2029y", "a\u0085b", "v\u000bt"];

/** One attempt per form; each has a separate directory, so that none depends on another. */
export function editAttempts(directory: string): Attempt[] {
  return FORMS.map((form, index) => {
    // Every fourth name contains a character that only some programs treat as a line end.
    const odd = index % 4 === 3 ? LINE_ENDS[index % LINE_ENDS.length] as string : "n";
    const target = `${directory}/${odd}${index}`;
    const files = {
      old: `${target}/old.md`,
      empty: `${target}/empty.md`,
      fresh: `${target}/fresh.md`,
      other: `ok/${index}.md`,
    };
    return {
      name: `${index} ${form.name}`,
      calls: [call(form.patch(files), index)],
      async prepare({ g }: Fixture) {
        await Deno.mkdir(`${g.ws}/${target}`, { recursive: true });
        await Deno.mkdir(`${g.ws}/ok`, { recursive: true });
        await Deno.symlink(g.ws, `${g.ws}/link`).catch(() => {});
        for (const [path, text] of [[files.old, "one\n"], [files.empty, ""], [files.other, "one\n"]]) {
          await Deno.writeTextFile(`${g.ws}/${path}`, text as string);
        }
      },
      async succeeded({ g }: Fixture) {
        const names = [...Deno.readDirSync(`${g.ws}/${target}`)].map((entry) => entry.name).sort().join();
        const old = `${g.ws}/${files.old}`;
        return names !== "empty.md,old.md" || await textOf(old) !== "one\n" ||
          ((await Deno.stat(old)).mode ?? 0) % 0o1000 !== 0o644;
      },
    };
  });
}

/** Files whose writer runs code later, or decides what this program may do. */
const PROTECTED: Readonly<Record<string, Pick<Files, "old" | "fresh">>> = {
  git: { old: ".git/config", fresh: ".git/hooks/pre-commit" },
  module: { old: ".git/modules/sub/config", fresh: ".git/modules/sub/hooks/post-checkout" },
  own: { old: "reasonix.toml", fresh: ".reasonix/hooks/start.sh" },
  editor: { old: ".vscode/tasks.json", fresh: ".vscode/settings.json" },
  server: { old: ".mcp.json", fresh: ".envrc.d/../.envrc" },
};

export function protectedAttempts(): Attempt[] {
  return Object.entries(PROTECTED).flatMap(([kind, { old, fresh }], offset) =>
    FORMS.filter((_, index) => index % 5 === offset).map((form, index): Attempt => {
      const files = { old, fresh, empty: old, other: `ok/${index}.md` };
      return {
        name: `${kind} ${form.name}`,
        calls: [call(form.patch(files), index)],
        async prepare({ g }) {
          for (const path of [old, files.other]) {
            await Deno.mkdir(`${g.ws}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
            await Deno.writeTextFile(`${g.ws}/${path}`, "one\n");
          }
          await Deno.symlink(g.ws, `${g.ws}/link`).catch(() => {});
          await Deno.remove(`${g.ws}/${fresh}`).catch(() => {});
        },
        succeeded: async ({ g }) =>
          await textOf(`${g.ws}/${old}`) !== "one\n" ||
          await Deno.lstat(`${g.ws}/${fresh}`).then(() => true, () => false) ||
          ((await Deno.stat(`${g.ws}/${old}`)).mode ?? 0) % 0o1000 !== 0o644,
      };
    })
  );
}

/** Ways to read a file that a Read rule hides: another name, a copy, the text of an error. */
export function readAttempts(directory: string): Attempt[] {
  const forms = FORMS.filter(({ name }) =>
    /rename from|rename behind|move away|change|update|copy/.test(name)
  );
  return forms.map((form, index): Attempt => {
    const hidden = `${directory}/${index}.txt`;
    const shown = `ok/${index}.md`;
    const files = {
      old: hidden,
      empty: hidden,
      fresh: shown,
      other: /copy/.test(form.name) ? hidden : shown,
    };
    const see = (path: string): ScriptedCall => ({ name: "read_file", args: { path } });
    return {
      name: `${index} ${form.name}`,
      calls: [call(form.patch(files), index), see(shown), see(`${shown}.new`), see(hidden)],
      async prepare({ g }) {
        for (const path of [hidden, shown]) {
          await Deno.mkdir(`${g.ws}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
        }
        await Deno.writeTextFile(`${g.ws}/${hidden}`, `${SECRET}\n`);
        await Deno.symlink(g.ws, `${g.ws}/link`).catch(() => {});
      },
      succeeded: async ({ g }, { stdout }) =>
        stdout.includes(SECRET) || await textOf(`${g.ws}/${hidden}`) !== `${SECRET}\n`,
    };
  });
}
