import { baseName } from "../../path/lexical.ts";
import { isKnown, type PathContext } from "../../rule/mod.ts";
import type { DestructiveFinding } from "../types.ts";
import { type Line, program, type Segment } from "../shell/line.ts";
import { destroys } from "./commands.ts";
import { strictFinding } from "./strict.ts";
import { createTargetJudge, type TargetJudge } from "./targets.ts";

interface DestructiveScene {
  readonly places: PathContext;
  readonly strict: boolean;
}

/** Whatever an opaque part of a line is handed, these words in it (all of one row) are reason enough to ask. */
const MENTIONS: readonly (readonly RegExp[])[] = [
  [/\brm\b/, /\s-\w*[rR]|\s--r/],
  [/\bmkfs\b|\bwipefs\b|\bshutdown\b|\breboot\b|\bpoweroff\b/],
  [/\bdd\b/, /\bof=\/dev\//],
  [/\b(?:rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_tree|remove_dir_all|RemoveAll|delete_recursively|Deno\.remove)\b/],
  [/\bpush\b/, /--force|--mirror|\s-f\b/],
];

function mentioned(text: string): string | undefined {
  const row = MENTIONS.find((words) => words.every((word) => word.test(text)));
  return row?.map((word) => word.exec(text)?.[0]?.trim() ?? "").join(" ");
}

/**
 * Finds the destructive commands (decisions.md, 6): what would destroy data outside of the workspace, the workspace itself, a
 * device, the running system or the history of a remote. Targets are resolved before they are judged.
 */
export function findDestructive(line: Line, command: string, scene: DestructiveScene): DestructiveFinding[] {
  const findings: DestructiveFinding[] = [];
  if (line.forkBomb) {
    findings.push({ command, reason: "a function starts itself over and over (fork bomb)", targets: [] });
  }
  const judge = createTargetJudge(scene.places);
  let rest = command;
  for (const segment of line.segments) {
    const found = inspectSegment(segment, judge, scene);
    findings.push(...found);
    if (segment.opaque === undefined && !segment.carrier && segment.views.length > 0) {
      rest = rest.replaceAll(segment.text, "");
    }
  }
  if (findings.length > 0) return unique(findings);
  const hidden = line.opaque !== undefined || line.segments.some((segment) => segment.opaque !== undefined);
  const mention = hidden
    ? mentioned(line.opaque === undefined ? `${rest}\n${opaqueText(line)}` : command) ?? piped(line)
    : undefined;
  if (mention === undefined) return [];
  return [{
    command,
    reason: `it may run ${JSON.stringify(mention)} in a way that cannot be looked into`,
    targets: [],
  }];
}

/** Commands that cannot be looked into, with what stands in their substitutions. */
function opaqueText({ segments }: Line): string {
  return segments.filter((segment) => segment.opaque !== undefined && !segment.carrier)
    .map((segment) => segment.text).join("\n");
}

/** What is piped or written into an interpreter. */
function piped(line: Line): string | undefined {
  for (const { input, opaque } of line.segments) {
    if (opaque === undefined || input.kind === "inherited" || input.kind === "file") continue;
    const text = input.kind === "text" ? input.text ?? "" : input.from.map((each) => each.text).join("\n");
    const found = mentioned(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inspectSegment(segment: Segment, judge: TargetJudge, scene: DestructiveScene): DestructiveFinding[] {
  const findings: DestructiveFinding[] = [];
  const note = (reason: string, targets: DestructiveFinding["targets"] = []) =>
    findings.push({ command: segment.text, reason, targets });
  for (const use of segment.uses) {
    if (use.access === "write" && DEVICE.test(use.path)) {
      note(`it writes over the device ${use.path}`);
    }
  }
  // Behind a wrapper that cannot be read, each ending of the words may be the command.
  const views = segment.opaque === undefined ? [program(segment)] : segment.views.map((view) => view.argv);
  for (const argv of views) {
    const word = argv[0];
    if (word === undefined) continue;
    // What only the shell will know may be the worst its words allow.
    const name = isKnown(word) ? baseName(word) : "rm";
    for (const { reason, targets } of destroys({ argv, name, segment }, judge)) {
      note(reason, targets);
    }
    if (scene.strict && findings.length === 0) {
      const reason = strictFinding(name, segment, scene.places);
      if (reason !== undefined) note(reason);
    }
  }
  if (scene.strict && views.every((argv) => argv.length === 0)) {
    const reason = strictFinding("", segment, scene.places);
    if (reason !== undefined) note(reason);
  }
  return findings;
}

/** Devices with contents; the ones that keep nothing are sinks. */
const DEVICE =
  /^\/dev\/(?!null$|zero$|full$|stdout$|stderr$|stdin$|tty|fd\/|shm\/|pts\/|tcp\/|udp\/|random$|urandom$)|^\/proc\/sysrq-trigger$/;

function unique(findings: readonly DestructiveFinding[]): DestructiveFinding[] {
  const seen = new Set<string>();
  return findings.filter((finding) => {
    const key = `${finding.reason}\0${finding.targets.map((target) => target.path).join("\0")}`;
    return seen.has(key) ? false : seen.add(key);
  });
}
