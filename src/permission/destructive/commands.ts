import { ANY, isKnown } from "../../rule/mod.ts";
import type { DestructiveFinding } from "../types.ts";
import { readFind } from "../shell/find.ts";
import { readGit } from "../shell/git.ts";
import { isLong, type Segment, type Supply } from "../shell/line.ts";
import type { Hit, TargetJudge } from "./targets.ts";

/** A program about to run, with its bare name. */
interface Running {
  readonly argv: readonly string[];
  readonly name: string;
  readonly segment: Segment;
}

type Destruction = Pick<DestructiveFinding, "reason" | "targets">;

const FORMATS =
  /^(?:mkfs(?:\..*)?|mke2fs|mkswap|wipefs|blkdiscard|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|cryptsetup|lvremove|vgremove|pvremove|diskutil|newfs(?:_.*)?)$/;
const STOPS = /^(?:shutdown|reboot|halt|poweroff)$/;
const STOP_VERBS = /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|emergency|rescue)$/;

/** What a program would destroy, by what its words say. */
export function destroys(running: Running, judge: TargetJudge): Destruction[] {
  const { argv, name, segment } = running;
  const args = argv.slice(1);
  if (/^(?:rm|rimraf|trash|trash-put|gio)$/.test(name)) return removal(running, judge);
  if (/^(?:bsd|g)?tar$/.test(name) && args.some((arg) => isLong(arg, ["remove-files"]))) {
    return describe("it deletes", operands(args).flatMap((path) => judge.hits(path, segment.cwds)));
  }
  if (name === "find") return findDelete(running, judge);
  if (name === "mv") {
    return describe(
      "it moves away",
      operands(args).slice(0, -1).flatMap((path) => judge.vital(path, segment.cwds)),
    );
  }
  if (/^(?:chmod|chown|chgrp|setfacl|chattr|chcon)$/.test(name)) return recursiveChange(running, judge);
  if (name === "rsync") return rsyncDelete(running, judge);
  if (name === "dd") return deviceCopy(args);
  if (
    FORMATS.test(name) &&
    !args.some((arg) => /^(?:-l|--list|list|info|-n|--version|--help|status|luksDump)$/.test(arg))
  ) {
    return [{ reason: `${name} changes or erases a disk`, targets: [] }];
  }
  if (STOPS.test(name) || (/^(?:init|telinit)$/.test(name) && /^[016sS]$/.test(args[0] ?? ""))) {
    return args.some((arg) => /^(?:--help|--version|-c)$/.test(arg))
      ? []
      : [{ reason: `${name} stops the computer`, targets: [] }];
  }
  if (name === "systemctl" && args.some((arg) => STOP_VERBS.test(arg))) {
    return [{ reason: "systemctl stops the computer", targets: [] }];
  }
  if (/^(?:pkill|killall)$/.test(name) && args.some((arg) => /^-[A-Za-z]*[uU]|^--e?u/.test(arg))) {
    return [{ reason: `${name} kills processes of a whole user`, targets: [] }];
  }
  if (name === "kill" && args.slice(1).some((arg) => arg === "-1") && args.length > 1) {
    return [{ reason: "it kills every process of the user", targets: [] }];
  }
  return name === "git" ? gitDestruction(argv, segment, judge) : [];
}

/** Words that are no options; after `--` all are. */
function operands(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  const before = end < 0 ? words : words.slice(0, end);
  return [...before.filter((word) => !/^-./.test(word)), ...(end < 0 ? [] : words.slice(end + 1))];
}

function describe(what: string, hits: readonly Hit[]): Destruction[] {
  return hits.map(({ reason, target }) => {
    const files = target.files === undefined
      ? ""
      : `, ${target.more ? "at least " : ""}${target.files} file${target.files === 1 ? "" : "s"}`;
    return { reason: `${what} ${target.path} (${reason}${files})`, targets: [target] };
  });
}

function removal({ argv, name, segment }: Running, judge: TargetJudge): Destruction[] {
  const args = argv.slice(1);
  const end = args.indexOf("--");
  const options = (end < 0 ? args : args.slice(0, end)).filter((arg) => /^-./.test(arg));
  if (name === "gio" && args[0] !== "trash") return [];
  const recursive = name !== "rm" || segment.supply !== undefined ||
    options.some((arg) => /^-[A-Za-z]*[rR]/.test(arg) || isLong(arg, ["recursive"]));
  if (!recursive) return [];
  const targets = operands(args);
  const hits = targets.flatMap((path) =>
    path.includes(ANY) && segment.supply
      ? suppliedHits(segment.supply, segment, judge)
      : judge.hits(path, segment.cwds)
  );
  return describe("it deletes", hits);
}

/** What `find` hands on lies below its folders; without a selection it is all of it. */
function suppliedHits(supply: Supply, segment: Segment, judge: TargetJudge): Hit[] {
  return supply.folders.flatMap((folder) => {
    const hits = judge.hits(folder, segment.cwds);
    // Selected files of the workspace are not the workspace.
    return supply.filtered ? hits.filter((hit) => hit.reason !== "the workspace root") : hits;
  });
}

function findDelete({ argv, segment }: Running, judge: TargetJudge): Destruction[] {
  const find = readFind(argv, "find");
  return find.deletes
    ? describe("it deletes what it finds in", suppliedHits(find.supply, segment, judge))
    : [];
}

function recursiveChange({ argv, name, segment }: Running, judge: TargetJudge): Destruction[] {
  if (!argv.some((arg) => /^-[A-Za-z]*R/.test(arg) || isLong(arg, ["recursive"]))) return [];
  const named = argv.some((arg) => arg.startsWith("--reference"));
  const targets = operands(argv.slice(1)).slice(named ? 0 : 1);
  const hits = targets.flatMap((path) => judge.hits(path, segment.cwds)).filter((hit) =>
    hit.reason !== "the workspace root"
  );
  return describe(`${name} -R changes`, hits);
}

function rsyncDelete({ argv, segment }: Running, judge: TargetJudge): Destruction[] {
  const words = operands(argv.slice(1));
  const target = words.at(-1);
  if (argv.some((arg) => isLong(arg, ["remove-source-files"]) && arg.length > 8)) {
    return describe("rsync removes", words.slice(0, -1).flatMap((path) => judge.hits(path, segment.cwds)));
  }
  if (!argv.some((arg) => /^--(?:delete|del$)/.test(arg)) || target === undefined) return [];
  return /^[\w.-]+:/.test(target)
    ? [{ reason: `rsync --delete removes files on ${target}`, targets: [] }]
    : describe("rsync --delete removes files in", judge.hits(target, segment.cwds));
}

function deviceCopy(args: readonly string[]): Destruction[] {
  const target = args.find((arg) => arg.startsWith("of="))?.slice(3);
  if (
    target === undefined || !(target.startsWith("/dev/") || target.startsWith(ANY)) ||
    /^\/dev\/(?:null|stdout|stderr|shm\/)/.test(target)
  ) return [];
  return [{ reason: `dd writes over the device ${isKnown(target) ? target : "…"}`, targets: [] }];
}

const REWRITES = ["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"];

function gitDestruction(argv: readonly string[], segment: Segment, judge: TargetJudge): Destruction[] {
  const git = readGit(argv);
  if (git.sub === "push") {
    const rewrite = git.args.find((arg) =>
      /^-[a-z]*[fd][a-z]*$/.test(arg) || isLong(arg, REWRITES) || /^\+./.test(arg) ||
      /^:./.test(arg)
    );
    return rewrite === undefined
      ? []
      : [{ reason: `git push ${rewrite} rewrites or removes history of the remote`, targets: [] }];
  }
  if (git.sub !== "clean") return [];
  const letters = git.args.filter((arg) => /^-[A-Za-z]/.test(arg)).join("");
  const forced = /f/.test(letters) || git.args.some((arg) => isLong(arg, ["force"]));
  if (
    !forced || /n/.test(letters) || git.args.some((arg) => isLong(arg, ["dry-run"])) || !/[dxX]/.test(letters)
  ) return [];
  const paths = operands(git.args).map((path) => git.folder === undefined ? path : `${git.folder}/${path}`);
  const hits = (paths.length > 0 ? paths : ["."]).flatMap((path) => judge.hits(path, segment.cwds));
  return paths.length > 0
    ? describe("git clean deletes", hits)
    : [{ reason: "git clean deletes every untracked file of the repository", targets: [] }];
}
