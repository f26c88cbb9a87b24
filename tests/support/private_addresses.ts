/** Addresses of this machine and of private networks, in every spelling: no page comes from them. */
export function privateAddresses(port: number): string[] {
  const spellings = [
    ...[
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f000001",
      "0x7f.1",
      "0177.0.0.1",
      "017700000001",
      "127.0.0.1.",
    ],
    ...[
      "0",
      "0.0.0.0",
      "127.255.255.254",
      "①②⑦.⓪.⓪.①",
      "127。0。0。1",
      "localhost",
      "LOCALHOST",
    ],
    ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"],
    ...["[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]"],
    ...["user:password@127.0.0.1", "example.com@127.0.0.1"],
  ].map((host) => `http://${host}:${port}/`);
  return [
    ...spellings,
    ...[`https://127.0.0.1:${port}/`, `http:127.0.0.1:${port}/`, `http:\\\\127.0.0.1:${port}\\`],
    ...["http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://[fd00:ec2::254]/latest/"],
    ...[
      "http://10.0.0.1/",
      "http://172.16.0.1/",
      "http://192.168.0.1/",
      "http://100.64.0.1/",
      "http://224.0.0.1/",
    ],
    ...["file:///etc/hosts", `ftp://127.0.0.1:${port}/`, "data:text/html,hi"],
    ...[`ws://127.0.0.1:${port}/`, `view-source:http://127.0.0.1:${port}/`, "http://127.0.0.1:99999/"],
  ];
}
