import { seccompFilter } from "../../../../src/sandbox/jail/backends/bubblewrap.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { sandboxTest } from "../support.ts";

interface SystemCall {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly number[];
}

const [X86, ARM] = [0xc000003e, 0xc00000b7];
const [ALLOW, EPERM, ENOSYS, EAFNOSUPPORT] = [0x7fff0000, 0x50001, 0x50026, 0x50061];

/** Runs a filter like the kernel. */
function judge(filter: Uint8Array<ArrayBuffer>, { arch, number, args = [] }: SystemCall): number {
  const view = new DataView(filter.buffer);
  const data: Record<number, number> = { 0: number, 4: arch, 16: args[0] ?? 0, 24: args[1] ?? 0 };
  let value = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, operand] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
    if (code === 0x06) return operand;
    if (code === 0x20) value = data[operand] ?? 0;
    else {
      const holds = code === 0x15
        ? value === operand
        : code === 0x35
        ? value >= operand
        : (value & operand) !== 0;
      at += view.getUint8(at * 8 + (holds ? 2 : 3));
    }
  }
  throw new Error("The filter has no end");
}

Deno.test("seccompFilter denies dangerous system calls and allows ordinary ones", () => {
  const filter = seccompFilter("x86_64") as Uint8Array<ArrayBuffer>;
  const cases: [string, SystemCall, number][] = [
    ["read", { arch: X86, number: 0 }, ALLOW],
    ["execve", { arch: X86, number: 59 }, ALLOW],
    ["ptrace", { arch: X86, number: 101 }, ALLOW],
    ["fork by clone", { arch: X86, number: 56, args: [0x01200011] }, ALLOW],
    ["clone with a user namespace", { arch: X86, number: 56, args: [0x10000011] }, EPERM],
    ["clone3", { arch: X86, number: 435 }, ENOSYS],
    ["mount", { arch: X86, number: 165 }, EPERM],
    ["keyctl", { arch: X86, number: 250 }, EPERM],
    ["unshare", { arch: X86, number: 272 }, EPERM],
    ["io_uring_setup", { arch: X86, number: 425 }, EPERM],
    ["bpf", { arch: X86, number: 321 }, EPERM],
    ["mount_setattr", { arch: X86, number: 442 }, EPERM],
    ["open_by_handle_at", { arch: X86, number: 304 }, EPERM],
    ["AF_UNIX", { arch: X86, number: 41, args: [1] }, ALLOW],
    ["AF_INET6", { arch: X86, number: 41, args: [10] }, ALLOW],
    ["AF_NETLINK", { arch: X86, number: 41, args: [16] }, ALLOW],
    ["AF_VSOCK", { arch: X86, number: 41, args: [40] }, EAFNOSUPPORT],
    ["AF_ALG", { arch: X86, number: 41, args: [38] }, EAFNOSUPPORT],
    ["AF_PACKET", { arch: X86, number: 41, args: [17] }, EAFNOSUPPORT],
    ["TCGETS", { arch: X86, number: 16, args: [0, 0x5401] }, ALLOW],
    ["TIOCSTI", { arch: X86, number: 16, args: [0, 0x5412] }, EPERM],
    ["TIOCLINUX", { arch: X86, number: 16, args: [0, 0x541c] }, EPERM],
    ["x32 mount", { arch: X86, number: 0x40000000 + 165 }, ENOSYS],
    ["i386", { arch: 0x40000003, number: 3 }, ENOSYS],
    ["arm on x86", { arch: ARM, number: 0 }, ENOSYS],
  ];
  for (const [name, call, decision] of cases) assertEquals(judge(filter, call), decision, name);
});

Deno.test("seccompFilter supports x86-64 and ARM and returns none for other processors", () => {
  const filter = seccompFilter("aarch64") as Uint8Array<ArrayBuffer>;
  assertEquals(judge(filter, { arch: ARM, number: 40 }), EPERM);
  assertEquals(judge(filter, { arch: ARM, number: 63 }), ALLOW);
  assertEquals(judge(filter, { arch: ARM, number: 198, args: [40] }), EAFNOSUPPORT);
  assertEquals(judge(filter, { arch: ARM, number: 165 }), ALLOW);
  assertEquals(judge(filter, { arch: X86, number: 0 }), ENOSYS);
  assertEquals(seccompFilter("riscv64"), undefined);
});

sandboxTest(
  jailed(
    "a jail with a cache directory runs under the filter, without core dumps and without its descriptor",
  ),
  async (g) => {
    const jail = await sandboxJail(g);
    const status = await sh(
      jail,
      g.ws,
      "grep -E '^Seccomp:' /proc/self/status; ulimit -c; ls /proc/self/fd | grep -cx [4-9]",
    );
    assertMatch(status.stdout, /^Seccomp:\s+2\n0\n0\n$/);
    const node = await sh(
      jail,
      g.ws,
      `${Deno.execPath()} eval 'console.log(await new Deno.Command("sh", {args: ["-c", "echo threads"]}).output().then((o) => o.code))'`,
    );
    assertEquals(node.stdout, "0\n");
    const loose = await sandboxJail(g, { mode: "auto" });
    const file = jail.data.probe.filter ?? "";
    assert(file.startsWith(`${g.base}/cache/`));
    await Deno.remove(file);
    assertEquals((await sandboxJail(g)).data.probe.filter, loose.data.probe.filter);
    assertEquals((await sh(loose, g.ws, "echo again")).stdout, "again\n");
  },
);
