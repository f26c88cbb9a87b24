import { openPlugin } from "../support/plugin_client.ts";
import { makeTempDir } from "../support/tool_context.ts";
Deno.test("x", async () => {
  await using temp = await makeTempDir();
  await Deno.mkdir(`${temp.path}/work`);
  await Deno.writeTextFile(`${temp.path}/work/a.ts`, "export function run() {}\n");
  await using map = await openPlugin("map", { workspace: `${temp.path}/work`, home: `${temp.path}/home` });
  console.log(await map.client.callTool({ name: "repo_map", arguments: {} }), map.log());
});
