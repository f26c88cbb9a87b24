import { message } from "../../../core/mod.ts";
import editFileText from "./description.md" with { type: "text" };
import multiEditText from "./multi_edit.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import { EDIT_NAMES } from "../../third_party_calls.ts";
import { texts } from "../../tool.ts";

export const EDIT_FILE = defineBuiltin({
  name: "edit_file",
  description: editFileText,
  properties: {
    path: { type: "string" },
    old_string: { type: "string", description: "Exact text, without line numbers" },
    new_string: { type: "string" },
    replace_all: { type: "boolean" },
  },
  required: ["path", "old_string", "new_string"],
  readOnly: false,
  title: ({ path }) => message`edit ${String(path)}`,
  synonyms: {
    file_path: "path",
    filePath: "path",
    ...EDIT_NAMES,
    expected_replacements: null,
    instruction: null,
  },
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("../../edit/edit_file.ts")).editFile,
});

export const MULTI_EDIT = defineBuiltin({
  name: "multi_edit",
  description: multiEditText,
  properties: {
    path: { type: "string" },
    edits: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: {
          old_string: { type: "string" },
          new_string: { type: "string" },
          replace_all: { type: "boolean" },
        },
        required: ["old_string", "new_string"],
        additionalProperties: false,
      },
    },
  },
  required: ["path", "edits"],
  readOnly: false,
  title: ({ path }) => message`edit ${String(path)}`,
  synonyms: { file_path: "path", filePath: "path" },
  translate: (args) => ({
    ...args,
    ...(Array.isArray(args.edits) ? { edits: args.edits.map(toolNames) } : {}),
  }),
  family: "Edit",
  runsIn: "worker",
  reads: ({ path }) => texts(path),
  writes: ({ path }) => texts(path),
  load: async () => (await import("../../edit/edit_file.ts")).multiEdit,
});

function toolNames(edit: unknown): unknown {
  if (typeof edit !== "object" || edit === null) return edit;
  return Object.fromEntries(Object.entries(edit).map(([name, value]) => [EDIT_NAMES[name] ?? name, value]));
}
