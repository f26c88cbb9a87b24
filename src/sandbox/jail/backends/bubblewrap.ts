import { contains } from "../../../path/lexical.ts";
import {
  type AgentDirectory,
  type Backend,
  type BindMount,
  bindMounts,
  CLEANER,
  DANGLING,
  isWhole,
  type JailedCommand,
  type JailPlan,
  joinPaths,
  type ProbeResult,
  ROOT_CAPABILITIES,
  type SpawnPlan,
} from "../backend.ts";
import { findJailProgram } from "../backend.ts";
import { PROXY_PORT, proxyEnvironment } from "../environment.ts";
import { runProgram } from "../../../util/process.ts";

/** Bubblewrap itself would leave root all capabilities, and with them a way to undo every mount below. */
const DROP_CAPABILITIES = ["--cap-drop", "ALL"];
const KEPT_CAPABILITIES = ROOT_CAPABILITIES.flatMap((name) => ["--cap-add", `CAP_${name}`]);

/** Ways to start it, the strongest first: what a kernel or container forbids differs. */
const VARIANTS: readonly (readonly string[])[] = [
  [...DROP_CAPABILITIES, "--unshare-user", "--disable-userns"],
  [...DROP_CAPABILITIES, "--unshare-user"],
  DROP_CAPABILITIES,
];
const ROOT_VARIANTS: readonly (readonly string[])[] = [
  [...DROP_CAPABILITIES, ...KEPT_CAPABILITIES],
  ...VARIANTS,
];

const NAMESPACES = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];

/** Parts of `/run` that hold no sockets of services and that programs cannot do without. */
const RUN_DIRECTORIES = [
  "/run/systemd/resolve/stub-resolv.conf",
  "/run/systemd/resolve/resolv.conf",
  "/run/resolvconf",
  "/run/NetworkManager/resolv.conf",
  "/run/current-system",
  "/run/opengl-driver",
];

const MEMORY = String(512 * 1024 * 1024);

/** With a writable root directory the kernel's settings stay as they are. */
const system = (wide: boolean): string[] =>
  [
    ["--die-with-parent", "--new-session"],
    wide ? ["--bind", "/", "/", "--ro-bind-try", "/sys", "/sys"] : ["--ro-bind", "/", "/"],
    ["--dev", "/dev"],
    // Root owns the kernel settings under /proc, so their permissions alone do not protect them.
    ["--proc", "/proc", "--remount-ro", "/proc"],
    ["--size", MEMORY, "--perms", "1777", "--tmpfs", "/dev/shm"],
    // Nothing limits how much memory files next to the devices would take.
    ["--remount-ro", "/dev"],
    // Sockets of services (docker, dbus, tmux) live in these directories, and a read-only mount does not stop
    // anyone from connecting.
    ["--size", MEMORY, "--tmpfs", "/run"],
    RUN_DIRECTORIES.flatMap((path) => ["--ro-bind-try", path, path]),
    ["--size", MEMORY, "--perms", "1777", "--tmpfs", "/var/tmp"],
  ].flat();

function temporary(plan: JailPlan): string[] {
  if (plan.writable.some((entry) => entry.path === "/tmp" || isWhole(entry))) return [];
  if (plan.privateTmp !== undefined) return ["--bind", plan.privateTmp, "/tmp"];
  return ["--size", MEMORY, "--perms", "1777", "--tmpfs", "/tmp"];
}

/**
 * Small shells can only name descriptors of one digit; bash closes others in the rare case that there are
 * any.
 */
const BASHES = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];
const CLOSER = 'for fd in /proc/self/fd/??*; do fd=${fd##*/}; exec {fd}>&-; done; exec "$@"';

/** Mounts in the order in which they cover each other: outer before inner, and what is hidden last. */
function mounts(plan: JailPlan): string[] {
  const binds = bindMounts(plan);
  const args = [
    ...temporary(plan),
    ...binds.flatMap(({ path, from, writable }) => [writable ? "--bind" : "--ro-bind", from, path]),
  ];
  const sealed = sealable(plan, binds);
  for (const { path, shown, links } of sealed) {
    args.push("--perms", "0700", "--tmpfs", path, ...shown.flatMap((one) => ["--ro-bind-try", one, one]));
    args.push(...links.flatMap((link) => ["--symlink", link.target, link.path]), "--remount-ro", path);
  }
  const sockets = new Set(sealed.flatMap((one) => one.sockets));
  for (const { path, directory } of plan.hidden) {
    if (sockets.has(path)) continue;
    if (directory) args.push("--perms", "0000", "--tmpfs", path, "--remount-ro", path);
    else args.push("--ro-bind", "/dev/null", path);
  }
  return args;
}

/** A command starts slower with more mounts. */
const MOST_SEALED = 200;

/**
 * Directories that a command sees with the files that they have when it starts: no socket made later appears.
 * In a writable directory files can only be shown as they are.
 */
function sealable(
  { agents, writable, hidden }: JailPlan,
  binds: readonly BindMount[],
): AgentDirectory[] {
  return agents.filter(({ path, shown, links }) =>
    shown.length + links.length <= MOST_SEALED &&
    ![...writable, ...hidden].some((outer) => contains(outer.path, path)) &&
    !binds.some((inner) => contains(path, inner.path))
  );
}

function wrap(command: JailedCommand): SpawnPlan {
  const { plan, probe, cwd } = command;
  const env: Record<string, string> = { ...command.env, TMPDIR: "/tmp" };
  for (const name of DANGLING) delete env[name];
  const args = [
    ...(probe.options ?? []),
    ...NAMESPACES,
    ...system(plan.writable.some(isWhole)),
    ...mounts(plan),
  ];
  let argv = command.argv;
  if (plan.network !== "open" && probe.network) args.push("--unshare-net");
  if (plan.network === "filtered" && plan.proxy?.socket !== undefined) {
    args.push("--ro-bind", plan.proxy.socket, plan.proxy.socket);
    argv = [...(plan.proxy.forwarder ?? []), plan.proxy.socket, String(PROXY_PORT), ...argv];
    Object.assign(env, proxyEnvironment(PROXY_PORT));
  }
  const start = startWith(probe.program ?? "bwrap", probe.filter, plan.mustNotAppear);
  return { command: start.command, args: [...start.args, ...args, "--chdir", cwd, "--", ...argv], env };
}

/** Shell text that has bash close inherited descriptors. */
const CLOSE_INHERITED = `for fd in /proc/self/fd/??*; do
  [ -e "$fd" ] || continue
  for bash in ${BASHES.join(" ")}; do
    [ -x $bash ] && set -- $bash --norc --noprofile -c '${CLOSER}' bash "$@" && break 2
  done
  echo "reasonix: cannot close inherited descriptors without bash" >&2; exit 126
done`;

/** Replaces a hidden path that has disappeared: bubblewrap creates it in the `/run` of the jail. */
const GONE = "/run/reasonix-gone";

/** Shell text that looks for a hidden path that is gone among the words before the command. */
const FIND_GONE = `gone= last=
  for word do
    case $last in --) break ;; /dev/null | --tmpfs | --remount-ro)
      [ -e "$word" ] || case $word in ${GONE}*) ;; *) gone=1; break ;; esac
    esac
    last=$word
  done`;

/** Shell text that replaces these paths. */
const REPLACE_GONE = `last=
  [ "$gone" ] && for word do
    shift
    case $last in
      /dev/null) [ -e "$word" ] || word=${GONE}-file ;;
      --tmpfs | --remount-ro) [ -e "$word" ] || word=${GONE} ;;
    esac
    set -- "$@" "$word"
    [ "$last" = -- ] || last=$word
  done`;

/** Shell text that ends the attempts: nothing is gone, and two more have failed as well. */
const GIVE_UP = `[ ! "$code" ] || [ "$gone" ] || { [ "$again" = .. ] && break; again=$again.; }`;

/**
 * The shell that starts bubblewrap. It passes the filter on an open descriptor, closes inherited descriptors,
 * which could lead outside, and prevents core dumps, which are handled outside. Afterwards it removes what
 * must not appear, once all processes of the jail have ended. It runs outside, so it does not search the
 * user's PATH, where commands may have put programs.
 *
 * A socket can disappear before it is hidden, and bubblewrap then fails, since it cannot create the path. So
 * the shell replaces hidden paths that are gone, also after such a failure: bubblewrap reports the exit code
 * of a command that began on descriptor 7, a pipe.
 */
const STARTER = `exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-; ulimit -c 0
files=$1; shift
${CLOSE_INHERITED}
code= again= stopped=; trap stopped=1 TERM INT HUP
while :; do
  ${FIND_GONE}
  ${GIVE_UP}
  ${REPLACE_GONE}
  exec 8<<. 7>/proc/self/fd/8

.
  "$@" 9<"$0" 8<&-
  code=$?
  [ $code -ne 1 ] || [ "$stopped" ] && break
  echo end >&7
  while read -r line <&8 && [ "$line" != end ]; do
    case $line in *exit-code*) break 2 ;; esac
  done
done
${CLEANER}
exit $code`;

function startWith(
  program: string,
  filter: string | undefined,
  mustNotAppear: readonly string[],
): { command: string; args: string[] } {
  const files = joinPaths(mustNotAppear);
  const seccomp = filter === undefined ? [] : ["--seccomp", "9"];
  const args = [filter ?? "/dev/null", files, program, "--json-status-fd", "7", ...seccomp];
  return { command: "/bin/sh", args: ["-c", STARTER, ...args] };
}

async function tryOut(
  program: string,
  options: readonly string[],
  filter?: string,
): Promise<string | undefined> {
  const start = startWith(program, filter, []);
  const args = [...start.args, ...options, ...NAMESPACES, ...system(false), "--", "/bin/sh", "-c", "exit 42"];
  const result = await runProgram([start.command, ...args], { env: {} });
  if (result.code === 42) return undefined;
  return result.errors.trim().split("\n")[0] || `exit code ${result.code}`;
}

/** Named by its content, so that another version of this program never takes the wrong one. */
async function filterFile(
  cacheDir: string | undefined,
): Promise<{ path: string; bytes: Uint8Array } | undefined> {
  const bytes = seccompFilter();
  if (cacheDir === undefined || bytes === undefined) return undefined;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 16);
  return { path: `${cacheDir}/jail-${hash}.bpf`, bytes };
}

async function withFilter(result: ProbeResult, cacheDir: string | undefined): Promise<ProbeResult> {
  const file = await filterFile(cacheDir);
  if (file === undefined || result.program === undefined) return result;
  try {
    await Deno.mkdir(cacheDir ?? "", { recursive: true, mode: 0o700 });
    // A command that starts at this moment reads a whole filter.
    const temporary = `${file.path}.${crypto.randomUUID()}`;
    await Deno.writeFile(temporary, file.bytes, { mode: 0o600 });
    await Deno.rename(temporary, file.path);
  } catch {
    return result;
  }
  const reason = await tryOut(result.program, result.options ?? [], file.path);
  return reason === undefined ? { ...result, filter: file.path } : result;
}

async function probe(cacheDir?: string): Promise<ProbeResult> {
  const program = findJailProgram("bubblewrap");
  if (program === undefined) return { works: false, detail: "bwrap is not installed" };
  let reason = "";
  for (const options of Deno.uid() === 0 ? ROOT_VARIANTS : VARIANTS) {
    reason = await tryOut(program, [...options, "--unshare-net"]) ?? "";
    if (reason === "") return await withFilter({ works: true, program, options, network: true }, cacheDir);
    if (await tryOut(program, options) === undefined) {
      return await withFilter({ works: true, program, options, network: false, detail: reason }, cacheDir);
    }
  }
  return { works: false, program, detail: reason };
}

/** Linux: namespaces and mounts by bubblewrap. */
export const bubblewrap: Backend = {
  async fingerprint(cacheDir) {
    const program = findJailProgram("bubblewrap");
    if (program === undefined) return undefined;
    const { mtime } = await Deno.stat(program);
    const filter = await filterFile(cacheDir);
    const there = filter && await Deno.stat(filter.path).then(() => filter.path, () => "no filter");
    return [program, mtime?.getTime(), Deno.osRelease(), Deno.uid(), there].join(" ");
  },
  probe,
  wrap,
};

/**
 * A filter of system calls, as a classic BPF program. Namespaces do not cover key rings, virtual machine
 * sockets and the terminal's input.
 */

interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number;
  readonly column: 0 | 1;
}

/** Numbers on x86_64 and aarch64, from the kernel's syscall_64.tbl and asm-generic/unistd.h. */
const CALLS = {
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  finit_module: [313, 273],
  init_module: [175, 105],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  mount: [165, 40],
  open_by_handle_at: [304, 265],
  perf_event_open: [298, 241],
  pivot_root: [155, 41],
  quotactl: [179, 60],
  reboot: [169, 142],
  request_key: [249, 218],
  setns: [308, 268],
  settimeofday: [164, 170],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vhangup: [153, 58],
  clone: [56, 220],
  ioctl: [16, 29],
  socket: [41, 198],
} as const;

/** Calls newer than the unification of numbers: io_uring (3), open_tree to fspick (6), mount_setattr. */
const SHARED_CALLS = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];

/** Its flags are in memory where no filter can look; programs fall back to clone. */
const CLONE3 = 435;

const ARCHITECTURES: { readonly [arch: string]: Architecture } = {
  x86_64: { audit: 0xc000003e, column: 0 },
  aarch64: { audit: 0xc00000b7, column: 1 },
};

const CONDITIONAL: readonly string[] = ["clone", "ioctl", "socket"];

/**
 * Local, internet and netlink sockets; other families reach beyond the network namespace or are rarely used
 * kernel code.
 */
const SOCKET_FAMILIES = [1, 2, 10, 16];
/** TIOCSTI types into the terminal, TIOCLINUX pastes into a console. */
const TERMINAL_IOCTLS = [0x5412, 0x541c];
const CLONE_NEWUSER = 0x10000000;

const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];
const ALLOW = 0x7fff0000;
const errno = (code: number) => 0x50000 | code;

/** Offsets in `struct seccomp_data`: call number, architecture, low words of the first two arguments. */
const [NUMBER, ARCH, ARG0, ARG1] = [0, 4, 16, 24];
/** Opcodes: load a word; jump if equal, at least, or any bit set; return. */
const [LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];

type Instruction = readonly [code: number, yes: number, no: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const give = (value: number): Instruction => [RETURN, 0, 0, value];
const when = (
  test: number,
  value: number,
  result: number,
): Instruction[] => [[test, 0, 1, value], give(result)];

/** Runs `body`, which must end in a return, for one call only. */
function forCall(number: number, body: readonly Instruction[]): Instruction[] {
  return [[EQUAL, 0, body.length, number], ...body];
}

function instructions({ audit, column }: Architecture): Instruction[] {
  const refused = Object.entries(CALLS).filter(([call]) => !CONDITIONAL.includes(call)).map(([, numbers]) =>
    numbers[column]
  );
  return [
    load(ARCH),
    // Numbers mean other calls to programs of another architecture.
    [EQUAL, 1, 0, audit],
    give(errno(ENOSYS)),
    load(NUMBER),
    // The x32 numbers of x86_64, a second way to every call.
    ...when(AT_LEAST, 0x40000000, errno(ENOSYS)),
    ...when(EQUAL, CLONE3, errno(ENOSYS)),
    ...[...refused, ...SHARED_CALLS].flatMap((call) => when(EQUAL, call, errno(EPERM))),
    ...forCall(CALLS.clone[column], [load(ARG0), ...when(ANY_BIT, CLONE_NEWUSER, errno(EPERM)), give(ALLOW)]),
    ...forCall(CALLS.ioctl[column], [
      load(ARG1),
      ...TERMINAL_IOCTLS.flatMap((request) => when(EQUAL, request, errno(EPERM))),
      give(ALLOW),
    ]),
    ...forCall(CALLS.socket[column], [
      load(ARG0),
      ...SOCKET_FAMILIES.flatMap((family) => when(EQUAL, family, ALLOW)),
      give(errno(EAFNOSUPPORT)),
    ]),
    give(ALLOW),
  ];
}

/** An array of `struct sock_filter`, or undefined for a processor without a table. */
export function seccompFilter(arch: string = Deno.build.arch): Uint8Array<ArrayBuffer> | undefined {
  const architecture = ARCHITECTURES[arch];
  if (architecture === undefined) return undefined;
  const program = instructions(architecture);
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, yes, no, value]] of program.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, yes);
    view.setUint8(index * 8 + 3, no);
    view.setUint32(index * 8 + 4, value, true);
  }
  return bytes;
}
