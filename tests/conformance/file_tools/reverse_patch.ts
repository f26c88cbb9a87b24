/** Reverses a unified diff: added lines are removed, removed lines are added. */
export function reversePatch(patch: string): string {
  const lines = patch.split(/(?<=\n)/);
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (
      line.startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ") &&
      (lines[at + 2] ?? "").startsWith("@@")
    ) {
      out.push(`--- ${(lines[at + 1] ?? "").slice(4)}`, `+++ ${line.slice(4)}`);
      at++;
    } else if (line.startsWith("@@")) out.push(line.replace(/^@@ -(\S+) \+(\S+) @@/, "@@ -$2 +$1 @@"));
    else if (line.startsWith("-")) out.push(`+${line.slice(1)}`);
    else if (line.startsWith("+")) out.push(`-${line.slice(1)}`);
    else out.push(line);
  }
  return out.join("");
}
