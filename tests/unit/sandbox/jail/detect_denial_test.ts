import { looksJailDenied } from "../../../../src/sandbox/jail/jail.ts";
import { assertEquals } from "../../../support/assert.ts";

const LINUX = { backend: "bubblewrap", network: "none" } as const;
const MAC = { backend: "seatbelt", network: "filtered" } as const;

Deno.test("looksJailDenied recognizes how programs report a denied access", () => {
  const cases: [line: string, kind: "file" | "network" | "setup", host?: string][] = [
    ["touch: cannot touch '/etc/x': Read-only file system", "file"],
    ["Error: EROFS: read-only file system, open '/usr/x'", "file"],
    ["error: could not lock config file .git/config: Device or resource busy", "file"],
    ["OSError: [Errno 30] Read-only file system: '/x'", "file"],
    ["curl: (6) Could not resolve host: example.com", "network", "example.com"],
    ["npm error getaddrinfo EAI_AGAIN registry.example.org", "network", "registry.example.org"],
    ["go: dial tcp: lookup proxy.golang.org: no such host", "network", "proxy.golang.org"],
    ["failed to lookup address information: Temporary failure in name resolution", "network"],
    ["npm error code EAI_AGAIN", "network"],
    ["fatal: unable to access 'https://x/': Could not resolve host: x", "network"],
    ["ssh: connect to host 1.2.3.4 port 22: Network is unreachable", "network"],
    ["bwrap: Can't find source path /x: No such file or directory", "setup"],
  ];
  for (const [line, kind, host] of cases) {
    const denial = looksJailDenied({ exitCode: 1, output: `some output\n${line}\nmore\n` }, LINUX);
    assertEquals(denial, { kind, evidence: line, ...(host === undefined ? {} : { host }) });
  }
  assertEquals(
    looksJailDenied({ exitCode: 1, output: "sh: /x: Operation not permitted" }, MAC)?.kind,
    "file",
  );
});

Deno.test("looksJailDenied ignores other failures, success and unconfined runs", () => {
  const output = "touch: cannot touch '/etc/x': Read-only file system";
  assertEquals(looksJailDenied({ exitCode: 0, output }, LINUX), undefined);
  assertEquals(looksJailDenied({ exitCode: undefined, output }, LINUX), undefined);
  assertEquals(looksJailDenied({ exitCode: 1, output }, { ...LINUX, backend: "none" }), undefined);
  const others = [
    "FAIL src/a_test.ts",
    "cat: secret/key: Permission denied",
    "No such file or directory",
    "kill: No such process",
  ];
  for (const line of others) assertEquals(looksJailDenied({ exitCode: 1, output: line }, LINUX), undefined);
  const dns = "Could not resolve host: example.com";
  assertEquals(looksJailDenied({ exitCode: 1, output: dns }, { ...LINUX, network: "open" }), undefined);
});
