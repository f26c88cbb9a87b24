/** An editor gives and takes the texts of files by the Agent Client Protocol. */
import { methods, RequestError } from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { FakeEditor } from "../support/fake_editor.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

function call(name: string, args: Record<string, unknown>) {
  return { calls: [{ name, args }] };
}

const edit = (old_string: string, new_string: string) =>
  call("edit_file", { path: "a.txt", old_string, new_string });

Deno.test("an editor's unsaved text is read and edited through the editor, once, after approval", async () => {
  await using server = startModelServer([
    call("read_file", { path: "a.txt" }),
    edit("unsaved", "edited"),
    { text: "Edited." },
    edit("edited", "refused"),
    { text: "Refused." },
    edit("edited", "lost"),
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "one\n");
  const path = `${world.dir}/a.txt`;
  const editor = new FakeEditor(world.dir);
  editor.buffers.set(path, "unsaved\n");
  const stalled = Promise.withResolvers<void>();
  const { fs, session } = methods.client;
  const acp = await startAcp(world, {
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    on: {
      [fs.readTextFile]: async ({ params, signal }) => ({
        content: await editor.read(params.path, signal) ?? "",
      }),
      [fs.writeTextFile]: async ({ params, signal }) => {
        if (editor.writing === "stalls") stalled.resolve();
        await editor.write(params.path, params.content, signal).catch((error) => {
          throw RequestError.internalError({ details: error.message });
        });
        return {};
      },
      [session.requestPermission]: ({ params }) => {
        editor.requests.push(`approve ${params.toolCall.title}`);
        const allow = params.options.find(({ kind }) => kind === "allow_once");
        return { outcome: { outcome: "selected", optionId: allow?.optionId ?? "" } };
      },
    },
  });
  const id = await acp.newSession();
  assertEquals(await acp.prompt(id, "edit"), "end_turn");
  assertEquals(await world.read("a.txt"), "edited\n");
  const approved = editor.requests.findIndex((each) => each.startsWith("approve"));
  const written = editor.requests.flatMap((each, at) => each.startsWith("write") ? [at] : []);
  assert(approved >= 0 && written.length === 1 && (written[0] ?? 0) > approved, editor.requests.join());
  const [diff] = acp.updates(id).flatMap((update) =>
    "content" in update && Array.isArray(update.content)
      ? update.content.flatMap((part) => part.type === "diff" ? [part] : [])
      : []
  ).slice(-1);
  assertEquals([diff?.path, diff?.oldText, diff?.newText], [path, "unsaved\n", "edited\n"]);

  editor.writing = "refuses";
  assertEquals(await acp.prompt(id, "edit"), "end_turn");
  const results = JSON.stringify(server.requests.at(-1));
  assertStringIncludes(results, "the editor refused it (Internal error: disk is full); nothing was written");

  const states = acp.updates(id).flatMap((update) =>
    update.sessionUpdate === "tool_call_update" && update.status ? [update.status] : []
  );
  assertEquals(states.filter((status) => status === "failed" || status === "completed"), [
    ...["completed", "completed", "failed"],
  ]);

  // The editor dies in the middle of a write.
  editor.writing = "stalls";
  void acp.prompt(id, "edit").catch(() => {});
  await stalled.promise;
  await acp.end();
  assertEquals(await world.read("a.txt"), "edited\n");
  assertEquals(editor.requests.filter((each) => each.startsWith("write")).length, 3);
});
