import { installationOf, managerOf, MARKER, names } from "../../../cli/release/channel.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

interface Case {
  readonly name: string;
  /** Path of the program below a temporary directory. */
  readonly program: string;
  readonly marker?: string;
  readonly channel: string;
  readonly from?: string;
}

const CASES: readonly Case[] = [
  {
    name: "a marker names the channel",
    program: "lib/reasonix",
    marker: '{ "channel": "deb" }',
    channel: "deb",
  },
  {
    name: "a marker names the mirror",
    program: "lib/reasonix",
    marker: '{ "channel": "script", "from": "https://mirror.example" }',
    channel: "script",
    from: "https://mirror.example",
  },
  {
    name: "a marker counts more than the layout",
    program: "node_modules/a/reasonix.js",
    marker: '{ "channel": "image" }',
    channel: "image",
  },
  {
    name: "an unknown channel is ignored",
    program: "a/reasonix.js",
    marker: '{ "channel": "rpm" }',
    channel: "file",
  },
  { name: "a file of another program is ignored", program: "a/reasonix.js", marker: "[1", channel: "file" },
  { name: "a package of npm", program: "lib/node_modules/@x/y/reasonix.js", channel: "npm" },
  {
    name: "a keg of Homebrew",
    program: "opt/homebrew/Cellar/reasonix/1.0.0/libexec/reasonix",
    channel: "homebrew",
  },
  { name: "an app of Scoop", program: "u/scoop/apps/reasonix/current/reasonix.exe", channel: "scoop" },
  { name: "a package of winget", program: "Microsoft/WinGet/Packages/X.Y_z/reasonix.exe", channel: "winget" },
  { name: "the sources", program: "clone/cli/main.ts", channel: "clone" },
  { name: "the bundle of a clone", program: "clone/dist/reasonix.js", channel: "clone" },
  { name: "a copied bundle", program: "a/reasonix.js", channel: "file" },
  { name: "a copied executable", program: "bin/reasonix", channel: "executable" },
];

Deno.test("the way of installation comes from the marker, else from the location of the program", async () => {
  await using temp = await makeTempDir();
  await Deno.mkdir(`${temp.path}/clone/cli`, { recursive: true });
  await Deno.writeTextFile(`${temp.path}/clone/cli/main.ts`, "");
  for (const { name, program, marker, channel, from } of CASES) {
    const path = `${temp.path}/${program}`;
    const directory = path.replace(/\/[^/]*$/, "");
    await Deno.mkdir(directory, { recursive: true });
    await Deno.writeTextFile(path, "");
    if (marker !== undefined) await Deno.writeTextFile(`${directory}/${MARKER}`, marker);
    const wanted = { channel, program: path, ...(from === undefined ? {} : { from }) };
    assertEquals(installationOf(path), wanted as ReturnType<typeof installationOf>, name);
    assertEquals(installationOf(`file://${path}`).channel, channel, `${name}, by its address`);
    if (marker !== undefined) await Deno.remove(`${directory}/${MARKER}`);
  }
  // A manager's link outside of its directory leads to the program.
  await Deno.symlink(`${temp.path}/lib/node_modules/@x/y/reasonix.js`, `${temp.path}/bin/link`);
  assertEquals(installationOf(`${temp.path}/bin/link`).channel, "npm");
  const address = "https://host.example/reasonix.js";
  assertEquals(installationOf(address), { channel: "address", program: address });
  assertEquals(installationOf().channel, "clone");
});

Deno.test("the lines of package managers use one set of names", () => {
  const { npm, winget, image } = names();
  const lines = (["npm", "deb", "homebrew", "scoop", "winget", "image"] as const).map((channel) => {
    const manager = managerOf(channel);
    return `${manager?.update("1.2.3")} · ${manager?.remove}`;
  });
  assertEquals(lines[0], `npm install -g ${npm}@1.2.3 · npm rm -g ${npm}`);
  assertEquals(
    /\/v1\.2\.3\/(reasonix_1\.2\.3_a(?:md|rm)64\.deb) && sudo apt install \.\/\1/.test(lines[1] ?? ""),
    true,
  );
  assertEquals(lines.slice(2), [
    "brew upgrade reasonix · brew uninstall reasonix",
    "scoop update reasonix · scoop uninstall reasonix",
    `winget upgrade --id ${winget} · winget uninstall --id ${winget}`,
    `podman pull ${image}:1.2.3 · podman rmi ${image}`,
  ]);
  for (const channel of ["script", "address", "file", "clone", "executable"] as const) {
    assertEquals(managerOf(channel), undefined);
  }
});
