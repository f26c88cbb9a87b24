import { compileGlobs, compileRanked, expandBraces, type GlobDialect } from "../../../src/path/glob.ts";
import { IgnoreRules } from "../../../src/path/ignore_files.ts";
import { createPathMatcher } from "../../../src/rule/mod.ts";
import { scanWorkspace } from "../../../src/session/checkpoint/change_detector.ts";
import { walkFiles } from "../../../src/tool/search/walk.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { countWork } from "../../support/counted_work.ts";
import { randomFrom, soakSize } from "../../support/seed.ts";
import { makeTempDir } from "../../support/tool_context.ts";

/** The same globs as regular expressions of the runtime, which may backtrack without limit. */
function oracle(glob: string, dialect: GlobDialect): RegExp | undefined {
  const spelled = expandBraces(glob, 64);
  try {
    return spelled && new RegExp(`^(?:${spelled.map((each) => source(each, dialect)).join("|")})$`, "s");
  } catch {
    // A range that runs backwards.
    return undefined;
  }
}

function source(glob: string, dialect: GlobDialect): string {
  if (dialect === "ignore" && glob === "**") return ".*";
  const [wild, one] = dialect === "rule" ? [".*", "."] : ["[^/]*", "[^/]"];
  const tokens = dialect === "rule"
    ? /\/\*\*\/|\*|\?|\[[!^]?\]?(?:\\.|[^\]\\])*\]|\\.|./gs
    : /^(?:\*\*\/)+|(?:\/\*\*)+(?:\/|$)|\*+|\?|\[[!^]?\]?(?:\\.|[^\]\\])*\]|\\.|./gs;
  return glob.replace(tokens, (token, at: number) => {
    if (dialect === "rule" && token === "/**/") return "/(?:.*/)?";
    if (dialect === "ignore" && at === 0 && /^\*\*\//.test(token)) return "(?:.*/)?";
    if (dialect === "ignore" && token.startsWith("/**")) return token.endsWith("/") ? "/(?:.*/)?" : "/.+";
    if (token.startsWith("*")) return wild;
    if (token === "?") return one;
    if (token.length > 1 && token.startsWith("[")) return charClass(token);
    return plain(token.startsWith("\\") ? token.slice(1) || "\\" : token);
  });
}

function charClass(token: string): string {
  const negated = /^\[[!^]/.test(token);
  const body = token.slice(negated ? 2 : 1, -1).replace(
    /\\(.)|[[\]^&]/gs,
    (c, escaped) => plain(escaped ?? c),
  );
  return negated ? `[^/${body}]` : `(?!/)[${body}]`;
}

function plain(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/&-]/g, "\\$&");
}

const PIECES = [
  ..."a b ab . / / * * ** **/ /** /**/ ? [ab] [!a] [a-c] [^b/] []a] \\* \\{ { } , ] [ x.ts é A".split(" "),
  ..."{a,b} {a/,} {,b} {**,a} {a,{b,c}} {a} {*,a/**}/ {.,?} *a*a *?* **a".split(" "),
];
/** Groups, which only a search supports. */
const GROUPS = "@(a|b) +(a|ab) *(a|b) ?(a) !(a) !(*a*b) !( +( *( @( ( ) | (a|b)".split(" ");
const NAMES = [..."a b ab . / / c x.ts é * { } , [ ] A \n aaaa".split(" "), "\n"];

const draw = randomFrom();
const pick = (list: readonly string[]) => list[Math.floor(draw() * list.length)] ?? "";
const made = (pieces: readonly string[], most: number) =>
  Array.from({ length: Math.floor(draw() * most) + 1 }, () => pick(pieces)).join("");

/** Asserts that runs, with their compilation, do no more work than globs and texts of these lengths take. */
function bounds() {
  const counted = countWork();
  return {
    run<T>(globs: readonly string[], texts: readonly string[], work: () => T): T {
      const before = counted.steps;
      const result = work();
      const steps = counted.steps - before;
      const [glob, text] = [globs, texts].map((each) => each.join("").length + 16);
      const most = MOST * (glob ?? 0) * (text ?? 0);
      assert(steps <= most, `${globs.join(" ").slice(0, 40)} takes ${steps} steps, more than ${most}`);
      return result;
    },
    [Symbol.dispose]: () => counted[Symbol.dispose](),
  };
}

/** Steps for a character of a glob and one of a text. */
const MOST = 16;

const GLOBS = soakSize(100_000, 1500);
const RULE_SETS = soakSize(20_000, 1500);
const DIALECTS = ["ignore", "rule", "search"] as const;

Deno.test("random globs match what a backtracking engine matches, each with bounded work", () => {
  using bounded = bounds();
  for (let i = 0; i < GLOBS; i++) {
    const glob = made(i % 10 === 0 ? [...PIECES, ...GROUPS] : PIECES, i % 50 === 0 ? 60 : 7);
    const dialect = DIALECTS[i % 3] ?? "rule";
    const texts = Array.from({ length: 4 }, () => made(NAMES, i % 50 === 0 ? 60 : 8));
    const found = bounded.run([glob], texts, () => texts.map(compileGlobs([glob], { dialect })));
    // What is in brackets is a set, braces and commas included.
    if (/\[[^\]]*[{},]/.test(glob)) continue;
    // A search has groups, takes brackets as they are, too, and crosses directories with stars in a part.
    if (dialect === "search" && /[[|()]|\*\*[^/]/.test(`${glob} ${expandBraces(glob)}`)) continue;
    const expected = oracle(glob, dialect === "search" ? "ignore" : dialect);
    for (const [at, text] of expected && glob.length < 40 ? texts.entries() : []) {
      assertEquals([glob, dialect, text, found[at]], [glob, dialect, text, expected?.test(text)]);
    }
  }
});

Deno.test("random ignore files and path rules match names as their globs do, each with bounded work", () => {
  using bounded = bounds();
  const context = {
    cwd: "/w",
    home: "/h",
    roots: ["/w"],
    realPath: (path: string) => path,
    ignoreCase: false,
  };
  for (let i = 0; i < RULE_SETS; i++) {
    const globs = Array.from({ length: 3 }, () => made(PIECES, 6).replace(/^[/#!]+|[\s/\\]+$/g, ""));
    const names = Array.from({ length: 3 }, () => made(NAMES, 6).replace(/[\n/]/g, "") || "a");
    const found = bounded.run(globs, names, () => {
      const rules = new IgnoreRules(globs.map((glob, at) => at === 1 ? `!${glob}` : glob).join("\n"));
      return names.map((name) => rules.match(name, name, false));
    });
    const tests = globs.map((glob) =>
      glob === "" ? () => false : compileGlobs([glob], { dialect: "ignore" })
    );
    for (const [at, name] of names.entries()) {
      const last = tests.findLastIndex((test) => test(name));
      assertEquals([globs, name, found[at]], [
        globs,
        name,
        [undefined, "ignore", "keep", "ignore"][last + 1],
      ]);
    }
    const [rule = ""] = globs;
    const judged = bounded.run(expandBraces(rule) ?? [rule], names, () => {
      const paths = createPathMatcher(context);
      return names.map((name) => paths.match(`//${rule}`, "deny", paths.forms(`/${name}`)));
    });
    // Brackets and braces also represent their own text there, `.` and `//` are taken away.
    if (rule === "" || /[[{}]|\/\/|\*\/?$|(?:^|\/)\.{1,2}(?:\/|$)/.test(rule)) continue;
    const test = compileGlobs([`/${rule}`], { dialect: "rule" });
    for (const [at, name] of names.entries()) {
      assertEquals([rule, name, judged[at]], [rule, name, test(`/${name}`) ? "yes" : "no"]);
    }
  }
});

Deno.test("pathological globs match long names with bounded work", () => {
  using bounded = bounds();
  const a = (count: number) => "a".repeat(count);
  const slow: readonly (readonly [GlobDialect, string, string])[] = [
    ["rule", `${"*a".repeat(500)}b`, a(4000)],
    ["ignore", `${"*a".repeat(8)}b`, a(180)],
    ["ignore", `${"*a".repeat(500)}b`, a(255)],
    ["ignore", `${"**/*a*a/".repeat(50)}b`, "aaaa/".repeat(100)],
    ["ignore", "{a,b}".repeat(26), a(255)],
    ["search", "{a,b}".repeat(300), a(255)],
    ["search", "{a,*b,?c}".repeat(100), a(255)],
    ["search", `${"*{a,".repeat(16)}b${"}".repeat(16)}`, a(255)],
    ["search", `${"+(a|aa|aaa)".repeat(50)}b`, a(255)],
    ["search", `${"+(".repeat(15)}a${")".repeat(15)}b`, a(255)],
    ["search", "!(*a*b)".repeat(30), a(255)],
    ["search", "!(!(a)*!(b)*)".repeat(4), a(255)],
    ["search", `${"[".repeat(200)}]`, a(255)],
    ["search", `${"(".repeat(500)}a`, a(255)],
  ];
  for (const [dialect, glob, text] of slow) {
    bounded.run([glob], [text], () => compileGlobs([glob], { dialect })(text));
  }
});

Deno.test("a list of globs matches what any of them matches, and ranks identify the last", () => {
  for (let round = 0; round < 2_000; round++) {
    const globs = Array.from({ length: 5 }, () => made(PIECES, 5));
    const [any, last] = [
      compileGlobs(globs, { dialect: "ignore" }),
      compileRanked(globs.map((glob, rank) => ({ glob, rank, directoriesOnly: rank % 2 === 1 })), {
        dialect: "ignore",
      }),
    ];
    const alone = globs.map((glob) => compileGlobs([glob], { dialect: "ignore" }));
    for (const text of Array.from({ length: 5 }, () => made(NAMES, 6))) {
      const matching = alone.map((test) => test(text));
      assertEquals([globs, text, any(text)], [globs, text, matching.includes(true)]);
      assertEquals(last(text, true), matching.lastIndexOf(true));
      assertEquals(last(text, false), matching.map((each, i) => each && i % 2 === 0).lastIndexOf(true));
    }
  }
});

/** One letter per text: y or n. */
function matches(glob: string, texts: string): string {
  const test = compileGlobs([glob], { dialect: "search" });
  return texts.split(" ").map((text) => test(text) ? "y" : "n").join("");
}

Deno.test("search patterns support groups, and match names with brackets literally", () => {
  assertEquals(matches("*.@(ts|js)", "a.ts a.js a.md a.tsjs"), "yynn");
  assertEquals(matches("+(a|bc)x", "ax abcax x bx"), "yynn");
  assertEquals(matches("?(a)x", "x ax aax"), "yyn");
  assertEquals(matches("*(a|b)x", "x abbax cx"), "yyn");
  assertEquals(matches("!(file*).ts", "a.ts file1.ts b/a.ts .ts"), "ynny");
  assertEquals(matches("**/!(*.test).ts", "a.ts x/a.test.ts x/y/b.ts"), "yny");
  assertEquals(matches("(a|b)/c", "a/c b/c c (a|b)/c"), "yynn");
  assertEquals(matches("*.ts|*.js", "a.ts a.js a.md"), "yyn");
  assertEquals(
    matches("app/(group)/page.tsx", "app/(group)/page.tsx app/group/page.tsx app/x/page.tsx"),
    "yyn",
  );
  assertEquals(matches("src/[id].ts", "src/[id].ts src/i.ts src/id.ts"), "yyn");
  assertEquals(matches("app/[[...slug]]/page.tsx", "app/[[...slug]]/page.tsx app/s/page.tsx"), "yn");
  assertEquals(matches("app/[...slug]/*.tsx", "app/[...slug]/page.tsx app/s/page.tsx app/slug/x.tsx"), "yyn");
  assertEquals(matches("**.ts", "a.ts b/c.ts"), "yy");
  assertEquals(matches("src/**", "src/a src/a/b lib/a"), "yyn");
  assertEquals(matches("*.{ts,tsx}", "a.ts a.tsx a.js"), "yyn");
  const folding = compileGlobs(["SRC/[a-c]É*"], { dialect: "search", ignoreCase: true });
  assertEquals(["src/Aéx", "src/dé"].map(folding), [true, false]);
});

Deno.test("braces are expanded completely up to a limit", () => {
  using bounded = bounds();
  assertEquals(expandBraces("a{b,c{d,e}}f{,g}"), ["abf", "abfg", "acdf", "acdfg", "acef", "acefg"]);
  assertEquals(expandBraces("{a}{}{b"), ["a{b"]);
  assertEquals(expandBraces("\\{a,b}[{c,d}]"), ["\\{a,b}[{c,d}]"]);
  assertEquals(expandBraces("{a,b}".repeat(8))?.length, 256);
  for (const wide of ["{a,b}".repeat(9), "{a,b}".repeat(5000), `${"{a,".repeat(5000)}b${"}".repeat(5000)}`]) {
    bounded.run([wide], ["x".repeat(256)], () => assertEquals(expandBraces(wide), undefined));
  }
});

Deno.test("ignore lines with many wildcards, blanks and backslashes are read with bounded work", () => {
  using bounded = bounds();
  const lines = ["*a*a*a*a*a*a*a*ab", `${" ".repeat(3000)}x`, "\\".repeat(4000), "{a,b}".repeat(40)];
  const names = Array.from({ length: 50 }, (_, i) => "a".repeat(180) + i);
  bounded.run(lines, names, () => {
    const rules = new IgnoreRules(lines.join("\n"));
    for (const name of names) rules.match(name, name, false);
  });
  const rules = new IgnoreRules("plain\nkept \\ \n*.log\n!keep.log\nbuild/\n/only\nsub/x\n");
  const decisions = ["plain", "a/plain", "kept  ", "x.log", "keep.log", "only", "a/only", "sub/x", "build"]
    .map(
      (path) => rules.match(path, path.slice(path.lastIndexOf("/") + 1), false)?.[0] ?? "-",
    );
  assertEquals(decisions.join(""), "iiiiki-i-");
  assertEquals(rules.match("a/build", "build", true), "ignore");
});

Deno.test("a deny rule applies to all expansions of its braces", () => {
  using bounded = bounds();
  const paths = createPathMatcher({
    cwd: "/w",
    home: "/home/me",
    roots: ["/w"],
    realPath: (path) => path,
    ignoreCase: false,
  });
  const denies = (glob: string, path: string) => paths.match(glob, "deny", paths.forms(path));
  const binary = "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}{o,p}{q,r}.txt";
  assertEquals([denies(binary, "acegikmoq.txt"), denies(binary, "bdfhjlnpr.txt")], ["yes", "yes"]);
  const many = `{${Array.from({ length: 300 }, (_, i) => `p${i}`).join(",")}}.txt`;
  assertEquals([denies(many, "p0.txt"), denies(many, "p299.txt"), denies(many, "p300.txt")], [
    "yes",
    "yes",
    "no",
  ]);
  const [glob, path] = ["*a*a*a*a*a*ab", "a".repeat(200)];
  assertEquals(bounded.run([glob], [path], () => denies(glob, path)), "no");
});

Deno.test("globs without wildcards match like the same globs in braces", () => {
  const names = ["a", "b", "a/b", "/a", "/a/b", "x.ts", "a/b/c", "a/", "/", "b/a"];
  const texts = ["", ...names, "/x/a/b", "/a/b/c", "a//b", "x/a/", "x/a/c", "ab", "/ab", "a/b/"];
  for (const dialect of ["ignore", "rule", "search"] as const) {
    for (const tail of [undefined, "within", "below"] as const) {
      for (const anywhere of [false, true]) {
        for (const end of dialect === "rule" ? ["", "/**"] : [""]) {
          for (const name of names) {
            const form = { glob: name + end, ...tail && { tail } };
            const forced = { ...form, glob: `{${form.glob},${form.glob}}` };
            const [plain, wild] = [form, forced].map((each) => compileGlobs([each], { dialect, anywhere }));
            for (const text of texts) {
              assertEquals(
                plain?.(text),
                wild?.(text),
                `${dialect} ${tail} ${anywhere} ${form.glob} ${text}`,
              );
            }
          }
        }
      }
    }
  }
});

const RULES: Readonly<Record<string, string>> = {
  ".gitignore": "*.log\nbuild/\n",
  ".git/info/exclude": "private.txt\n",
  ".ignore": "drafts/\n!keep.log\n",
  ".reasonixignore": "secret.md\n",
  "sub/.gitignore": "!b.log\n/c.txt\n",
  "nested/.git/info/exclude": "inner.txt\n",
};
const FILES = [
  "a.ts",
  "a.log",
  "keep.log",
  "private.txt",
  "secret.md",
  "build/out.js",
  "drafts/d.md",
  "sub/b.log",
  "sub/c.txt",
  "sub/private.txt",
  "nested/inner.txt",
  "nested/private.txt",
];

Deno.test("checkpoints and searches ignore the same files", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  for (const [path, text] of [...Object.entries(RULES), ...FILES.map((path) => [path, "x"] as const)]) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
  const searched: string[] = [];
  const options = { root, cwd: root, hidden: () => false, signal: new AbortController().signal };
  await walkFiles(options, (path) => searched.push(path.slice(root.length + 1)));
  const scan = await scanWorkspace({ root, maxFiles: 100, maxIgnored: { files: 100, perDirectory: 100 } });
  const kept = [...scan.files.keys()].filter((path) => !scan.ignored.has(path));
  assertEquals(kept.filter((path) => FILES.includes(path)).sort(), [
    "a.ts",
    "keep.log",
    "nested/private.txt",
    "sub/b.log",
  ]);
  assertEquals(kept.sort(), searched.sort());
  assertEquals([...scan.ignored].filter((path) => FILES.includes(path)).length, FILES.length - 4);
});
