import texts from "./zh-CN.json" with { type: "json" };
import type { Catalogue } from "./translate.ts";

export const catalogue: Catalogue = texts;
