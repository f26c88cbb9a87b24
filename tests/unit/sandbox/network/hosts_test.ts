import { ReasonixError } from "../../../../src/core/mod.ts";
import { coversAddress, HostList, normalizeHost } from "../../../../src/sandbox/network/hosts.ts";
import { assertEquals, assertThrows } from "../../../support/assert.ts";

const LIST = [
  "example.com",
  "*.github.com",
  "deep.host:8443",
  "10.0.0.7",
  "[::1]:9000",
  "localhost:3000",
  "bücher.example",
];

Deno.test("HostList matches a destination by the entry that names it", () => {
  const list = new HostList(LIST);
  const cases: [string, number, string][] = [
    ["example.com", 443, "private"],
    ["example.com", 80, "private"],
    ["example.com", 22, "refused"],
    ["www.example.com", 443, "refused"],
    ["evilexample.com", 443, "refused"],
    ["example.com.evil.org", 443, "refused"],
    ["api.github.com", 443, "public"],
    ["a.b.github.com", 443, "public"],
    ["github.com", 443, "refused"],
    ["xgithub.com", 443, "refused"],
    ["deep.host", 8443, "private"],
    ["deep.host", 443, "refused"],
    ["10.0.0.7", 80, "any"],
    ["10.0.0.8", 80, "refused"],
    ["::1", 9000, "any"],
    ["::1", 80, "refused"],
    ["localhost", 3000, "any"],
    ["localhost", 80, "refused"],
    ["xn--bcher-kva.example", 443, "private"],
  ];
  for (const [host, port, decision] of cases) {
    assertEquals(list.judge({ host, port }), decision, `${host}:${port}`);
  }
});

Deno.test("HostList with an asterisk allows every name but no bare address", () => {
  const list = new HostList(["*", "*:8080"]);
  assertEquals(list.judge({ host: "a.example", port: 443 }), "public");
  assertEquals(list.judge({ host: "a.example", port: 8080 }), "public");
  assertEquals(list.judge({ host: "a.example", port: 25 }), "refused");
  assertEquals(list.judge({ host: "8.8.8.8", port: 443 }), "refused");
  assertEquals(list.judge({ host: "2001:db8::1", port: 443 }), "refused");
});

Deno.test("HostList reports an invalid entry", () => {
  for (
    const entry of [
      "",
      "https://x.example",
      "a b",
      "x.example:",
      "x.example:99999x",
      "*.*",
      "*x.example",
      "x/y",
      "::1",
    ]
  ) {
    assertThrows(() => new HostList([entry]), ReasonixError, JSON.stringify(entry));
  }
});

Deno.test("normalizeHost maps all spellings of a host to one form", () => {
  const cases: [string, string | undefined][] = [
    ["EXAMPLE.com.", "example.com"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["2130706433", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["[::1]", "::1"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["::ffff:127.0.0.1", "::ffff:7f00:1"],
    ["a/b", undefined],
    ["user@host", undefined],
    ["a b", undefined],
    ["", undefined],
    ["a%00b", undefined],
    ["a\\b", undefined],
    ["a?b", undefined],
  ];
  for (const [host, expected] of cases) assertEquals(normalizeHost(host), expected, host);
});

Deno.test("coversAddress rejects names that resolve to this machine, its network or the metadata service", () => {
  const cases: [string, boolean, boolean][] = [
    ["93.184.216.34", true, true],
    ["2606:4700::1", true, true],
    ["10.1.2.3", true, false],
    ["192.168.1.1", true, false],
    ["172.20.0.1", true, false],
    ["172.32.0.1", true, true],
    ["100.64.0.1", true, false],
    ["fd00::1", true, false],
    ["127.0.0.1", false, false],
    ["::ffff:7f00:1", false, false],
    ["::ffff:10.0.0.1", true, false],
    ["::127.0.0.1", false, false],
    ["64:ff9b::a00:1", true, false],
    ["64:ff9b::169.254.169.254", false, false],
    ["2002:7f00:1::", false, false],
    ["2002:c0a8:101::1", true, false],
    ["fec0::1", true, false],
    ["198.18.0.1", true, false],
    ["100.100.100.200", false, false],
    ["168.63.129.16", false, false],
    ["fd00:ec2::254", false, false],
    ["::1", false, false],
    ["::", false, false],
    ["::ffff:127.0.0.1", false, false],
    ["::FFFF:10.0.0.1", true, false],
    ["169.254.169.254", false, false],
    ["fe80::1", false, false],
    ["0.0.0.0", false, false],
    ["224.0.0.1", false, false],
  ];
  for (const [address, asNamed, asWildcard] of cases) {
    assertEquals(coversAddress("private", address), asNamed, address);
    assertEquals(coversAddress("public", address), asWildcard, address);
    assertEquals(coversAddress("any", address), true);
    assertEquals(coversAddress("refused", address), false);
  }
});
