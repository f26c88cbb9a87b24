import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const call = (name: string, args: Record<string, unknown>) => ({ calls: [{ name, args }] });
const BIN = Deno.execPath().replace(/\/[^/]*$/, "");

// deno-lint-ignore no-explicit-any
function results(request: { readonly json: any }): string[] {
  return request.json.messages.filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content);
}

Deno.test({
  name: "the result of an edit, or the next result, lists the type errors that it caused",
  ignore: Deno.build.os !== "linux" || !Deno.execPath().endsWith("/deno"),
  fn: async () => {
    let looks = 0;
    // Reads the file until the server, which starts with the first edit, has answered.
    const until = (turn: ReturnType<typeof call>) => (request: Parameters<typeof results>[0]) => {
      const heard = results(request).some((text) => text.includes("New errors"));
      if (heard || looks++ > 200) return turn;
      model.push(until(turn));
      return call("bash", { command: "sleep 0.2" });
    };
    const edit = (old_string: string, new_string: string) =>
      call("edit_file", { path: "a.ts", old_string, new_string });
    const model = startModelServer([
      call("read_file", { path: "a.ts" }),
      edit("= 1", '= "x"'),
      until(edit("文", "字")),
    ], { fallback: { text: "Done." } });
    await using _model = model;
    await using world = await makeWorld(mockConfig(model.url));
    await world.write("deno.json", "{}");
    await world.write("a.ts", "const old: string = 5;\nexport const 文: number = 1;\n");
    const env = { PATH: `${BIN}:/usr/bin:/bin` };
    const { code, stderr } = await world.run(["run", "--permission-mode", "workspace-write", "edit"], {
      env,
    });
    assertEquals(code, 0, stderr);
    const request = model.requests.at(-1);
    assert(request);
    const all = results(request);
    const reports = all.filter((text) => text.includes("New errors"));
    assertStringIncludes(
      reports.join("\n"),
      "a.ts:2:14: error Type 'string' is not assignable to type 'number'. (deno-ts)",
    );
    assert(!reports.join("\n").includes("a.ts:1:"), "an error that was there before");
  },
});
