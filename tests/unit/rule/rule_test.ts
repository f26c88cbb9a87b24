import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { isProblem, parseRule, type Rule } from "../../../src/rule/mod.ts";
import { bash, call, scene } from "../permission/scene.ts";

function rule(text: string): Rule {
  const parsed = parseRule({ text }, "deny");
  assert(!isProblem(parsed), text);
  return parsed;
}

function problem(text: string): string {
  const parsed = parseRule({ text, origin: "reasonix.toml:3:1" }, "allow");
  assert(isProblem(parsed), text);
  assertEquals([parsed.rule, parsed.origin], [text, "reasonix.toml:3:1"]);
  return `${parsed.message}. ${parsed.remedy}`;
}

Deno.test("parseRule supports families, legacy names and names of other systems", () => {
  const targets = (text: string) => rule(text).family ?? rule(text).tool;
  assertEquals(
    [
      "Bash",
      "bash",
      "Read",
      "Edit(x)",
      "Write(x)",
      "MultiEdit",
      "read_file",
      "Grep(x)",
      "LS",
      "WebFetch",
      "Mcp",
      "*",
    ]
      .map(targets),
    ["Bash", "Bash", "Read", "Edit", "Edit", "Edit", "read_file", "grep", "ls", "WebFetch", "Mcp", "*"],
  );
  assertEquals(["TodoWrite", "Skill", "BashOutput", "KillShell"].map(targets), [
    "todo_write",
    "skill",
    "job_output",
    "job_kill",
  ]);
  assertEquals(targets("mcp__github__*"), "mcp__github__*");
  assertEquals(targets("Mcp(github)"), "mcp__github");
});

Deno.test("parseRule reads literal rules unchanged", () => {
  assertEquals(rule("bash=echo * | x").spec, { kind: "literal", text: "echo * | x" });
  assertEquals(rule("read_file=a(b).txt").spec, { kind: "literal", text: "a(b).txt" });
});

Deno.test("parseRule treats Tool(*) as Tool", () => {
  assertEquals(rule("Bash(*)").spec, undefined);
});

Deno.test("parseRule reports the error and the correct form", () => {
  assertStringIncludes(problem("Bsh(x)"), "did you mean Bash?");
  assertStringIncludes(problem("Raed"), "did you mean Read?");
  assertStringIncludes(problem("Frobnicate(x)"), "use Bash, Read, Edit, Mcp or a tool's own name");
  assertStringIncludes(problem("Bash(x"), "both parentheses");
  assertStringIncludes(problem("Bash()"), "write Bash alone");
  assertStringIncludes(problem("  "), "empty permission rule");
});

Deno.test("createGate reports invalid rules and continues without them", async () => {
  const { gate } = scene("/w", { deny: ["Bsh(x)", "Bash(x)"] });
  assertEquals(gate.problems.map((each) => [each.rule, each.list]), [["Bsh(x)", "deny"]]);
  assertEquals((await gate.check(bash("x"), new AbortController().signal)).decision, "deny");
});

/** Reports whether a tool call is denied by the rule. */
async function denied(text: string, name: string, args: Record<string, unknown> = {}): Promise<boolean> {
  const { gate } = scene("/w", { deny: [text] });
  return (await gate.check(call(name, args), new AbortController().signal)).decision === "deny";
}

Deno.test("a rule applies to the tools it names", async () => {
  const cases: [string, string, Record<string, unknown>, boolean][] = [
    ["Edit", "write_file", { path: "a" }, true],
    ["Edit", "apply_patch", { patch: "" }, true],
    ["Edit", "read_file", { path: "a" }, false],
    ["Read", "grep", { pattern: "x" }, true],
    ["Read", "bash", { command: "x" }, false],
    ["write_file", "edit_file", { path: "a" }, false],
    ["edit_file(a)", "edit_file", { path: "a" }, true],
    ["Mcp", "mcp__github__search", {}, true],
    ["Mcp", "github", {}, false],
    ["mcp__github", "mcp__github__search", {}, true],
    ["mcp__github", "mcp__githubby__search", {}, false],
    ["mcp__github__*", "mcp__github__search", {}, true],
    ["mcp__github__search", "mcp__github__search", {}, true],
    ["mcp__github__search", "mcp__github__searchx", {}, false],
    ["Mcp(github__s*)", "mcp__github__search", {}, true],
    ["Mcp(my.server)", "mcp__my_server__search_k6espw", {}, true],
    ["Mcp(my server__search)", "mcp__my_server__search", {}, true],
    ["Mcp(文档)", "mcp______search_v82iw1", {}, true],
    ["mcp__my.server", "mcp__my_server__search_k6espw", {}, true],
    ["mcp__my.server__s*", "mcp__my_server__search_k6espw", {}, true],
    ["mcp__my.server", "mcp__my_serverx__search", {}, false],
    ["mcp__fs__read(/etc/*)", "mcp__fs__read", { path: "/etc/passwd" }, true],
    ["mcp__fs__read(/etc/*)", "mcp__fs__read", { path: "/usr" }, false],
    ["web_fetch(https://x.example/*)", "web_fetch", { url: "https://x.example/a" }, true],
    ["grep(secret*)", "grep", { pattern: "secret_key" }, true],
    ["grep=a", "grep", { pattern: "a" }, true],
    ["grep=a", "grep", { pattern: "ab" }, false],
    ["*", "anything", {}, true],
    ["todo_write", "todo_write", {}, true],
  ];
  for (const [text, name, args, expected] of cases) {
    assertEquals(await denied(text, name, args), expected, `${text} on ${name} ${JSON.stringify(args)}`);
  }
});

Deno.test("path rules check every file of a call", async () => {
  const patch = "*** Begin Patch\n*** Update File: ok.txt\n*** Move to: secret/b\n*** End Patch";
  const diff = "--- a/secret/x\n+++ /dev/null\n";
  const cases: [string, Record<string, unknown>, boolean][] = [
    ["move_file", { source_path: "a", destination_path: "secret/b" }, true],
    ["move_file", { source_path: "secret/a", destination_path: "b" }, true],
    ["apply_patch", { patch }, true],
    ["apply_patch", { input: diff }, true],
    ["apply_patch", { patch: patch.replace("secret/", "") }, false],
    ["multi_edit", { path: "secret/b", edits: [{ old_string: "a", new_string: "b" }] }, true],
  ];
  for (const [name, args, expected] of cases) {
    assertEquals(await denied("Edit(secret/**)", name, args), expected, `${name} ${JSON.stringify(args)}`);
  }
});
