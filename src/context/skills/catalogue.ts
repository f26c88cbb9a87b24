import type { Skill } from "./skill.ts";
import { cutText } from "../../util/terminal_text.ts";

const MAX_LINE = 400;
const MAX_TOTAL = 12_000;

/**
 * The section of the system prompt that names the skills, one line each; undefined when there are none to
 * name.
 */
export function skillCatalogue(skills: readonly Skill[]): string | undefined {
  const lines: string[] = [];
  let left = MAX_TOTAL;
  const listed = skills.filter((skill) => skill.listed);
  for (const skill of listed) {
    const short = cutText(`- ${skill.name}: ${skill.description}`, MAX_LINE);
    if ((left -= short.length) < 0) break;
    lines.push(short);
  }
  if (lines.length === 0) return undefined;
  const more = listed.length - lines.length;
  if (more > 0) lines.push(`- (${more} more; name one to the skill tool if you know it)`);
  return "# Skills\nInstructions for particular kinds of work. When a task fits one, load it with the skill tool before you " +
    `begin, and follow it.\n${lines.join("\n")}`;
}
