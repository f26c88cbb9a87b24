/**
 * System calls that a jailed command has no business with, as a classic BPF program for bubblewrap.
 * Namespaces do not cover all of the kernel: key rings, virtual machine sockets and the terminal's input are
 * shared with the host.
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

/** Its flags lie in memory where no filter can look; programs fall back to clone. */
const CLONE3 = 435;

const ARCHITECTURES: { readonly [arch: string]: Architecture } = {
  x86_64: { audit: 0xc000003e, column: 0 },
  aarch64: { audit: 0xc00000b7, column: 1 },
};

/** Calls that depend on an argument. */
const CONDITIONAL: readonly string[] = ["clone", "ioctl", "socket"];

/**
 * Local, internet and netlink sockets; all other families reach beyond the network namespace or are rarely
 * used kernel code.
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
/** Returns `result` when the comparison holds, else goes on. */
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

/** The filter as an array of `struct sock_filter`, or undefined for a processor there is no table for. */
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
