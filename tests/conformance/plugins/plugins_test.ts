/** Each plugin of the list in its process, behind the bare client of the SDK. */
import { PLUGINS } from "../../../plugins/plugins.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openPlugin } from "../../support/plugin_client.ts";
import { makeTempDir } from "../../support/tool_context.ts";

for (const { name } of PLUGINS) {
  Deno.test(`the plugin ${name} answers a bare client, refuses bad arguments, and ends with its input`, async () => {
    await using temp = await makeTempDir();
    const [workspace, home] = [`${temp.path}/work`, `${temp.path}/home`];
    await Deno.mkdir(workspace);
    await Deno.mkdir(home);
    const plugin = await openPlugin(name, { workspace, home });
    try {
      const { client } = plugin;
      assertEquals(client.getServerVersion()?.name, name);
      const { tools } = await client.listTools();
      assert(tools.length > 0);
      for (const tool of tools) {
        assert(tool.description !== undefined && tool.annotations !== undefined, tool.name);
        assertEquals(tool.inputSchema.type, "object");
        const required = tool.inputSchema.required ?? [];
        // No argument of a tool is an empty table.
        const bad = Object.fromEntries(required.map((key) => [key, {}]));
        const answer = client.callTool({ name: tool.name, arguments: bad });
        if (required.length === 0) await answer;
        else assert(await answer.then(({ isError }) => isError === true, () => true), tool.name);
      }
      const unknown = client.callTool({ name: "no_such_tool", arguments: {} });
      assert(await unknown.then(({ isError }) => isError === true, () => true));
      assertEquals((await client.listTools()).tools.length, tools.length);
    } finally {
      await plugin.client.close();
    }
    // The transport closes the input, and reports the end of the process.
    await plugin.closed;
    assertEquals(plugin.log(), "");
  });
}
