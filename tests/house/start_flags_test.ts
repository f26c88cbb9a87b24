import { installLine } from "../../scripts/gen_tables.ts";
import { START_FLAGS, startFlagsFor } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { installLines } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the task and the install lines of docs/start.md have the flags of the bundle", async () => {
  const lines = await installLines();
  const [address = "", npx = "", file = ""] = lines;
  assertStringIncludes(file, `deno install -g ${START_FLAGS.join(" ")} -n reasonix`);
  const remote = startFlagsFor("https://example.org/reasonix.js");
  assertStringIncludes(address, `deno install -g ${remote.join(" ")} -n reasonix`);
  assertStringIncludes(npx, `run ${remote.join(" ")} --no-config https://example.org/reasonix.js install`);
  assertStringIncludes(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
    `"deno run ${START_FLAGS.join(" ")} cli/main.ts"`,
  );
});

Deno.test("start flags never contain -A, which an installed command would turn into all permissions", () => {
  assert(!START_FLAGS.some((flag) => ["-A", "--allow-all", "--allow-ffi"].includes(flag)));
  assert(START_FLAGS.includes("--no-remote"));
  assertEquals(startFlagsFor("file:///x/reasonix.js"), START_FLAGS);
  const remote = startFlagsFor("http://127.0.0.1:80/reasonix.js").join(" ");
  assertStringIncludes(remote, "--deny-ffi --allow-import=127.0.0.1");
  assert(!remote.includes("no-remote"));
});

Deno.test("the runtime writes nothing to the terminal, however the program is started", () => {
  for (const flags of [START_FLAGS, startFlagsFor("https://example.org/reasonix.js")]) {
    assertEquals(flags[0], "--quiet");
  }
});

Deno.test("a front page installs by npm once the package has a name, and from a clone before", () => {
  const comments = { npm: "brings its runtime", clone: "in a clone", key: "key" };
  assertEquals(
    installLine({ name: "an-agent", key: "RWx" }, comments),
    "```sh\nnpm install -g an-agent   # brings its runtime\n# key: RWx\n```",
  );
  const lines = installLine({}, comments).split("\n");
  assertEquals(lines.slice(0, 2), ["```sh", "# in a clone"]);
  assert(
    /^npx -y deno@\S+ task npm && npm install -g --install-links \.\/dist\/npm$/.test(lines[2] ?? ""),
    lines[2],
  );
});

for (const [page, title] of [["README.md", "## Install"], ["README.zh-CN.md", "## 安装"]] as const) {
  Deno.test(`${page} says in at most 10 lines how to install, without flags of the runtime`, async () => {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    const section = text.split(`${title}\n`)[1]?.split("\n## ")[0] ?? "";
    const lines = section.split("\n").filter((line) => line !== "");
    assert(lines.length > 0 && lines.length <= 10, lines.join("\n"));
    assert(!text.includes("--allow-"), `${page} has flags of the runtime`);
  });
}
