import { readRule, webHost } from "../../../src/rule/mod.ts";
import { matchAddress } from "../../../src/rule/rule.ts";
import { assertEquals } from "../../support/assert.ts";

/** Rules, addresses, and whether the rule refuses and allows the address. */
const TABLE: readonly [rule: string, address: string, refuses: string, allows: string][] = [
  ["domain:docs.rs", "https://docs.rs/serde", "yes", "yes"],
  ["domain:docs.rs", "http://docs.rs", "yes", "yes"],
  ["domain:docs.rs", "https://DOCS.rs/serde", "yes", "yes"],
  ["domain:Docs.RS.", "https://docs.rs/serde", "yes", "yes"],
  ["domain:docs.rs", "https://docs.rs./serde", "yes", "yes"],
  ["domain:docs.rs", "https://docs.rs:8443/serde", "yes", "yes"],
  ["domain:docs.rs:443", "https://docs.rs:8443/serde", "yes", "yes"],
  ["domain:docs.rs", "https://docs%2Ers/serde", "yes", "yes"],
  ["domain:docs.rs", "https://docs。rs/serde", "yes", "yes"],
  ["domain:docs.rs", "https:docs.rs/serde", "yes", "yes"],
  ["domain:docs.rs", " https://docs.rs/serde", "yes", "yes"],
  ["domain:docs.rs", "https://user:key@docs.rs/serde", "yes", "no"],
  ["domain:docs.rs", "https://docs.rs@evil.example/", "maybe", "no"],
  ["domain:docs.rs", "https://evil.example/@docs.rs", "no", "no"],
  ["domain:docs.rs", "https://evil.example\\@docs.rs", "maybe", "no"],
  ["domain:docs.rs", "ftp://docs.rs/serde", "yes", "no"],
  ["domain:docs.rs", "foo://DOCS.rs/serde", "yes", "no"],
  ["domain:docs.rs", "docs.rs/serde", "yes", "no"],
  ["domain:docs.rs", "docs.rs:443/serde", "yes", "no"],
  ["domain:docs.rs", "//docs.rs/serde", "yes", "no"],
  ["domain:docs.rs", "no address", "maybe", "no"],
  ["domain:docs.rs", "file:///docs.rs", "no", "no"],
  ["domain:docs.rs", "https://docs.rs.evil.example/", "no", "no"],
  ["domain:docs.rs", "https://a.docs.rs/", "no", "no"],
  ["domain:*.docs.rs", "https://a.docs.rs/", "yes", "yes"],
  ["domain:*.docs.rs", "https://docs.rs/", "no", "no"],
  ["domain:*.docs.rs", "https://evil.example/.docs.rs", "no", "no"],
  ["domain:*.docs.rs", "https://evildocs.rs/", "no", "no"],
  ["domain:*", "https://evil.example/", "yes", "yes"],
  ["domain:münchen.example", "https://xn--mnchen-3ya.example/", "yes", "yes"],
  ["domain:xn--mnchen-3ya.example", "https://MÜNCHEN.example/", "yes", "yes"],
  ["domain:*.münchen.example", "https://a.xn--mnchen-3ya.example/", "yes", "yes"],
  ["domain:127.0.0.1", "http://2130706433/", "yes", "yes"],
  ["domain:127.0.0.1", "http://0x7f.1/", "yes", "yes"],
  ["domain:[::1]", "http://[0:0:0:0:0:0:0:1]:80/", "yes", "yes"],
  ["https://docs.rs/serde/*", "https://docs.rs/serde/latest?x=1#y", "yes", "yes"],
  ["https://docs.rs/serde/*", "https://DOCS.rs:443/%73erde/latest", "yes", "yes"],
  ["https://docs.rs/serde/*", "https://docs.rs/tokio/../serde/latest", "yes", "yes"],
  ["https://docs.rs/serde/*", "https://docs.rs/serde/../tokio", "no", "no"],
  ["https://docs.rs/serde/*", "http://docs.rs/serde/latest", "no", "no"],
  ["*://docs.rs/serde/*", "http://docs.rs/serde/latest", "yes", "yes"],
  ["https://*.docs.rs/*", "https://evil.example/x.docs.rs/y", "no", "no"],
  ["https://docs.rs", "https://docs.rs/", "yes", "yes"],
  ["https://docs.rs", "https://docs.rs/serde", "no", "no"],
];

Deno.test("rules for WebFetch hold for every spelling of a host, and allow no other one", () => {
  const found = TABLE.map(([rule, address]) => [
    rule,
    address,
    matchAddress(rule, "deny", address),
    matchAddress(rule, "allow", address),
  ]);
  assertEquals(found, TABLE.map((row) => [...row]));
});

Deno.test("readRule refuses what names neither a domain nor an address, with the form to write", () => {
  const problems = [
    "docs.rs",
    "domain:",
    "domain:docs.rs/serde",
    "domain:a b",
    "domain:user@docs.rs",
    "*docs.rs*",
  ]
    .map((inner) => readRule(`WebFetch(${inner})`)).map((read) => "message" in read ? read.remedy : "read");
  assertEquals(problems, [
    "write WebFetch(domain:docs.rs) or WebFetch(https://docs.rs/*)",
    "write WebFetch(domain:docs.example) or WebFetch(https://docs.example/*)",
    "write WebFetch(domain:docs.rs) or WebFetch(https://docs.rs/*)",
    "write WebFetch(domain:docs.example) or WebFetch(https://docs.example/*)",
    "write WebFetch(domain:docs.rs) or WebFetch(https://docs.rs/*)",
    "write WebFetch(domain:docs.rs) or WebFetch(https://docs.rs/*)",
  ]);
});

Deno.test("webHost names the host of a web address without credentials", () => {
  const addresses = [
    "https://Docs.RS.:8443/x",
    "http://[::1]/",
    "https://a:b@docs.rs/",
    "ftp://docs.rs",
    "docs.rs",
  ];
  assertEquals(addresses.map(webHost), ["docs.rs", "[::1]", undefined, undefined, undefined]);
});
