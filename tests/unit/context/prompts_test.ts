/**
 * A changed byte of a prompt invalidates the cached prefix of every user. Record a deliberate change with
 * UPDATE_GOLDEN=1.
 */
import { agentModePrompt } from "../../../src/run/context/non_interactive.ts";
import { summarize, type SummaryTask } from "../../../src/context/compaction/summary.ts";
import { systemPrompt } from "../../../src/context/mod.ts";
import { openConversation, Recorder } from "../../../src/control/mod.ts";
import { MemoryStore } from "../../../src/control/memory_store.ts";
import { taughtPrefix } from "../../../src/provider/tool_modes/taught_form.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals } from "../../support/assert.ts";

const TOOLS = [
  {
    name: "list",
    description: "Lists a directory.\n",
    parameters: { type: "object", properties: { deep: { type: "boolean", default: false } } },
  },
  {
    name: "write",
    description: "Writes a file.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Where to" },
        content: { type: "string" },
        mode: { type: "string", enum: ["new", "end"], description: "How,\n  if not anew" },
        times: { type: "integer", minimum: 1, maximum: 9 },
        marks: { type: "array", items: { type: "string" }, description: "Marks" },
      },
      required: ["path", "content"],
    },
  },
];
const DIRECTORY = new URL("../../golden/prompts/", import.meta.url);

/** The last message of the request for a summary. */
async function summaryPrompt(more: Partial<SummaryTask>): Promise<string> {
  const conversation = new Recorder(new MemoryStore());
  await openConversation(conversation, { system: "Be brief.", tools: [], model: "m" });
  const provider = scriptedProvider([say("a summary")]);
  const task = { provider, conversation, removed: [], limit: 1000, window: undefined, tokens: 0 };
  await summarize({ ...task, replacesSummaries: false, ...more }, new AbortController().signal);
  return String(provider.requests[0]?.at(-1)?.content);
}

const PROMPTS: Readonly<Record<string, () => string | Promise<string>>> = {
  "system.md": () => systemPrompt({ instructions: [] }),
  "system_with_everything.md": () =>
    systemPrompt({
      reasoningLanguage: "en",
      skills: "# Skills\n- marks: Makes marks",
      instructions: [
        { path: "/h/AGENTS.md", label: "AGENTS.md (user)", text: "Use tabs\n" },
        { path: "/w/AGENTS.md", label: "AGENTS.md (project)", text: "Run the tests\n" },
      ],
    }),
  "system_without_tools.md": () => systemPrompt({ instructions: [], withoutTools: true }),
  "taught_tools.md": () => taughtPrefix({ system: "Be brief.\n", tools: TOOLS }).system,
  "summary.md": () => summaryPrompt({}),
  "several_turns.md": () => `${agentModePrompt("allow")}\n\n---\n\n${agentModePrompt("deny")}\n`,
  "summary_with_everything.md": () => summaryPrompt({ replacesSummaries: true, hint: "the port numbers" }),
};

for (const [name, prompt] of Object.entries(PROMPTS)) {
  Deno.test(`the prompt is sent as recorded in tests/golden/prompts/${name}`, async () => {
    const file = new URL(name, DIRECTORY);
    const now = await prompt();
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed prompt is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}

Deno.test("tests/golden/prompts has only files of existing prompts", () => {
  assertEquals([...Deno.readDirSync(DIRECTORY)].map(({ name }) => name).sort(), Object.keys(PROMPTS).sort());
});
