import { PluginError } from "../../../../plugins/common/plugin.ts";
import { fetchPage, type Network, pageUrl, resolveName } from "../../../../plugins/web/fetch.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { coversAddress } from "../../../../src/sandbox/network/hosts.ts";
import { deniedRanges, isPrivate, parseRange } from "../../../../plugins/web/private.ts";
import { privateAddresses } from "../../../support/private_addresses.ts";

const ranges = (...texts: string[]) => texts.flatMap((text) => parseRange(text) ?? []);

Deno.test("private and special addresses of both families are refused, public ones are not", () => {
  const refused =
    `168.63.129.16 ::ffff:168.63.129.16 100.100.100.200 0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254
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

Deno.test("what jailed commands cannot reach as public, the plugin does not reach either", () => {
  const numbers = [0, 1, 10, 63, 64, 88, 100, 127, 128, 129, 168, 169, 172, 192, 198, 200, 224, 254, 255];
  const tails = ["0.0", "0.1", "100.200", "129.16", "169.254", "255.255"];
  const v4 = numbers.flatMap((a) => numbers.flatMap((b) => tails.map((tail) => `${a}.${b}.${tail}`)));
  const v6 = ["::", "::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "fc00::1", "fd00:ec2::254"]
    .concat(["2002:7f00:1::1", "2002:a83f:8110::1", "64:ff9b::a83f:8110", "64:ff9b:1::7f00:1"]);
  const all = [...v4, ...v6, ...v4.map((address) => `::ffff:${address}`)];
  const closed = all.filter((address) => !coversAddress("public", address));
  assert(closed.length > 1000, String(closed.length));
  assertEquals(closed.filter((address) => !isPrivate(address, [])), []);
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

/** Counts the connections to a port of both loopback addresses. */
function countConnections() {
  const first = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const listeners = [first];
  try {
    listeners.push(Deno.listen({ hostname: "::1", port: first.addr.port }));
  } catch { /* this machine has no IPv6, or its port is in use */ }
  let count = 0;
  const accepting = listeners.map(async (listener) => {
    for await (const connection of listener) {
      count++;
      connection.close();
    }
  });
  return {
    port: first.addr.port,
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const listener of listeners) listener.close();
      await Promise.all(accepting);
    },
  };
}

Deno.test("no spelling of a private address is reached with the ranges of the runtime off", async () => {
  await using server = countConnections();
  const names: Record<string, string> = {
    "metadata.google.internal": "169.254.169.254",
    "foo.localhost": "127.0.0.1",
    "localhost.": "127.0.0.1",
    "intranet.test": "10.0.0.1",
    "six.test": "::1",
    "mapped.test": "::ffff:127.0.0.1",
  };
  const network: Network = {
    allowed: [],
    proxies: { except: [] },
    maxBytes: 1e6,
    seconds: 20,
    resolve: async (host) => host in names ? [names[host] ?? ""] : await resolveName(host),
  };
  const addresses = [
    ...privateAddresses(server.port),
    ...Object.keys(names).map((name) => `http://${name}:${server.port}/`),
  ];
  assert(addresses.length >= 40, `${addresses.length} addresses`);
  for (const address of addresses) {
    const fetched = (async () =>
      await fetchPage(network, pageUrl(address), {}, AbortSignal.timeout(20_000)))();
    const text = await fetched.then(
      () => "",
      (error) => error instanceof PluginError ? error.text : `bug: ${error}`,
    );
    assert(/^Cannot open [^\n]+$/.test(text) && !text.includes("password@"), `${address}: ${text}`);
  }
  assertEquals(server.count(), 0);
});

Deno.test("no spelling of a private IPv4 address is reached with the check of the code off", async () => {
  await using server = countConnections();
  const addresses = privateAddresses(server.port).filter((address) => URL.canParse(address));
  const code = `import net from "node:net";
    const connected = (host) => new Promise((resolve) => {
      const port = ${server.port};
      net.connect({ host, port }).once("error", (error) => resolve(error.name)).once("connect", () => resolve("open"));
    });
    const hosts = ["127.0.0.1", "localhost", "0.0.0.0", "10.9.9.9", "169.254.169.254", "168.63.129.16", "::1", "::ffff:127.0.0.1"];
    for (const host of hosts) console.log(host, await connected(host));
    for (const url of ${JSON.stringify(addresses)}.filter((each) => /^https?:/.test(each))) {
      const { hostname } = new URL(url);
      if (hostname.startsWith("[")) continue;
      const line = await fetch(url.replace(/[\\w.]*:?\\w*@/, "")).then(() => "open", ({ name, message, cause }) => [name, message, cause?.message].join(" "));
      console.log(url, /NotCapable|Requires net access/.test(line) ? "NotCapable" : line);
    }`;
  const flags = [
    "run",
    "--quiet",
    "--no-prompt",
    "--no-config",
    "--allow-net",
    `--deny-net=${deniedRanges([]).join()}`,
  ];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...flags, `data:application/javascript,${encodeURIComponent(code)}`],
    clearEnv: true,
  }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  assert(lines.length > 30, new TextDecoder().decode(stderr));
  assertEquals(lines.filter((line) => !line.endsWith(" NotCapable")), []);
  assertEquals(server.count(), 0);
});
