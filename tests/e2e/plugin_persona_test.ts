import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

Deno.test("a run reviews with personas through a granted provider, and names the remedy without one", async () => {
  const call = {
    name: "mcp__persona__persona_review",
    args: { content: "The plan", personas: "team.md", panel: true, files: ["style.md"] },
  };
  await using server = startModelServer([], {
    check: { prefix: false },
    lane: ({ json }) => /stay in it|chair a panel/.test(JSON.stringify(json.messages[0])) ? "review" : "run",
    fallback: ({ json }) => {
      const [{ content: system }, ...others] = json.messages;
      const persona = /stay in it: (.*)\.$/m.exec(system)?.[1];
      if (persona !== undefined) return { text: `${persona} likes it` };
      if (/chair a panel/.test(system)) return { text: "All like it" };
      return others.at(-1).role === "tool" ? { text: "Done" } : { calls: [call] };
    },
  });
  const entry = '[[plugins]]\nname = "persona"\ncommand = "reasonix"\nargs = ["plugin", "persona"]\n';
  await using world = await makeWorld(mockConfig(server.url, "", `\n${entry}providers = ["mock"]`));
  await world.write("team.md", "- Ada: counts\n- Grace: compiles\n");
  await world.write("style.md", "Short sentences");
  const run = await world.run(["run", "Review the plan"]);
  assertEquals([run.code, run.stdout], [0, "Done\n"], run.stderr);
  const result = server.requests.at(-1)?.json.messages.at(-1).content;
  assertStringIncludes(
    result,
    "## Ada\n\nAda likes it\n\n## Grace\n\nGrace likes it\n\n## Panel\n\nAll like it",
  );
  const reviews = server.requests.map(({ body }) => body).filter((body) => body.includes("stay in it"));
  assertEquals(reviews.length, 2);
  assert(reviews.every((body) => body.includes("[Guidelines]\\n## style.md\\n\\nShort sentences")));

  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url, "", `\n${entry}`));
  const headless = await world.run(["run", "Review the plan"]);
  assertEquals(headless.code, 0, headless.stderr);
  const refused = server.requests.at(-1)?.json.messages.at(-1).content;
  assertStringIncludes(refused, "Ada: No user is available");
  assertStringIncludes(refused, 'set providers = ["NAME"] in the entry of this plugin');
});
