/** A change of one file in the formats that models write. */
import { structuredPatch } from "diff";

export type Form = "unified" | "begin" | "anchored" | "edit_file" | "multi_edit";
export const FORMS: readonly Form[] = ["unified", "begin", "anchored", "edit_file", "multi_edit"];

/** One tool call, or several in sequence. */
export interface FormCall {
  readonly tool: "apply_patch" | "edit_file" | "multi_edit";
  readonly args: Record<string, unknown>;
}

interface Hunk {
  readonly oldStart: number;
  readonly lines: readonly string[];
}

/** `bom`: Git shows a byte order mark as the first character of the first line. */
export function callsFor(form: Form, before: string, after: string, bom: boolean): FormCall[] {
  const mark = bom && form === "unified" ? "\ufeff" : "";
  const plain = form === "unified"
    ? [before, after]
    : [before, after].map((text) => text.replaceAll("\r\n", "\n"));
  const [old = "", fresh = ""] = plain.map((text) => mark + text);
  const patch = structuredPatch("f.txt", "f.txt", old, fresh, "", "", { context: 3 });
  const hunks: readonly Hunk[] = patch.hunks;
  switch (form) {
    case "unified":
      return patchCall(
        [
          "--- a/f.txt",
          "+++ b/f.txt",
          ...patch.hunks.flatMap((hunk) => [
            `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
            ...hunk.lines,
          ]),
        ],
      );
    case "begin":
    case "anchored":
      return patchCall([
        "*** Begin Patch",
        "*** Update File: f.txt",
        ...hunks.flatMap((hunk) => [
          `@@${form === "anchored" ? anchorOf(old, hunk.oldStart) : ""}`,
          ...hunk.lines.filter((line) => !line.startsWith("\\")),
        ]),
        "*** End Patch",
      ]);
    case "edit_file":
      return hunks.map((hunk) => ({ tool: "edit_file", args: { path: "f.txt", ...replacement(hunk) } }));
    case "multi_edit":
      return [{ tool: "multi_edit", args: { path: "f.txt", edits: hunks.map(replacement) } }];
  }
}

function patchCall(lines: readonly string[]): FormCall[] {
  return [{ tool: "apply_patch", args: { patch: `${lines.join("\n")}\n` } }];
}

function replacement(hunk: Hunk): Record<string, string> {
  const side = (other: string) =>
    hunk.lines.filter((line) => !line.startsWith(other) && !line.startsWith("\\")).map((line) =>
      `${line.slice(1)}\n`
    )
      .join("");
  return { old_string: side("+"), new_string: side("-") };
}

/** The line that git prints behind `@@`: the last one above the hunk that begins with a letter. */
function anchorOf(text: string, start: number): string {
  const above = text.split("\n").slice(0, start - 1);
  const line = above.findLast((one) => /^[A-Za-z_$]/.test(one));
  return line === undefined ? "" : ` ${line.slice(0, 80).trimEnd()}`;
}
