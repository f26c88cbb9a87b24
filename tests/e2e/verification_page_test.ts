/** docs/verification.md: its example runs as it is printed there. */
import { assert, assertEquals } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/verification.md", import.meta.url));

Deno.test("the example of docs/verification.md runs as it is printed", async () => {
  const [, config = ""] = /<!-- config -->\n\n```toml\n(.*?)```/s.exec(PAGE) ?? [];
  const [, script = ""] = /whose `test\.sh` is `(.*?)`/.exec(PAGE) ?? [];
  const [command = "", ...lines] = (/```console\n\$ (.*?)\n```/s.exec(PAGE)?.[1] ?? "").split("\n");
  assert(config !== "" && script !== "" && lines.length === 3);
  const write = (content: string) => ({
    calls: [{ name: "write_file", args: { path: "app.js", content } }],
  });
  await using server = startModelServer([write("bad"), { text: "Done." }, write("good"), {
    text: lines.at(-1) ?? "",
  }]);
  await using world = await makeWorld(mockConfig(server.url, `[permissions]\nmode = "allow"\n${config}`));
  await world.write("test.sh", `${script}\n`);
  const { stdout, stderr } = await world.run(["run", /"(.*)"/.exec(command)?.[1] ?? ""]);
  const shown = [...stderr.split("\n"), ...stdout.split("\n")].map((line) => line.trim());
  assertEquals(lines.filter((line) => !shown.includes(line)), [], stderr);
});
