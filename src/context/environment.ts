import { isFile, readSmallText } from "../path/probe.ts";

/** Facts about the surroundings. */
export interface EnvironmentOptions {
  readonly cwd: string;
  /** The time of a message of the conversation. Absent in a prefix: nothing that changes belongs there. */
  readonly now?: Date;
  readonly platform: string;
  readonly writableRoots?: readonly string[];
  /** A remark that holds for all files. */
  readonly files?: string;
}

/**
 * The `<environment>` block that opens a session and is sent again when a fact in it has changed; without a
 * time the one of a prefix.
 */
export function environmentText(options: EnvironmentOptions): string {
  const lines = [
    `working directory: ${options.cwd}`,
    `platform: ${options.platform}`,
    ...(options.now ? changingFacts(options.cwd, options.now) : []),
  ];
  const extra = options.writableRoots?.filter((root) => root !== options.cwd) ?? [];
  if (extra.length > 0) lines.push(`also writable: ${extra.join(", ")}`);
  if (options.files !== undefined) lines.push(`files: ${options.files}`);
  return `<environment>\n${lines.join("\n")}\n</environment>`;
}

function changingFacts(cwd: string, now: Date): string[] {
  const branch = gitBranch(cwd);
  return [
    `date: ${localDate(now)}`,
    branch === undefined ? "git repository: no" : `git branch: ${branch}`,
  ];
}

/** The day where the user is, such as 2026-07-28. */
export function localDate(now: Date): string {
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 10);
}

/** Branch name read from .git/HEAD (worktrees included), without starting git. */
export function gitBranch(cwd: string): string | undefined {
  for (let folder = cwd; folder !== "";) {
    const head = readHead(`${folder}/.git`);
    if (head !== undefined) return head;
    const parent = folder.replace(/[/\\][^/\\]*$/, "");
    if (parent === folder) return undefined;
    folder = parent;
  }
  return undefined;
}

function readHead(dotGit: string): string | undefined {
  const folder = isFile(dotGit) ? readSmallText(dotGit)?.replace(/^gitdir:\s*/, "").trim() : dotGit;
  const head = folder === undefined ? undefined : readSmallText(`${folder}/HEAD`)?.trim();
  return head?.startsWith("ref: refs/heads/") ? head.slice("ref: refs/heads/".length) : head?.slice(0, 12);
}
