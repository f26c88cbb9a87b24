import { createPathMatcher, isFault, lintRule, readRule, type RuleList } from "../../../src/rule/mod.ts";
import { ANY } from "../../../src/rule/mod.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";

const CWD = "/srv/ws";

function matcher(overrides: { readonly cwd?: string; readonly ignoreCase?: boolean } = {}) {
  return createPathMatcher({
    cwd: CWD,
    home: "/home/me",
    roots: [CWD],
    realPath: (path) => path,
    ignoreCase: false,
    ...overrides,
  });
}

/** One letter per path: y, n or m for maybe. */
function matches(glob: string, list: RuleList, paths: readonly string[], paths_ = matcher()): string {
  return paths.map((path) => paths_.match(glob, list, paths_.forms(path))[0]).join("");
}

Deno.test("a name matches a file, or a directory with its content", () => {
  const paths = ["docs", "docs/a", "docs/a/b", "docsx", "x/docs/a"];
  assertEquals(matches("docs", "deny", paths), "yyyny");
  assertEquals(matches("docs", "allow", paths), "yyynn");
  assertEquals(matches("docs/", "deny", paths), "yyyny");
  assertEquals(matches("./docs", "allow", paths), "yyynn");
  assertEquals(matches("docs/**", "allow", paths), "nyynn");
  assertEquals(matches("docs/**", "deny", paths), "yyynn");
  assertEquals(matches("~/docs", "deny", ["/home/me/docs/a", "docs/a"]), "yn");
});

Deno.test("braces and brackets are alternatives and also match literally", () => {
  const paths = ["a/x.md", "b/x.md", "c/x.md", "{a,b}/x.md"];
  assertEquals(matches("{a,b}/**", "deny", paths), "yyny");
  assertEquals(matches("{a,b}/*.md", "allow", paths), "yyny");
  assertEquals(matches("*.{ts,tsx}", "deny", ["x.ts", "y/x.tsx", "x.js", "x.tsx/y"]), "yyny");
  assertEquals(matches("[ab]/**", "deny", paths), "yynn");
  assertEquals(matches("[!ab]/**", "deny", paths), "nnyn");
  assertEquals(matches("[d]ocs", "deny", ["docs/a", "[d]ocs/a", "ocs/a"]), "yyn");
  assertEquals(matches("app/[slug]/**", "deny", ["app/[slug]/page.tsx", "app/s/x", "app/slug/x"]), "yyn");
  assertEquals(matches("{{cookie.name}}/**", "deny", ["{{cookie.name}}/x"]), "y");
  assertEquals(matches("a\\[1\\]/\\*", "deny", ["a[1]/*", "a1/*", "a[1]/x"]), "ynn");
});

Deno.test("a leading slash means the project and the root directory", () => {
  const paths = ["docs/a", "/docs/a", "sub/docs/a"];
  assertEquals(matches("/docs/**", "deny", paths), "yyn");
  assertEquals(matches("/docs/**", "allow", paths), "yyn");
  assertEquals(matches("//docs/**", "deny", paths), "nyn");
  assertEquals(matches("/*.md", "allow", ["a.md", "/a.md", "b/a.md"]), "yyy");
});

Deno.test("a relative glob can lead above its directory, and a base is not a glob", () => {
  assertEquals(matches("../x/**", "deny", ["/srv/x/a", "x/a"]), "yn");
  assertEquals(matches("a/../b", "deny", ["b/c", "a/c"]), "yn");
  const odd = matcher({ cwd: "/srv/w[1]*" });
  assertEquals(matches("docs/**", "deny", ["docs/a", "/srv/w1/docs/a"], odd), "yn");
});

Deno.test("case and composition are ignored where the file system ignores them", () => {
  const folding = matcher({ ignoreCase: true });
  const paths = ["STRASSE/a", "straße/a", "caf\u00e9/b", "CAFE\u0301/b", "caf\u200ce\u0301/b"];
  assertEquals(matches("Straße/**", "deny", paths, folding), "yynnn");
  assertEquals(matches("Caf\u00e9/?", "deny", paths, folding), "nnyyy");
  assertEquals(matches("cafe\u0301/**", "deny", paths), "nnynn");
});

Deno.test("a partly unknown path certainly matches only globs that cover all of it", () => {
  const paths = [`docs/${ANY}`, `docs/a/${ANY}`, `${ANY}`, `src/${ANY}`, `docs/x${ANY}`];
  assertEquals(matches("docs/**", "deny", paths), "yymny");
  assertEquals(matches("docs", "deny", paths), "yymmy");
  assertEquals(matches("docs/[x]*", "allow", paths), "mmmnm");
});

Deno.test("holders are directories whose move renames a matched path", () => {
  const paths = matcher();
  const holds = (glob: string, directories: readonly string[]) =>
    directories.map((path) => paths.holds(glob, paths.forms(path), () => true) ? "y" : "n").join("");
  const directories = [".", "/srv", "sub", "sub/x", "sub/docs", "other"];
  assertEquals(holds("sub/docs/**", directories), "yyynyn");
  assertEquals(holds("sub/docs/a", directories), "yyynyn");
  assertEquals(holds("sub/*/docs/**", directories), "yyyyyn");
  assertEquals(holds("**/docs/a", directories), "yynnyn");
  assertEquals(holds("**/x/docs/a", ["sub/x", "sub/x/docs", "sub", "x"]), "yyny");
  assertEquals(holds(".env", ["sub", "."]), "ny");
  assertEquals(holds("{sub,other}/a", directories), "yyynny");
});

Deno.test("lintRule reports rules that match nothing or something unexpected", () => {
  const warning = (text: string) => {
    const read = readRule(text);
    return isFault(read) ? "fault" : lintRule(read)?.message ?? "";
  };
  const cases: [string, string][] = [
    ["Edit(/no-such-directory/**)", "is read from the project root"],
    ['Edit("docs/**")', "quotation marks"],
    ["Read(!secret/**)", "no exceptions"],
    ["Read($HOME/.ssh/**)", "variables are not expanded"],
    ["Read(~root/.ssh)", "tilde"],
    ["Read(file:///etc/passwd)", "is an address"],
    ["Edit(docs/**, src/**)", "one path with a comma"],
    ["Edit(docs/**,src/**)", "one path with a comma"],
    ["Edit([z-a]/x)", "its brackets are empty"],
    ["Edit(a\u0007)", "control character"],
    [`Edit(${"x".repeat(300)})`, "at most 255 bytes"],
    ...(Deno.build.os === "windows" ? [] : [
      ["Edit(C:\\x)", "drives have no letters"],
      ["Edit(docs\\a)", "with a backslash"],
    ] as [string, string][]),
  ];
  for (const [text, expected] of cases) assertStringIncludes(warning(text), expected, text);
  for (
    const text of [
      "Edit(docs)",
      "Edit(docs/**)",
      "Edit(//no-such-directory/**)",
      "Read(/etc/**)",
      "Edit({a,b}/*.ts)",
      "Edit(app/[slug]/**)",
      "Read(~/.ssh/**)",
      "Edit(/**/x)",
      "Edit(a\\[1\\])",
      "Edit(a,b.txt)",
      "Bash(echo $HOME)",
      "Bash(!x)",
    ]
  ) assertEquals(warning(text), "", text);
});

Deno.test("a wildcard does not make a file a holder", () => {
  const paths = matcher();
  const holds = (path: string, isDirectory: boolean) =>
    paths.holds("src/*/x/**", paths.forms(path), () => isDirectory);
  assertEquals([holds("src/a.ts", false), holds("src/a", true), holds("src", false)], [false, true, true]);
});
