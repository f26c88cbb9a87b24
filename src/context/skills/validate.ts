import { errorMessage } from "../../core/mod.ts";
import { isProblem, parseRule } from "../../rule/mod.ts";
import { type Frontmatter, listField, parseFrontmatter, textField } from "../../util/frontmatter.ts";

export interface SkillFinding {
  /** The SKILL.md, or the directory without one. */
  readonly path: string;
  readonly level: "error" | "warning";
  readonly line?: number;
  readonly text: string;
}

const KNOWN = new Set([
  "name",
  "description",
  "license",
  "compatibility",
  "metadata",
  "allowed-tools",
  "argument-hint",
  "model",
  "run-as",
  "runAs",
  "context",
  "disable-model-invocation",
  "user-invocable",
]);
const MAX_LINES = 500;

/** Checks one skill directory against the Agent Skills specification, more strictly than loading does. */
export function validateSkill(dir: string): SkillFinding[] {
  const path = `${dir}/SKILL.md`;
  const findings: SkillFinding[] = [];
  const find = (level: SkillFinding["level"], text: string, line?: number) =>
    findings.push({ path, level, ...(line === undefined ? {} : { line }), text });
  let head: Frontmatter;
  try {
    head = parseFrontmatter(Deno.readTextFileSync(path));
  } catch (error) {
    find("error", `cannot be read: ${errorMessage(error)}`);
    return findings;
  }
  if (Object.keys(head.fields).length === 0) {
    find("error", "has no frontmatter; begin it with --- and name and description", 1);
  }
  for (const problem of head.problems) find("error", problem.text, problem.line);
  checkName(head, dir, find);
  checkText(head, "description", 1_024, find);
  if ((textField(head, "description") ?? "").trim() === "") find("error", "description is missing");
  checkText(head, "compatibility", 500, find);
  for (const key of Object.keys(head.fields)) {
    if (!KNOWN.has(key)) find("warning", `${key} is not a field of the specification; put it under metadata`);
  }
  checkRules(head, find);
  checkBody(head.body, dir, find);
  return findings;
}

type Find = (level: SkillFinding["level"], text: string, line?: number) => void;

function checkName(head: Frontmatter, dir: string, find: Find): void {
  const name = textField(head, "name");
  const directory = dir.split(/[\\/]/).at(-1);
  if (name === undefined || name === "") return find("error", "name is missing");
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || name.length > 64) {
    find(
      "error",
      `name "${name}" must be 1 to 64 lowercase letters and digits with single hyphens between them`,
    );
  }
  if (name !== directory) find("error", `name "${name}" must be the name of the directory, "${directory}"`);
}

function checkText(head: Frontmatter, key: string, max: number, find: Find): void {
  const length = textField(head, key)?.length ?? 0;
  if (length > max) find("error", `${key} has ${length} characters; at most ${max} are allowed`);
}

function checkRules(head: Frontmatter, find: Find): void {
  for (const text of listField(head, "allowed-tools")) {
    const rule = parseRule({ text }, "allow");
    if (isProblem(rule)) find("warning", `allowed-tools: ${rule.message}`);
    else if (rule.tool === "*") find("warning", "allowed-tools: a rule for every tool has no effect");
  }
}

function checkBody(body: string, dir: string, find: Find): void {
  if (body.trim() === "") find("warning", "has no instructions after the frontmatter");
  const lines = body.split("\n").length;
  if (lines > MAX_LINES) {
    find("warning", `has ${lines} lines; move parts to files next to it that are read on demand`);
  }
  for (const match of body.matchAll(/\]\((?!\w+:|#|\/)([^)\s#]+)/g)) {
    const target = match[1] ?? "";
    try {
      Deno.statSync(`${dir}/${target}`);
    } catch {
      find("warning", `names ${target}, which does not exist`);
    }
  }
}
