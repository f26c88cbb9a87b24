import { parseTree } from "jsonc-parser";
import { message, usageError } from "../core/mod.ts";
import PROMPT from "./swe_bench.md" with { type: "text" };
import { type BatchTask, type Entry, type Fields, isText, linesOf, readEntries } from "./task.ts";

/**
 * The tasks of SWE-bench instances: a JSON array, or one instance a line. Hints stay out, as the benchmark
 * asks. Throws a ReasonixError (usage) that lists what is wrong.
 */
export function readSweBench(text: string, { file }: { readonly file: string }): BatchTask[] {
  const plain = text.replace(/^\ufeff/, "");
  const entries = /^\s*\[/.test(plain) ? elementsOf(plain, file) : linesOf(plain);
  return readEntries(entries, { file, text: plain }, readInstance);
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** Fields that are texts where they are there, and have no meaning for a task. */
const UNUSED = ["hints_text", "version", "environment_setup_commit"];

function readInstance(fields: Fields): BatchTask {
  const id = fields.text("instance_id");
  if (id !== "" && !/^[\w.-]{1,200}$/.test(id)) {
    fields.refuse(["instance_id"], "the instance_id is not made of letters, digits, dots and dashes");
  }
  const repo = fields.text("repo");
  if (repo !== "" && !/^[\w.-]+\/[\w.-]+$/.test(repo)) {
    fields.refuse(["repo"], "the repo is not OWNER/NAME");
  }
  const ref = fields.text("base_commit");
  if (ref !== "" && !COMMIT.test(ref)) fields.refuse(["base_commit"], "the base_commit is no whole commit");
  const problem = fields.text("problem_statement");
  for (const name of UNUSED) {
    const value = fields.value[name];
    if (value !== undefined && value !== null && typeof value !== "string") {
      fields.refuse([name], `the ${name} is no text`);
    }
  }
  const image = ["image_name", "docker_image"].map((name) => fields.value[name]).find(isText);
  return {
    id,
    prompt: PROMPT.trim().replace("ISSUE", () => problem.trim()),
    dir: "",
    checks: [],
    repo: `https://github.com/${repo}`,
    ref,
    image: image ?? imageOf(id),
  };
}

/** The published image of an instance: `__` cannot be in the name of one. */
function imageOf(id: string): string {
  return `swebench/sweb.eval.x86_64.${id.replaceAll("__", "_1776_")}:latest`.toLowerCase();
}

/** The elements of a JSON array, as texts. */
function elementsOf(text: string, file: string): Entry[] {
  try {
    JSON.parse(text);
  } catch {
    throw usageError(
      message`Cannot run the tasks of ${file}: it begins as a JSON array and is not one`,
      message`give an array of instances, or one instance a line`,
    );
  }
  const { children = [] } = parseTree(text) ?? {};
  return children.map(({ offset, length }) => ({ raw: text.slice(offset, offset + length), offset }));
}
