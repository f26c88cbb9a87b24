import { loadTexts } from "../../../../src/i18n/mod.ts";
import { sampling } from "../../../../src/mcp/questions.ts";
import type { Provider } from "../../../../src/provider/mod.ts";
import type { Question } from "../../../../src/tool/mod.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { openMcp } from "../../../support/mcp/mcp_fixture.ts";
import { openPlugin, pluginCommandLine } from "../../../support/plugin_client.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const NAME = /stay in it: (.*)\.$/m;

/** Writes the name of the persona, or of the panel; fails for Nora. */
const provider: Provider = {
  name: "scripted",
  model: { provider: "scripted", id: "one", contextWindow: 0, vision: false },
  async *stream({ prefix: { system } }) {
    const name = NAME.exec(system)?.[1] ?? "the panel";
    await Promise.resolve();
    if (name === "Nora") {
      yield { type: "error", error: { kind: "server", message: "Nora is ill", retryable: false } };
    } else {
      yield { type: "text", text: `I am ${name}` };
      yield { type: "done", reason: "stop" };
    }
  },
};

Deno.test("the host runs the model for each persona after one approval, in the process of the plugin", async () => {
  await using temp = await makeTempDir();
  const stage = { workspace: temp.path, home: `${temp.path}/home` };
  const { command, args, env } = await pluginCommandLine("persona", stage);
  const asked: Question[] = [];
  const notices: string[] = [];
  let answer = "Allow this server for the session";
  const texts = await loadTexts("mcp_questions", "en");
  const host = (budget: number, hasUser = true) =>
    sampling({
      asker: hasUser
        ? {
          ask: ([question]) => {
            if (question) asked.push(question);
            return Promise.resolve([[answer]]);
          },
        }
        : undefined,
      texts: () => Promise.resolve(texts),
      notify: (text) => void notices.push(text),
      provider,
      budget,
      record: () => {},
    });
  let sample = host(20_000);
  await using mcp = await openMcp([{ name: "persona", command, args, env }], {
    questions: { sample: (...request) => sample(...request) },
  });
  await mcp.servers.start();
  const review = (personas: string) =>
    mcp.call("mcp__persona__persona_review", { content: "The plan", personas, panel: true });
  const { content, isError } = await review("Ada, Nora, Grace, Edsger, Barbara, Frances");
  assertEquals(isError ?? false, false, content);
  for (const name of ["Ada", "Grace", "Edsger", "Barbara", "Frances"]) {
    assertStringIncludes(content, `## ${name}\n\nI am ${name}`);
  }
  assertStringIncludes(content, "## Panel\n\nI am the panel");
  assertStringIncludes(content, "Failed: Nora: Nora is ill");
  assertEquals(content.split("I am Ada").length, 2, "the structured content is not repeated");
  assertEquals(asked.length, 1);

  sample = host(20_000);
  answer = "Decline";
  assertMatch((await review("Ada, Grace")).content, /Ada: The user declined[^]*Grace: The user declined/);
  sample = host(10);
  assertMatch((await review("Ada")).content, /Ada: The budget for messages of the model is used up/);
  sample = host(20_000, false);
  assertMatch((await review("Ada")).content, /Ada: No user is available.*; set providers = \["NAME"\]/);
});

Deno.test("the process of the plugin reads no file outside of the workspace", async () => {
  await using temp = await makeTempDir();
  const workspace = `${temp.path}/work`;
  await Deno.mkdir(workspace);
  await Deno.writeTextFile(`${temp.path}/secret.md`, "- Ada");
  await Deno.symlink(`${temp.path}/secret.md`, `${workspace}/link.md`);
  await using plugin = await openPlugin("persona", { workspace, home: `${temp.path}/home` });
  for (const personas of ["../secret.md", `${temp.path}/secret.md`, "link.md"]) {
    const { isError, content: [block] } = await plugin.client.callTool({
      name: "persona_review",
      arguments: { content: "The plan", personas },
    });
    assertEquals(isError, true);
    assertMatch(
      block?.type === "text" ? block.text : "",
      /^Cannot read .*: (?:it is outside of|Requires read access)/,
    );
  }
});
