import type { FlagParametersForType } from "@stricli/core";
import { ReasonixError } from "../../src/core/mod.ts";
import type { BatchFlags } from "../commands/run/config.ts";
import type { CliContext } from "../terminal/process.ts";

/** Each task is a process, which takes some 100 MB. */
const MOST_JOBS = 64;

function jobs(value: string): number {
  const count = Number(value);
  if (Number.isSafeInteger(count) && count >= 1 && count <= MOST_JOBS) return count;
  throw new ReasonixError(`Cannot use "${value}" for --jobs: give a whole number from 1 to ${MOST_JOBS}`, {
    exit: "usage",
  });
}

const text = (value: string) => value;

/** Flags of `reasonix run` for many tasks at once. */
export const BATCH_FLAGS: FlagParametersForType<BatchFlags, CliContext> = {
  tasks: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "file",
    brief: "Do each task of a JSONL file",
  },
  jobs: {
    kind: "parsed",
    parse: jobs,
    optional: true,
    placeholder: "n",
    brief: "Run N tasks at the same time; default: 4",
  },
  worktree: { kind: "boolean", optional: true, withNegated: false, brief: "Give each task a git work tree" },
  results: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "file",
    brief: "Write the results to a file",
  },
  fresh: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Redo tasks that are already finished",
  },
};
