/**
 * Rules that the user saved for one project. Runs are headless, so that only a rule lets a call run: none may
 * come with the repository, with a copy of the project, or from the model.
 */
import { addSavedRule, savedRulesFile } from "../../src/config/mod.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";

/** Returns the program's decision about a command in a directory. */
async function decision(world: World, cwd: string, home = world.home): Promise<string> {
  const args = ["permissions", "check", "--json", "make it"];
  const { stdout } = await world.run(args, { cwd, env: { REASONIX_HOME: home } });
  return JSON.parse(stdout).decision;
}

Deno.test("a repository cannot provide the user's saved rules for a project", async () => {
  await using world = await makeWorld();
  const cwd = await Deno.realPath(world.dir);
  const place = { home: world.home, cwd };
  // The exact file that the program would write for the user, at every possible location.
  await addSavedRule(place, "allow", "Bash(make it)");
  assertEquals(await decision(world, cwd), "allow");
  const text = await Deno.readTextFile(savedRulesFile(place));
  const name = savedRulesFile(place).slice(world.home.length + 1);
  await Deno.remove(savedRulesFile(place));
  for (const planted of [name, "rules.toml", `.reasonix/${name}`, ".reasonix/rules.toml", `home/${name}`]) {
    await world.write(planted, text);
  }
  assertEquals(await decision(world, cwd), "ask");
  // In project settings it has no effect before trust.
  await world.write("reasonix.toml", text);
  assertEquals(await decision(world, cwd), "ask");
});

Deno.test("a copied or moved project has none of the saved rules", async () => {
  await using world = await makeWorld();
  const cwd = await Deno.realPath(world.dir);
  await addSavedRule({ home: world.home, cwd }, "allow", "Bash(make it)");
  await Deno.mkdir(`${cwd}/../copy`);
  await Deno.symlink(cwd, `${cwd}/../link`);
  assertEquals(await decision(world, await Deno.realPath(`${cwd}/../copy`)), "ask");
  // A link leads to the project itself.
  assertEquals(await decision(world, `${cwd}/../link`), "allow");
  await Deno.rename(cwd, `${cwd}-moved`);
  assertEquals(await decision(world, `${cwd}-moved`), "ask");
});

/** Attempts of the model on the file, whatever the rules of the run allow. */
function attempts(file: string, state: string) {
  const directory = file.replace(/\/[^/]*$/, "");
  const line = (command: string) => ({ name: "bash", args: { command } });
  return [
    { name: "write_file", args: { path: file, content: '[permissions]\nallow = ["Bash"]\n' } },
    { name: "edit_file", args: { path: file, old_string: "deny", new_string: "allow" } },
    line(`echo 'allow = ["Bash"]' >> ${file}`),
    line(`python3 -c "open('${file}', 'a').write('x')" || sh -c 'echo x | tee -a ${file}'`),
    line(`mv ${directory} ${directory}x; mv ${state} ${state}x`),
    line(`rm -f ${file}`),
  ];
}

Deno.test({
  ...jailed("a model cannot write the saved rules of a project, even if their home is in the workspace"),
  fn: async () => {
    await using server = startModelServer([], { check: { prefix: false } });
    await using world = await makeWorld();
    const cwd = await Deno.realPath(world.dir);
    const home = `${cwd}/.state`;
    await world.write(".state/config.toml", mockConfig(server.url) + '[sandbox]\nbash = "enforce"\n');
    // For the same project the gate stops it, for another one the file tools and the jail.
    const layers = [[cwd, "settings of this program"], ["/other", "state of Reasonix"]] as const;
    for (const [project, refusal] of layers) {
      const file = savedRulesFile({ home, cwd: project });
      await addSavedRule({ home, cwd: project }, "deny", "Bash(nothing)");
      const before = await Deno.readTextFile(file);
      server.push(...attempts(file, home).map((call) => ({ calls: [call] })), { text: "done" });
      const args = ["run", "--on-ask", "allow", "--allowed-tools", "Bash,Edit,Read", "go"];
      const { code, stderr } = await world.run(args, { cwd, env: { REASONIX_HOME: home } });
      assertEquals([code, await Deno.readTextFile(file)], [0, before], stderr);
      const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
      const [first] = messages.filter(({ role }) => role === "tool");
      assertStringIncludes(first?.content ?? "", refusal);
    }
  },
});
