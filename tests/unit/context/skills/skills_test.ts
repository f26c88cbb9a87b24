import { findSkills, loadSkills, type SkillRoots, systemPrompt } from "../../../../src/context/mod.ts";
import { textOf } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, writeFiles } from "../../../support/tool_context.ts";

type Files = Record<string, string>;

const skill = (name: string, description: string, body = "Do it.") =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;

interface World extends AsyncDisposable {
  readonly path: string;
  readonly places: SkillRoots;
}

/** A project in `p`, a Reasonix home in `h`, a user's home in `u`. */
async function scene(files: Files): Promise<World> {
  const dir = await makeTempDir();
  const path = await Deno.realPath(dir.path);
  await writeFiles(path, { "p/.git/HEAD": "ref: refs/heads/main", "h/x": "", "u/x": "", ...files });
  return {
    path,
    places: { cwd: `${path}/p`, home: `${path}/h`, userHome: `${path}/u` },
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

Deno.test("findSkills reads every standard directory, sorted by name, project first", async () => {
  await using at = await scene({
    "p/.reasonix/skills/zeta/SKILL.md": skill("zeta", "Last"),
    "p/.claude/skills/both/SKILL.md": skill("both", "From the project"),
    "p/.agents/skills/group/inner/SKILL.md": skill("inner", "Nested"),
    "h/skills/both/SKILL.md": skill("both", "From the home"),
    "u/.claude/skills/mine/SKILL.md": skill("mine", "From the user"),
    "u/.agents/skills/alpha/SKILL.md": skill("alpha", "First"),
  });
  const set = await findSkills(at.places);
  assertEquals(set.skills.map((found) => [found.name, found.scope, found.description]), [
    ["alpha", "user", "First"],
    ["both", "project", "From the project"],
    ["inner", "project", "Nested"],
    ["mine", "user", "From the user"],
    ["zeta", "project", "Last"],
  ]);
  assertEquals(set.shadowed.map((found) => found.file), [`${at.path}/h/skills/both/SKILL.md`]);
  assertEquals(set.warnings, []);
});

Deno.test("findSkills searches from the working directory up to the repository root", async () => {
  await using at = await scene({
    ".claude/skills/outside/SKILL.md": skill("outside", "Not of this project"),
    "p/.claude/skills/root/SKILL.md": skill("root", "Of the repository"),
    "p/a/b/.claude/skills/near/SKILL.md": skill("near", "Of the directory"),
    "p/c/.claude/skills/other/SKILL.md": skill("other", "Of another directory"),
  });
  const set = await findSkills({ ...at.places, cwd: `${at.path}/p/a/b` });
  assertEquals(set.skills.map((found) => found.name), ["near", "root"]);
});

Deno.test("findSkills loads or skips invalid skills with a warning", async () => {
  const base = "p/.claude/skills";
  await using at = await scene({
    [`${base}/renamed/SKILL.md`]: skill("other-name", "Loads under its own name"),
    [`${base}/silent/SKILL.md`]: "---\nname: silent\n---\nNo description",
    [`${base}/colon/SKILL.md`]: "---\nname: colon\ndescription: Use when: asked\n---\nBody",
    [`${base}/unnamed/SKILL.md`]: "---\ndescription: Named like its directory\n---\n",
    [`${base}/block/SKILL.md`]:
      "---\nname: block\ndescription: >\n  Over\n  lines\nmetadata:\n  author: me\nallowed-tools: Read Bash(git:*)\n---\n",
    [`${base}/empty/README.md`]: "no skill",
  });
  const set = await findSkills(at.places);
  assertEquals(set.skills.map((found) => [found.name, found.description]), [
    ["block", "Over lines"],
    ["colon", "Use when: asked"],
    ["other-name", "Loads under its own name"],
    ["unnamed", "Named like its directory"],
  ]);
  assertEquals(set.skills[0]?.allowedTools, ["Read", "Bash(git:*)"]);
  const warned = set.warnings.map((warning) => warning.path.split("/").at(-2));
  assertEquals(warned, ["colon", "renamed", "silent"]);
});

Deno.test("findSkills applies paths, excluded paths and disabled skills", async () => {
  await using at = await scene({
    "extra/tool/SKILL.md": skill("tool", "Configured"),
    "u/.agents/skills/hidden/SKILL.md": skill("hidden", "Excluded"),
    "p/.claude/skills/review/SKILL.md": skill("review", "Disabled"),
  });
  const set = await findSkills({
    ...at.places,
    paths: [`${at.path}/extra`],
    excluded: [`${at.path}/u/.agents/skills`],
    disabled: ["review"],
  });
  assertEquals(set.skills.map((found) => [found.name, found.scope]), [["tool", "configured"]]);
});

Deno.test("findSkills rejects project links that leave the project and follows the user's", async () => {
  await using at = await scene({
    "shared/deploy/SKILL.md": skill("deploy", "Elsewhere"),
    "p/.claude/skills/own/SKILL.md": skill("own", "Here"),
    "u/.claude/skills/x": "",
  });
  await Deno.symlink(`${at.path}/shared/deploy`, `${at.path}/p/.claude/skills/deploy`);
  await Deno.symlink(`${at.path}/p/.claude`, `${at.path}/p/.reasonix`);
  await Deno.symlink(`${at.path}/shared`, `${at.path}/p/.agents`);
  await Deno.mkdir(`${at.path}/shared/skills`);
  const refused = await findSkills(at.places);
  assertEquals(refused.skills.map((found) => found.name), ["own"]);
  assertEquals(refused.warnings.map((warning) => warning.path.slice(at.path.length)), [
    "/p/.reasonix/skills/deploy",
    "/p/.agents/skills",
    "/p/.claude/skills/deploy",
  ]);
  await Deno.symlink(`${at.path}/shared/deploy`, `${at.path}/u/.claude/skills/deploy`);
  assertEquals((await findSkills(at.places)).skills.map((found) => found.name), ["deploy", "own"]);
});

Deno.test("skillCatalogue has one line per skill that the model can start, and the prompt contains it", async () => {
  await using at = await scene({
    "h/skills/a/SKILL.md": skill("a", "Makes an A"),
    "h/skills/b/SKILL.md": "---\nname: b\ndescription: For the user\ndisable-model-invocation: true\n---\n",
    "h/skills/long/SKILL.md": skill("long", "x".repeat(900)),
  });
  const { skillCatalogue } = await loadSkills();
  const { skills } = await findSkills(at.places);
  const catalogue = skillCatalogue(skills) ?? "";
  assertEquals(catalogue.split("\n").slice(2).map((line) => line.slice(0, 13)), [
    "- a: Makes an",
    "- long: xxxxx",
  ]);
  assert(catalogue.length < 1_000);
  assertStringIncludes(systemPrompt({ instructions: [], skills: catalogue }), catalogue);
  assertEquals(skillCatalogue([]), undefined);
});

Deno.test("Skills.activate returns the body, its arguments and the files of the directory", async () => {
  await using at = await scene({
    "h/skills/pdf/SKILL.md": skill("pdf", "Reads PDF", "Run scripts/a.py on $ARGUMENTS."),
    "h/skills/pdf/scripts/a.py": "print()",
    "h/skills/pdf/references/form.md": "form",
  });
  const { Skills } = await loadSkills();
  const skills = new Skills({ set: await findSkills(at.places) });
  const active = await skills.activate("pdf", "x.pdf");
  assertEquals(
    typeof active === "string" ? active : active.content,
    `<skill name="pdf" folder="${at.path}/h/skills/pdf">\nRun scripts/a.py on x.pdf.\n\nFiles beside it, to be read when ` +
      "the instructions call for them: references/form.md, scripts/a.py\n</skill>",
  );
  assertEquals(await skills.activate("pfd"), 'There is no skill "pfd"; did you mean pdf?');
});

Deno.test("Skills.activate reports instructions that are already in the conversation", async () => {
  await using at = await scene({ "h/skills/a/SKILL.md": skill("a", "A") });
  const { Skills } = await loadSkills();
  const messages: { role: "user"; content: string }[] = [];
  const skills = new Skills({ set: await findSkills(at.places), messages: () => messages });
  const first = await skills.activate("a");
  assert(typeof first !== "string");
  messages.push({ role: "user", content: first.content });
  const second = await skills.activate("a");
  assertEquals(typeof second === "string" ? second : textOf(second.summary), "already loaded");
});

Deno.test("scripts of a project are unavailable until they are trusted", async () => {
  await using at = await scene({
    "p/.claude/skills/run/SKILL.md": skill("run", "Runs"),
    "p/.claude/skills/run/scripts/go.sh": "echo",
    "p/.claude/skills/run/notes.md": "notes",
  });
  const { Skills } = await loadSkills();
  const set = await findSkills(at.places);
  const asked: unknown[] = [];
  for (const trusted of [false, true]) {
    const skills = new Skills({ set, isTrusted: (item) => Promise.resolve((asked.push(item), trusted)) });
    const active = await skills.activate("run");
    const content = typeof active === "string" ? active : active.content;
    assertStringIncludes(content, "notes.md");
    assertEquals(content.includes("go.sh"), trusted);
    assertEquals(content.includes("do not run them"), !trusted);
  }
  const dir = `${at.path}/p/.claude/skills/run`;
  assertEquals(asked[0], {
    kind: "skill",
    name: "run",
    definition: { dir },
    files: [`${dir}/scripts/go.sh`],
    place: { file: dir },
    lines: ["its scripts: scripts/go.sh"],
  });
  assertEquals(new Skills({ set }).trustItems(), [asked[0]]);
});

Deno.test("Skills reports each activation and the use of allowed-tools", async () => {
  const head = "---\ndescription: x\nallowed-tools: Bash(git add:*), Read\n---\n";
  await using at = await scene({ "p/.agents/skills/own/SKILL.md": head, "h/skills/mine/SKILL.md": head });
  const { Skills } = await loadSkills();
  const sent: unknown[] = [];
  const skills = new Skills({
    set: await findSkills(at.places),
    onActivate: ({ skill, approved }) => sent.push([skill.name, skill.allowedTools, approved]),
  });
  for (const name of ["own", "mine", "gone"]) await skills.activate(name);
  assertEquals(sent, [
    ["own", ["Bash(git add:*)", "Read"], false],
    ["mine", ["Bash(git add:*)", "Read"], true],
  ]);
  const dir = `${at.path}/p/.agents/skills/own`;
  assertEquals(skills.trustItems(), [{
    kind: "skill",
    name: "own",
    definition: { dir, allowedTools: ["Bash(git add:*)", "Read"] },
    files: [`${dir}/SKILL.md`],
    place: { file: dir },
    lines: ["while it is active, without a question: Bash(git add:*), Read"],
  }]);
});

Deno.test("resolveSlash activates only the skill at the beginning of a task", async () => {
  await using at = await scene({
    "h/skills/fix/SKILL.md": skill("fix", "Fixes"),
    "h/skills/inner/SKILL.md": "---\nname: inner\ndescription: x\nuser-invocable: false\n---\n",
  });
  const { resolveSlash, Skills } = await loadSkills();
  const skills = new Skills({ set: await findSkills(at.places) });
  const found = await resolveSlash("/fix issue 12\nand 13", skills);
  assertEquals(found?.skill.name, "fix");
  assertStringIncludes(found?.context ?? "", "Arguments: issue 12\nand 13");
  for (const text of ["/etc/hosts is wrong", "please /fix", "/fixx", "/inner", "/"]) {
    assertEquals(await resolveSlash(text, skills), undefined);
  }
});

Deno.test("validateSkill reports every violation of the specification", async () => {
  await using at = await scene({
    "h/skills/good/SKILL.md": skill("good", "Good", "See [more](more.md)."),
    "h/skills/good/more.md": "",
    "h/skills/Bad/SKILL.md": `---\nname: Not Good\ndescription: ${
      "x".repeat(1_100)
    }\nversion: 1\n---\n[gone](gone.md)`,
    "h/skills/none/SKILL.md": "just text",
  });
  const { validateSkill } = await loadSkills();
  assertEquals(validateSkill(`${at.path}/h/skills/good`), []);
  const bad = validateSkill(`${at.path}/h/skills/Bad`).map((finding) => `${finding.level}: ${finding.text}`);
  assertEquals(bad.length, 5);
  assertStringIncludes(bad.join("\n"), "warning: names gone.md, which does not exist");
  assertStringIncludes(bad.join("\n"), "error: description has 1100 characters");
  assertEquals(validateSkill(`${at.path}/h/skills/none`).map((finding) => finding.level), [
    "error",
    "error",
    "error",
  ]);
  assertStringIncludes(validateSkill(`${at.path}/nowhere`)[0]?.text ?? "", "cannot be read");
});

Deno.test("discovery omits a project skill whose file links out of the project", async () => {
  await using at = await scene({ "private/note": skill("note", "private"), "p/.reasonix/skills/note/x": "" });
  await Deno.symlink(`${at.path}/private/note`, `${at.path}/p/.reasonix/skills/note/SKILL.md`);
  const { skills, warnings } = await findSkills(at.places);
  assertEquals(skills, []);
  assertEquals(warnings.map((warning) => warning.path), [`${at.path}/p/.reasonix/skills/note/SKILL.md`]);
});
