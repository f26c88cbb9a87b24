import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { type Arguments, texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const READ_FILE = defineBuiltin({
  name: "read_file",
  description,
  properties: {
    path: { type: "string" },
    offset: { type: "integer", minimum: 1, description: "First line, from 1" },
    limit: { type: "integer", minimum: 1, description: "Number of lines, 2000 if absent" },
  },
  required: ["path"],
  readOnly: true,
  title: ({ path, offset }) =>
    offset === undefined
      ? message`read ${String(path)}`
      : message`read ${String(path)} from line ${String(offset)}`,
  synonyms: { file_path: "path", filePath: "path", filename: "path" },
  unoffered: { last: { type: "integer", minimum: 1 } },
  translate: toolPage,
  family: "Read",
  reads: ({ path }) => texts(path),
  load: async () => (await import("./read_file.ts")).readFile,
});

/** `start_line` and `end_line`, `view_range`, and a negative offset, which counts from the end. */
function toolPage({ start_line, end_line, view_range, ...args }: Arguments): Arguments {
  const [first, last] = Array.isArray(view_range) ? view_range : [start_line, end_line];
  const offset = Number(args.offset ?? first ?? 1);
  if (Number.isInteger(offset) && offset < 0) return { ...args, offset: undefined, last: -offset };
  if (first === undefined && last === undefined) return args;
  const end = Number(last ?? -1);
  return {
    ...args,
    ...(first === undefined ? {} : { offset: first }),
    ...(end >= offset ? { limit: end - offset + 1 } : {}),
  };
}
