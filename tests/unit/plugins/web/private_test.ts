import { assertEquals } from "../../../support/assert.ts";
import { deniedRanges, isPrivate, parseRange } from "../../../../plugins/web/private.ts";

const ranges = (...texts: string[]) => texts.flatMap((text) => parseRange(text) ?? []);

Deno.test("private and special addresses of both families are refused, public ones are not", () => {
  const refused =
    `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254
    172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255
    198.51.100.1 203.0.113.9 224.0.0.251 239.255.255.250 240.0.0.1 255.255.255.255
    :: ::1 ::ffff:127.0.0.1 ::ffff:a00:1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1 ::127.0.0.1 100::1
    2001::1 2001:2::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1
    fe80::1 fe80::1%eth0 fec0::1 ff02::1 [::1] not-an-address 1.2.3 1.2.3.256 1.2.3.4.5 :::`.split(/\s+/);
  assertEquals(refused.filter((address) => !isPrivate(address, [])), []);
  const open = `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
    172.15.255.255 172.32.0.0 192.0.1.1 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8
    64:ff9b::808:808 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 [2606:4700::1111]`.split(/\s+/);
  assertEquals(open.filter((address) => isPrivate(address, [])), []);
});

Deno.test("an allowed range opens exactly its addresses in both layers", () => {
  const allowed = ranges("10.1.0.0/16", "127.0.0.1", "fd12::/16", "::1");
  assertEquals(
    ["10.1.0.0", "10.1.255.255", "127.0.0.1", "::ffff:10.1.2.3", "fd12::9", "::1"]
      .filter((address) => isPrivate(address, allowed)),
    [],
  );
  assertEquals(
    ["10.0.255.255", "10.2.0.0", "127.0.0.2", "fd13::1", "::"].filter((each) => !isPrivate(each, allowed)),
    [],
  );
  const denied = deniedRanges(allowed);
  assertEquals(denied.includes("[::1]"), false);
  const covered = ranges(...denied.filter((text) => !text.startsWith("[")));
  const isDenied = (address: string) =>
    !isPrivate(address, []) || covered.some(({ base, prefix }) => {
      const free = BigInt(32 - prefix);
      return (ranges(address)[0]?.base ?? -1n) >> free === base >> free;
    });
  for (const address of ["10.1.0.0", "10.1.255.255", "127.0.0.1"]) {
    assertEquals(isDenied(address), false, address);
  }
  for (
    const address of ["10.0.255.255", "10.2.0.0", "10.255.0.1", "127.0.0.0", "127.0.0.2", "169.254.169.254"]
  ) {
    assertEquals(isDenied(address), true, address);
  }
});

Deno.test("ranges with host bits, long prefixes and other text are no ranges", () => {
  for (const text of ["10.1.0.1/16", "10.0.0.0/33", "::/129", "10.0.0.0/", "intranet", "10.0.0", "", "1/8"]) {
    assertEquals(parseRange(text), undefined, text);
  }
});

Deno.test("the runtime starts with the denied ranges and refuses their addresses", async () => {
  const code = `import net from "node:net";
    for (const host of ["127.0.0.1", "10.9.9.9", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.0"]) {
      const error = await new Promise((resolve) => net.connect({ host, port: 9 }).once("error", resolve));
      console.log(host, error.name);
    }`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "run",
        "--quiet",
        "--no-prompt",
        "--no-config",
        "--allow-net",
        `--deny-net=${deniedRanges([]).join()}`,
      ],
      `data:application/typescript,${encodeURIComponent(code)}`,
    ],
  }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  assertEquals(
    lines.map((line) => line.split(" ")[1]),
    Array(6).fill("NotCapable"),
    new TextDecoder().decode(stderr),
  );
});
