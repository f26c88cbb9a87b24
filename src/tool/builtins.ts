/** The list of built-in tools, in the order in which the model sees them: one line per tool. */
import type { BuiltinTool } from "./builtin_tool.ts";
import { ASK } from "./builtin/ask/tool.ts";
import { COMPLETE_STEP, EXIT_PLAN_MODE } from "./builtin/exit_plan_mode/tool.ts";
import { BASH } from "./builtin/bash/tool.ts";
import { JOB_KILL, JOB_OUTPUT, JOBS } from "./builtin/jobs/tool.ts";
import { READ_ONLY_TASK, TASK, TASK_OUTPUT, TASK_STOP } from "./builtin/task/tool.ts";
import { TODO_READ, TODO_WRITE } from "./builtin/todo_write/tool.ts";
import { GLOB } from "./builtin/glob/tool.ts";
import { GREP } from "./builtin/grep/tool.ts";
import { LS } from "./builtin/ls/tool.ts";
import { READ_FILE } from "./builtin/read_file/tool.ts";
import { FILE_WRITERS } from "./file_writers.ts";
import { FORGET, MEMORY, REMEMBER } from "./builtin/memory/tool.ts";
import { HISTORY } from "./builtin/history/tool.ts";
import { SKILL } from "./builtin/skill/tool.ts";
import { UPDATE_GOAL } from "./builtin/update_goal/tool.ts";

export const BUILTINS: readonly BuiltinTool[] = [
  READ_FILE,
  ...FILE_WRITERS,
  LS,
  GLOB,
  GREP,
  BASH,
  JOB_OUTPUT,
  JOB_KILL,
  JOBS,
  TODO_WRITE,
  TODO_READ,
  EXIT_PLAN_MODE,
  COMPLETE_STEP,
  ASK,
  UPDATE_GOAL,
  SKILL,
  TASK,
  READ_ONLY_TASK,
  TASK_OUTPUT,
  TASK_STOP,
  HISTORY,
  MEMORY,
  REMEMBER,
  FORGET,
];
