import { withBundleRoot } from "../../config/mod.ts";
import { errorMessage, type Message, message } from "../../core/mod.ts";
import type { ActivatedSkill, SkillPort } from "../../tool/mod.ts";
import type { TrustItem } from "../../trust/mod.ts";
import { parseFrontmatter } from "../../util/frontmatter.ts";
import { suggestNames } from "../../util/suggest.ts";
import type { SkillSet } from "./discover.ts";
import type { Skill } from "./skill.ts";
import { sortedEntries } from "../../path/probe.ts";

export interface SkillActivation {
  readonly skill: Skill;
  /** True when its `allowed-tools` count: a project's only when the user trusts it. */
  readonly approved: boolean;
}

export interface SkillsOptions {
  readonly set: SkillSet;
  /** Reports whether the user trusts these scripts; absent: no project's scripts are trusted. */
  readonly isTrusted?: (item: TrustItem) => Promise<boolean>;
  /** Called for each activation before its instructions are given. */
  readonly onActivate?: (activation: SkillActivation) => void;
  /** The conversation, to find what is already in it. */
  readonly messages?: () => readonly Message[];
}

const MAX_BODY = 48 * 1024;
const MAX_LISTED = 40;

/** The skills of a session: what the `skill` tool and `/name` activate. */
export class Skills implements SkillPort {
  readonly set: SkillSet;
  readonly #options: SkillsOptions;

  constructor(options: SkillsOptions) {
    this.set = options.set;
    this.#options = options;
  }

  /** The instructions of a skill; a string says why there are none. */
  async activate(name: string, args?: string): Promise<ActivatedSkill | string> {
    const skill = this.set.skills.find((candidate) => candidate.name === name);
    if (!skill) return this.#unknown(name);
    let body: string;
    try {
      const text = withBundleRoot(await Deno.readTextFile(skill.file), skill.bundle?.root);
      body = parseFrontmatter(text).body.trim();
    } catch (error) {
      return `Skill ${name} could not be read: ${errorMessage(error)}`;
    }
    const files = resourcesOf(skill);
    const item = trustItem(skill, files.filter(isScript));
    const trusted = item === undefined || await this.#options.isTrusted?.(item) === true;
    this.#options.onActivate?.({ skill, approved: trusted });
    const content = contentOf(skill, withArguments(body, args), { files, trusted });
    if (this.#options.messages?.().some((message) => message.content === content)) {
      return {
        content: `Skill ${name} is already loaded: follow the instructions above`,
        summary: message`already loaded`,
      };
    }
    return { content, summary: name };
  }

  #unknown(name: string): string {
    const names = this.set.skills.filter(({ listed }) => listed).map((skill) => skill.name);
    const near = suggestNames(name, names, 3);
    if (near.length > 0) return `There is no skill "${name}"; did you mean ${near.join(" or ")}?`;
    return names.length === 0
      ? `There is no skill "${name}"`
      : `There is no skill "${name}"; there are ${names.join(", ")}`;
  }

  /** Returns what waits for the user's trust among the project's skills, for `reasonix trust`. */
  trustItems(): TrustItem[] {
    return this.set.skills.flatMap((skill) => trustItem(skill, resourcesOf(skill).filter(isScript)) ?? []);
  }
}

function contentOf(
  skill: Skill,
  body: string,
  { files, trusted }: { files: readonly string[]; trusted: boolean },
): string {
  const usable = trusted ? files : files.filter((file) => !isScript(file));
  const parts = [
    body.length > MAX_BODY ? `${body.slice(0, MAX_BODY)}\n[cut; read ${skill.file} for the rest]` : body,
  ];
  if (usable.length > 0) {
    const more = usable.length > MAX_LISTED ? `, and ${usable.length - MAX_LISTED} more` : "";
    parts.push(
      `Files beside it, to be read when the instructions call for them: ${
        usable.slice(0, MAX_LISTED).join(", ")
      }${more}`,
    );
  }
  if (usable.length < files.length) {
    parts.push(
      "The scripts of this skill come with the project and the user has not trusted them: do not run them.",
    );
  }
  return `<skill name="${skill.name}" folder="${skill.dir}">\n${parts.join("\n\n")}\n</skill>`;
}

/**
 * Makes the trust item of a skill of the project; undefined when nothing about it needs trust. Its
 * instructions are part of the item where they can use the tools that it pre-approves.
 */
function trustItem(skill: Skill, scripts: readonly string[]): TrustItem | undefined {
  const { name, dir, file, scope, allowedTools } = skill;
  if (scope !== "project" || scripts.length + allowedTools.length === 0) return undefined;
  const rules = allowedTools.length > 0;
  return {
    kind: "skill",
    name,
    definition: { dir, ...(rules ? { allowedTools } : {}) },
    files: [...(rules ? [file] : []), ...scripts.map((path) => `${dir}/${path}`)],
    place: { file: dir },
    lines: [
      ...(rules ? [`while it is active, without a question: ${allowedTools.join(", ")}`] : []),
      ...(scripts.length > 0 ? [`its scripts: ${scripts.join(", ")}`] : []),
    ],
  };
}

function withArguments(body: string, args: string | undefined): string {
  if (args === undefined || args.trim() === "") return body.replaceAll("$ARGUMENTS", "");
  return body.includes("$ARGUMENTS")
    ? body.replaceAll("$ARGUMENTS", () => args)
    : `${body}\n\nArguments: ${args}`;
}

/** The skill that a line beginning with `/name` activates. */
export interface SlashSkill {
  readonly skill: Skill;
  /** To be recorded as a context message before the turn, so that it outlives every compaction. */
  readonly context: string;
}

/** The skill that a task like `/name args` asks for; undefined when it names none that the user may start. */
export async function resolveSlash(text: string, skills: Skills): Promise<SlashSkill | undefined> {
  const match = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const skill = skills.set.skills.find((candidate) => candidate.slash && candidate.name === match?.[1]);
  if (!skill) return undefined;
  if (skill.runAs === "subagent") return { skill, context: delegation(skill) };
  const active = await skills.activate(skill.name, match?.[2]);
  return typeof active === "string" ? undefined : { skill, context: active.content };
}

/** The message to the model about a skill that an agent executes. */
function delegation({ name }: Skill): string {
  return `<skill name="${name}">\nThe user asks for this skill, which an agent works on: call task with agent ` +
    `"${name}" and a prompt that says all it needs to know.\n</skill>`;
}

/**
 * For `CompactionOptions.carry`: an activated body outlives every compaction. Only the skill tool's own
 * results count.
 */
export function carriedSkill(message: Message): string | undefined {
  if (message.role !== "tool" || message.name !== "skill") return undefined;
  return message.content.startsWith('<skill name="') ? message.content : undefined;
}

const MAX_FILES = 200;
const MAX_DEPTH = 3;
const SCRIPT = /\.(?:sh|bash|zsh|fish|py|rb|pl|js|mjs|cjs|ts|mts|ps1|bat|cmd|exe|lua|php)$|^scripts\/|^bin\//;

/** Files of a skill in addition to its SKILL.md, relative to its directory, in a stable order. */
function resourcesOf(skill: Pick<Skill, "dir">): string[] {
  const files: string[] = [];
  const visit = (directory: string, prefix: string, depth: number): void => {
    for (const entry of sortedEntries(directory)) {
      if (entry.name.startsWith(".") || entry.isSymlink || files.length >= MAX_FILES) continue;
      if (entry.isDirectory && depth < MAX_DEPTH) {
        visit(`${directory}/${entry.name}`, `${prefix}${entry.name}/`, depth + 1);
      } else if (entry.isFile && `${prefix}${entry.name}` !== "SKILL.md") {
        files.push(`${prefix}${entry.name}`);
      }
    }
  };
  visit(skill.dir, "", 0);
  return files;
}

/** Reports whether a resource is meant to be run. */
function isScript(path: string): boolean {
  return SCRIPT.test(path);
}
