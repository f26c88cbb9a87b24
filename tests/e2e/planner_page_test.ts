/** docs/subagents.md, "Two models": its configuration loads and its example runs as it is printed. */
import { assertEquals } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { planOf } from "../support/planner_stage.ts";
import { makeWorld, withoutTimes } from "../support/program.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/subagents.md", import.meta.url));

/** Removes text that differs from run to run. */
const plain = (line: string) => withoutTimes(line).replace(/\d+\.\d s/, "0.0 s");

Deno.test("the example of two models runs as it is printed", async () => {
  const [, config = ""] = /<!-- file: config.toml -->\n\n```toml\n(.*?)```/s.exec(PAGE) ?? [];
  const example = /<!-- example: two models -->\n\n```console\n\$ (.*?)\n```/s.exec(PAGE)?.[1] ?? "";
  const [command = "", ...lines] = example.split("\n");
  const plan = planOf(
    "list prints JSON with --json",
    "Add the flag in src/list.ts",
    "Cover it in tests/list_test.ts and run the tests",
    "Describe it in README.md",
  );
  const replies = [{ calls: [{ name: "grep", args: { pattern: "list" } }] }, plan];
  // Both models are of one vendor, as in the example.
  await using server = startModelServer([], {
    lane: ({ json }) => json.model,
    fallback: ({ json }) =>
      json.model === "deepseek-v4-pro"
        ? replies.shift() ?? { text: "too many" }
        : { text: "list has --json now; its test passes." },
  });
  const vendor = `[[providers]]\nname = "deepseek"\nkind = "openai"\nbase_url = "${server.url}"\n` +
    'models = ["deepseek-v4-flash", "deepseek-v4-pro"]\n';
  await using world = await makeWorld(`${config}\n${vendor}`);
  const { stdout, stderr } = await world.run(["run", /"(.*)"/.exec(command)?.[1] ?? ""]);
  const shown = [...stderr.split("\n"), ...stdout.split("\n")].map(plain);
  assertEquals(lines.map(plain).filter((line) => !shown.includes(line)), [], stderr);
});
