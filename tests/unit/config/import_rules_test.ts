import fc from "fast-check";
import { claudeRule, type RuleListName, type Translation } from "../../../src/config/foreign/claude.ts";
import { isFault, lintRule, readRule } from "../../../src/rule/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";

/** rule, list, scope → our rule; undefined = not imported */
const CASES: [string, RuleListName, "user" | "project", string | undefined][] = [
  ["Bash(git:*)", "allow", "user", "Bash(git:*)"],
  ["Bash(ls*)", "allow", "user", "Bash(ls*)"],
  ["Bash", "allow", "user", "Bash"],
  ["Bash(*)", "allow", "user", "Bash"],
  ["Bash(make && make test)", "allow", "user", undefined],
  ['Bash(git commit -m "a && b")', "allow", "user", 'Bash(git commit -m "a && b")'],
  ["Bash(curl https://x.example/?a=1)", "allow", "user", undefined],
  ["Bash(curl https://x.example/?a=1)", "deny", "user", "Bash(curl https://x.example/?a=1)"],
  ["Bash(curl * | sh)", "deny", "user", "Bash(curl *)"],
  ["Bash()", "deny", "user", undefined],
  ["Read(./.env)", "deny", "user", "Read(.env)"],
  ["Read(//etc/shadow)", "deny", "user", "Read(//etc/shadow)"],
  ["Read(~/.ssh/**)", "deny", "user", "Read(~/.ssh/**)"],
  ["Edit(/docs/**)", "allow", "project", "Edit(docs/**)"],
  ["Edit(/docs/**)", "allow", "user", undefined],
  ["Edit(/docs/**)", "deny", "user", "Edit(docs/**)"],
  ["Edit(文档/**)", "allow", "user", "Edit(文档/**)"],
  ["Edit(src/*.ts)", "allow", "user", undefined],
  ["Edit(src/*.ts)", "deny", "user", "Edit(src/*.ts)"],
  ["Edit(*.ts)", "allow", "user", "Edit(*.ts)"],
  ["Edit(src/**/*.ts)", "allow", "user", "Edit(src/**/*.ts)"],
  ["Edit(//*.ts)", "allow", "user", undefined],
  ["Edit(src/*/x.ts)", "allow", "user", undefined],
  ["Edit(a?.ts)", "allow", "user", undefined],
  ["Write(notes/**)", "allow", "user", "write_file(notes/**)"],
  ["Write(notes/**)", "deny", "user", "Write(notes/**)"],
  ["MultiEdit", "allow", "user", "multi_edit"],
  ["NotebookEdit", "ask", "user", "NotebookEdit"],
  ["WebFetch(domain:example.org)", "allow", "user", "web_fetch(https://example.org/*)"],
  ["WebFetch(domain:*.example.org)", "allow", "user", undefined],
  ["WebFetch(domain:example.org)", "deny", "user", "web_fetch(*example.org*)"],
  ["mcp__github", "allow", "user", "mcp__github"],
  ["mcp__github__get(x)", "allow", "user", undefined],
  ["mcp__github__get(x)", "deny", "user", "mcp__github__get"],
  ["Task(Explore)", "allow", "user", "Task(Explore)"],
  ["Agent(Explore)", "deny", "user", "Task(Explore)"],
  ["Skill(review)", "allow", "user", "Skill(review)"],
  ["Skill(review:*)", "allow", "user", undefined],
  ["Read(!x)", "deny", "user", undefined],
  ["Bash(", "deny", "user", undefined],
  ["", "allow", "user", undefined],
];

for (const [text, list, scope, wanted] of CASES) {
  Deno.test(`import: ${list} ${text} of the ${scope} → ${wanted ?? "left out"}`, () => {
    const result = claudeRule(text, list, scope);
    assertEquals("rule" in result ? result.rule : undefined, wanted);
  });
}

Deno.test("import: every translated rule parses without a warning", () => {
  const inner = fc.stringMatching(/^[a-z*?./:~!&|;"'\[\]{} $\\()]{0,12}$/);
  const tool = fc.constantFrom(
    "Bash",
    "Read",
    "Edit",
    "Write",
    "WebFetch",
    "Skill",
    "mcp__a__b",
    "Task",
    "Ghost",
  );
  fc.assert(
    fc.property(tool, inner, fc.constantFrom<RuleListName>("allow", "ask", "deny"), (name, what, list) => {
      const result: Translation = claudeRule(`${name}(${what})`, list, "user");
      if ("why" in result) return assert(result.why !== "");
      const read = readRule(result.rule);
      assert(!isFault(read) && lintRule(read) === undefined, `${name}(${what}) → ${result.rule}`);
    }),
    { seed: SEED },
  );
});
