/**
 * The built-in tools that change files, in the order in which the model sees them. Their process loads no
 * others.
 */
import type { BuiltinTool } from "./builtin_tool.ts";
import { APPLY_PATCH } from "./builtin/apply_patch/tool.ts";
import { EDIT_FILE, MULTI_EDIT } from "./builtin/edit_file/tool.ts";
import { MOVE_FILE } from "./builtin/move_file/tool.ts";
import { WRITE_FILE } from "./builtin/write_file/tool.ts";

export const FILE_WRITERS: readonly BuiltinTool[] = [
  WRITE_FILE,
  EDIT_FILE,
  MULTI_EDIT,
  APPLY_PATCH,
  MOVE_FILE,
];
