import { ANY } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, getopt, isLong, operands, type Program } from "../program.ts";

/** Options of tar that only list, after `t` or `--list`, or print what is in an archive (`-xO`). */
const TAR_LIST =
  "txOvzjJaf:C:T:X: list extract get to-stdout verbose file= gzip bzip2 xz zstd auto-compress directory= wildcards exclude= " +
  "full-time numeric-owner show-transformed-names";

function tar({ name, args }: Call): Found {
  const [first = "", ...rest] = args;
  // Its first word may be a cluster of options without a dash.
  if (/^[A-Za-z]*[IF]/.test(first)) return dynamic(`${name} is handed a command (${first})`);
  const bundled = /^[tvzjJaf]*t[tvzjJaf]*$|^[xvzjJaf]*(?:x[vzjJaf]*O|O[vzjJaf]*x)[vzjJaf]*$/.test(first);
  const { options, unknown } = getopt(bundled ? rest : args, TAR_LIST);
  // A colon in a name means another machine.
  const local = !args.some((word) => word.includes(":"));
  const has = (names: RegExp) => options.some(({ name }) => names.test(name));
  const prints = has(/^(?:t|list)$/) || (has(/^(?:x|extract|get)$/) && has(/^(?:O|to-stdout)$/));
  if (local && unknown === undefined && (bundled || prints)) return { readOnly: true };
  const into = args.flatMap((word, i) => /^(?:-C|--directory)$/.test(word) ? [args[i + 1] ?? ""] : []);
  return { writes: into.map((path) => ({ path: `${path}/${ANY}` })) };
}

/** Returns the directories into which a command unpacks an archive, with whatever is in it. */
export function unpackDirectories(argv: readonly string[], name: string): string[] {
  const unpacks = /^(?:bsd|g)?tar$/.test(name)
    ? argv.slice(1).some((word, i) =>
      /^(?:-[A-Za-z]*x|--(?:extract|get)$)/.test(word) || (i === 0 && /^[A-Za-z]*x/.test(word))
    )
    : /^(?:unzip|7z|7za|cpio|ar)$/.test(name);
  if (!unpacks) return [];
  const at = argv.findIndex((word) => /^(?:-C|-d|--directory)$/.test(word));
  return [at < 0 ? "." : argv[at + 1] ?? "."];
}

/** Programs that pack, unpack and list archives. */
export const ARCHIVES: readonly Program[] = [
  {
    names: "tar bsdtar gtar",
    deep: true,
    code: /^-[A-Za-z]*[IF]/,
    codeLong: "checkpoint-action to-command use-compress-program rsh-command info-script new-volume-script",
    read: tar,
    destroys: ({ args }) =>
      args.some((arg) => isLong(arg, ["remove-files"])) ? [{ deed: ["deletes"], paths: operands(args) }] : [],
  },
  {
    names: "unzip",
    files: "reads",
    read: ({ args }) => {
      const { options, unknown } = getopt(args, "lvtpzZ1qCashm:x: ");
      const into = args.flatMap((word, i) => word === "-d" ? [args[i + 1] ?? ANY] : []);
      return {
        writes: into.map((path) => ({ path: `${path}/${ANY}` })),
        readOnly: unknown === undefined && options.some((each) => /^[lvtpZ]$/.test(each.name)),
      };
    },
  },
  { names: "zipinfo", files: "reads", readOnly: true },
  { names: "zip", files: "reads", code: /^-[A-Za-z]*T/, codeLong: "unzip-command", outputs: "-O" },
  {
    names: "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd",
    files: "reads",
    read: ({ args }) => {
      const { options, unknown } = getopt(
        args,
        "cdlktvqfT:# stdout to-stdout decompress list test keep verbose quiet",
      );
      return {
        readOnly: unknown === undefined &&
          options.some((each) => /^(?:[clt]|stdout|to-stdout|list|test)$/.test(each.name)),
      };
    },
  },
  {
    names: "7z 7za 7zr",
    files: "reads",
    read: ({ args }) => ({
      readOnly: /^[lt]$/.test(args[0] ?? "") && args.every((word) => !/^-[ow]/.test(word)),
    }),
  },
];
