import { lineFigures } from "../../../view/mod.ts";
import { describeChange, dryRun, sum, writesDenied } from "../../file/commit.ts";
import { decodeText } from "../../text/encoding.ts";
import { failure, type FileChange, type ToolContext, type ToolResult } from "../../tool.ts";
import { executePlan } from "./execute.ts";
import { parsePatch } from "./parse.ts";
import { type FilePatch, PatchError } from "./patch.ts";
import { type PlannedFile, planPatch } from "./plan.ts";

export async function applyPatch(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  let patches: FilePatch[];
  try {
    patches = parsePatch(String(args.patch));
  } catch (error) {
    if (error instanceof PatchError) return failure(error.message);
    throw error;
  }
  const plan = await planPatch(context, patches);
  const changes = plan.files.flatMap((file) => changeOf(file, plan.files));
  if (changes.length === 0) return { content: "unchanged: the patch changes nothing", summary: "unchanged" };
  if (context.settings.writes === "dry-run") {
    return dryRun(changes.map(({ change }) => change), names(changes));
  }
  await executePlan(context, plan.files);
  const lines = changes.map(({ change, shown }) => `${change.change} ${shown} (${lineFigures(change)})`);
  const records = changes.map(({ change }) => change);
  const total = lineFigures({ added: sum(records, "added"), removed: sum(records, "removed") });
  return {
    content: [...lines, ...plan.notes].join("\n"),
    summary: records.length === 1 ? total : `${records.length} files ${total}`,
    changes: records,
  };
}

interface ShownChange {
  readonly change: FileChange;
  readonly shown: string;
}

function names(changes: readonly ShownChange[]): string {
  return changes.map((entry) => entry.shown).join(", ");
}

/** The record of one planned file; the source of a move is part of its target's record. */
function changeOf(file: PlannedFile, all: readonly PlannedFile[]): ShownChange[] {
  if (
    all.some((other) => other.movedFrom === file && other.after !== undefined) && file.after === undefined
  ) return [];
  const source = file.movedFrom ?? file;
  const before = textOf(source.before?.bytes);
  const after = textOf(file.after);
  if (file.after === undefined) {
    const { diff, removed } = describeChange(file, before, "");
    return [{
      change: {
        path: file.path,
        change: "deleted",
        added: 0,
        removed,
        ...(diff ? { diff: deletion(diff) } : {}),
      },
      shown: file.shown,
    }];
  }
  const record = describeChange(file, source.before ? before ?? "" : undefined, after ?? "");
  if (!file.movedFrom) return [{ change: record, shown: file.shown }];
  const change: FileChange = { ...record, change: "moved", from: file.movedFrom.path };
  return [{ change, shown: `${file.movedFrom.shown} → ${file.shown}` }];
}

function deletion(diff: string): string {
  return diff.replace(/^\+\+\+ .*$/m, "+++ /dev/null");
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && (decodeText(bytes)?.text ?? "");
}
