import type { AgentDefinition } from "../../context/mod.ts";
import { errorMessage, newNotice, type PreparedCall, ReasonixError, textOf } from "../../core/mod.ts";
import { createWorktree, type Worktree, type WorktreePatch } from "../../worktree/mod.ts";
import type { RunContext, RunPaths } from "../../run/mod.ts";

/** A work tree in which an agent works, whose changes come back as a patch. */
export interface Isolation {
  readonly paths: RunPaths;
  /**
   * Brings the changes to the files of the run, through its gate, and removes the work tree. What the model
   * should know of it, a line each. Never rejects.
   */
  readonly end: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** Makes a work tree for an agent. Throws a ReasonixError that says why it could not. */
export async function isolate(
  run: RunContext,
  { name }: AgentDefinition,
  id: string,
): Promise<Isolation> {
  const { paths, recorder } = run;
  const worktree = await createWorktree({ cwd: paths.cwd, home: paths.home, id });
  const end = async (signal: AbortSignal) => {
    try {
      return await applyChanges(run, worktree, { name, id, signal });
    } catch (error) {
      return [`Its changes are lost: ${errorMessage(error)}`];
    } finally {
      await worktree.remove().catch((error) => {
        const text = `Cannot remove the work tree of agent ${name}: ${
          errorMessage(error)
        }; the next one tries again`;
        void recorder.record(newNotice("warning", "agents", text));
      });
    }
  };
  return { paths: { ...paths, cwd: worktree.cwd }, end };
}

interface Bringing {
  readonly name: string;
  readonly id: string;
  readonly signal: AbortSignal;
}

async function applyChanges(
  run: RunContext,
  worktree: Worktree,
  { name, id, signal }: Bringing,
): Promise<readonly string[]> {
  const patch = await worktree.diff();
  if (patch.bytes === 0) return ["It worked in a separate work tree and changed nothing."];
  const files = patch.files.join(", ");
  const why = await refusal(run, worktree, patch, { name, id, signal });
  if (why === undefined) return [`Its changes, made in a separate work tree, are applied: ${files}`];
  const kept = `${run.session.paths.dir}/outputs/${id}.patch`;
  await Deno.mkdir(kept.slice(0, kept.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  await Deno.copyFile(patch.file, kept);
  return [`Its changes of ${files} are not applied: ${why}. The patch is ${kept}`];
}

/** Applies the patch as an edit that the gate of the run has judged; returns why not. */
async function refusal(
  { gate }: RunContext,
  worktree: Worktree,
  patch: WorktreePatch,
  { name, id, signal }: Bringing,
): Promise<string | undefined> {
  if (signal.aborted) return "the turn was stopped";
  const problem = await worktree.problemOf(patch);
  if (problem !== undefined) return `they do not fit the files as they are now (${problem})`;
  const { decision, reason } = await gate.check(await editOf(worktree, patch, { name, id }), signal);
  if (decision === "deny") return textOf(reason ?? "refused");
  try {
    await worktree.applyToParent(patch);
  } catch (error) {
    if (error instanceof ReasonixError) return error.message;
    throw error;
  }
}

async function editOf(
  { record: { top } }: Worktree,
  { file, files }: WorktreePatch,
  { name, id }: Pick<Bringing, "name" | "id">,
): Promise<PreparedCall> {
  const args = { patch: await Deno.readTextFile(file) };
  const writes = files.map((path) => `${top}/${path}`);
  return {
    call: { id: `${id}/patch`, name: "apply_patch", arguments: JSON.stringify(args) },
    tool: "apply_patch",
    args,
    title: `apply the changes of agent ${name}`,
    family: "Edit",
    readOnly: false,
    planSafe: false,
    reads: [],
    writes,
    subjects: [],
    runsIn: "worker",
  };
}
