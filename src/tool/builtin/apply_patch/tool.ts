import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };
import { patchReads, patchWrites } from "./parse.ts";

export const APPLY_PATCH = defineBuiltin({
  name: "apply_patch",
  description,
  properties: { patch: { type: "string" } },
  required: ["patch"],
  readOnly: false,
  title: ({ patch }) => message`patch ${patchWrites(String(patch))}`,
  synonyms: { input: "patch", diff: "patch", patchText: "patch", patch_text: "patch" },
  family: "Edit",
  runsIn: "worker",
  reads: ({ patch }) => patchReads(String(patch)),
  writes: ({ patch }) => patchWrites(String(patch)),
  load: async () => (await import("./apply_patch.ts")).applyPatch,
});
