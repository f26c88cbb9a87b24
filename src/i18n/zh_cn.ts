import { CatalogueTranslator } from "./translate.ts";
import sentences from "./zh-CN.json" with { type: "json" };

export const translator = new CatalogueTranslator(sentences);
