import { ANY, isKnown } from "../../../rule/mod.ts";
import { type Call, isLong, operands, type Program, reads } from "../program.ts";
import { type Destruction, isDiscardDevice } from "../types.ts";

/**
 * Returns the paths a removal is given: what its words name, or below the directories that its words come
 * from.
 */
export function removedPaths(paths: readonly string[], { supply }: Call): Destruction[] {
  if (!supply) return [{ deed: ["deletes"], paths }];
  const named = paths.filter((path) => !path.includes(ANY));
  const some: Destruction[] = named.length < paths.length
    // Selected files of the workspace are not the workspace.
    ? [{
      deed: ["deletes"],
      paths: supply.folders,
      ...(supply.filtered ? { among: "notRoot" as const } : {}),
    }]
    : [];
  return [{ deed: ["deletes"], paths: named }, ...some];
}

function removal(call: Call): Destruction[] {
  const { name, args, supply } = call;
  const end = args.indexOf("--");
  const options = (end < 0 ? args : args.slice(0, end)).filter((arg) => /^-./.test(arg));
  if (name === "gio" && args[0] !== "trash") return [];
  const recursive = name !== "rm" || supply !== undefined ||
    options.some((arg) => /^-[A-Za-z]*[rR]/.test(arg) || isLong(arg, ["recursive"]));
  return recursive ? removedPaths(operands(args), call) : [];
}

function recursiveChange({ name, argv, args }: Call): Destruction[] {
  if (!argv.some((arg) => /^-[A-Za-z]*R/.test(arg) || isLong(arg, ["recursive"]))) return [];
  const named = argv.some((arg) => arg.startsWith("--reference"));
  return [{ deed: ["changesBelow", name], paths: operands(args).slice(named ? 0 : 1), among: "notRoot" }];
}

function rsyncDelete({ args }: Call): Destruction[] {
  const words = operands(args);
  const target = words.at(-1);
  if (args.some((arg) => isLong(arg, ["remove-source-files"]) && arg.length > 8)) {
    return [{ deed: ["rsyncRemoves"], paths: words.slice(0, -1) }];
  }
  if (!args.some((arg) => /^--(?:delete|del$)/.test(arg)) || target === undefined) return [];
  return /^(?:[\w.-]+@)?[\w.-]+:|^rsync:/.test(target)
    ? [{ deed: ["rsyncDeletesOn", target] }]
    : [{ deed: ["rsyncDeletesIn"], paths: [target] }];
}

function deviceCopy({ args }: Call): Destruction[] {
  const target = args.find((arg) => arg.startsWith("of="))?.slice(3);
  if (
    target === undefined || !(target.startsWith("/dev/") || target.startsWith(ANY)) ||
    /^\/dev\/(?:null|stdout|stderr|shm\/)/.test(target)
  ) return [];
  return [{ deed: ["overwritesDevice", "dd", isKnown(target) ? target : "…"] }];
}

/** Programs that make, change, copy and remove files. */
export const FILES: readonly Program[] = [
  {
    names: "tee",
    files: "writes",
    read: ({ args }) => ({
      readOnly: args.every((word) => /^-[aip]+$/.test(word) || isDiscardDevice(word)),
    }),
  },
  { names: "rmdir unlink mkfifo mknod truncate shred patch", files: "writes" },
  { names: "touch mkdir", files: "writes", offers: "." },
  { names: "rm", files: "writes", destroys: removal },
  { names: "rimraf trash trash-put gio", destroys: removal },
  { names: "chmod chown chgrp chattr setfacl", files: "writes rest", destroys: recursiveChange },
  { names: "chcon", destroys: recursiveChange },
  { names: "cp ln", files: "copies" },
  { names: "install", files: "copies", codeLong: "strip-program" },
  {
    names: "mv",
    files: "moves",
    deep: true,
    destroys: ({ args }) => [
      { deed: ["movesAway"], paths: operands(args).slice(0, -1), among: "vital" },
    ],
  },
  {
    names: "rsync",
    files: "copies",
    deep: true,
    network: /^(?:[\w.-]+@)?[\w.-]+:|^rsync:/,
    code: /^-[A-Za-z]*[eM]/,
    codeLong: "rsh rsync-path remote-option",
    destroys: rsyncDelete,
  },
  { names: "scp", files: "copies", network: true, code: /^-[So]/ },
  {
    names: "dd",
    read: ({ args }) => ({
      reads: reads(args.flatMap((word) => word.startsWith("if=") ? [word.slice(3)] : [])),
      writes: reads(args.flatMap((word) => word.startsWith("of=") ? [word.slice(3)] : [])),
    }),
    destroys: deviceCopy,
  },
  { names: "sdiff diff3", files: "reads", codeLong: "diff-program" },
];
