export {
  carriedSkill,
  resolveSlash,
  Skills,
  type SkillsOptions,
  type SkillTrustItem,
  type SlashSkill,
} from "./activate.ts";
export { skillCatalogue } from "./catalogue.ts";
export { type SkillFinding, validateSkill } from "./validate.ts";
