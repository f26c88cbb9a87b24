export {
  carriedSkill,
  resolveSlash,
  type SkillActivation,
  Skills,
  type SkillsOptions,
  type SlashSkill,
} from "./activate.ts";
export { skillCatalogue } from "./catalogue.ts";
export { type SkillFinding, validateSkill } from "./validate.ts";
