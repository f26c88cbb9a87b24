import type { Call, Program } from "../program.ts";
import type { Destruction } from "../types.ts";

const ASKS = /^(?:-l|--list|list|info|-n|--version|--help|status|luksDump)$/;

function changesDisk({ name, args }: Call): Destruction[] {
  return args.some((arg) => ASKS.test(arg)) ? [] : [{ deed: ["changesDisk", name] }];
}

function stops({ name, args }: Call): Destruction[] {
  return args.some((arg) => /^(?:--help|--version|-c)$/.test(arg)) ? [] : [{ deed: ["stopsComputer", name] }];
}

const STOP_VERBS = /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|emergency|rescue)$/;

/** Programs that change disks, processes and the running system. */
export const SYSTEM: readonly Program[] = [
  {
    names: "mkfs mke2fs mkswap wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk parted cryptsetup " +
      "lvremove vgremove " +
      "pvremove diskutil newfs newfs_hfs newfs_apfs newfs_msdos newfs_exfat",
    destroys: changesDisk,
  },
  {
    names: "hdparm",
    destroys: ({ args }) =>
      args.some((arg) => /^--(?:security-erase|trim-sector|write-sector|make-bad-sector)/.test(arg))
        ? [{ deed: ["erasesDisk", "hdparm"] }]
        : [],
  },
  {
    names: "nvme",
    destroys: ({ args }) =>
      args.some((arg) => /^(?:format|sanitize|delete-ns|write-zeroes|dsm)$/.test(arg))
        ? [{ deed: ["erasesDisk", `nvme ${args[0]}`] }]
        : [],
  },
  {
    names: "badblocks",
    destroys: ({ args }) =>
      args.some((arg) => /^-[A-Za-z]*[wn]/.test(arg)) ? [{ deed: ["overwritesDisk", "badblocks"] }] : [],
  },
  {
    names: "zpool zfs",
    destroys: ({ name, args }) =>
      args.some((arg) => /^(?:destroy|labelclear|rollback)$/.test(arg))
        ? [{ deed: ["erasesPool", `${name} ${args[0]}`] }]
        : [],
  },
  { names: "shutdown reboot halt poweroff", prints: "--help --version", destroys: stops },
  {
    names: "init telinit",
    destroys: (call) => /^[016sS]$/.test(call.args[0] ?? "") ? stops(call) : [],
  },
  {
    names: "systemctl loginctl",
    destroys: ({ name, args }) =>
      args.some((arg) => STOP_VERBS.test(arg)) ? [{ deed: ["stopsComputer", name] }] : [],
  },
  {
    names: "pkill killall",
    destroys: ({ name, args }) =>
      args.some((arg) => /^-[A-Za-z]*[uU]|^--e?u/.test(arg)) ? [{ deed: ["killsOfUser", name] }] : [],
  },
  {
    names: "killall5",
    destroys: () => [{ deed: ["killsEverything"] }],
  },
  {
    names: "kill",
    destroys: ({ args }) => args.slice(1).some((arg) => arg === "-1") ? [{ deed: ["killsOwn"] }] : [],
  },
];
