import { ReasonixError } from "../../../src/core/mod.ts";
import {
  addSavedHosts,
  addSavedRule,
  removeSavedRule,
  savedRulesFile,
  sourceOf,
} from "../../../src/config/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { configFixture, type Fixture } from "./fixture.ts";

/** The user's rules for the project have the location in their file. */
async function rules(f: Fixture, cwd = f.cwd) {
  const loaded = await f.load({ cwd });
  return { ...loaded.config.permissions, loaded };
}

Deno.test("a rule for one project applies there, with its location, and can be removed", async () => {
  await using f = configFixture({ "home/config.toml": '[permissions]\nallow = ["Bash(ls)"]\n' });
  await addSavedRule(f, "allow", "Edit(文档/说明.md)");
  await addSavedRule(f, "allow", "Edit(文档/说明.md)");
  await addSavedRule(f, "deny", "Bash(rm:*)");
  const { allow, deny, loaded } = await rules(f);
  assertEquals([allow, deny], [["Bash(ls)", "Edit(文档/说明.md)"], ["Bash(rm:*)"]]);
  const { file, line, source } = sourceOf(loaded, "permissions.allow[1]");
  assertEquals([file, source], [savedRulesFile(f), "user"]);
  assertStringIncludes(
    (await Deno.readTextFile(savedRulesFile(f))).split("\n")[(line ?? 0) - 1] ?? "",
    "说明",
  );
  assertEquals(loaded.warnings, []);
  assertEquals(((await Deno.stat(savedRulesFile(f))).mode ?? 0) & 0o777, 0o600);
  await removeSavedRule(f, "Edit(文档/说明.md)");
  assertEquals((await rules(f)).allow, ["Bash(ls)"]);
});

Deno.test("comments in the rules file are kept, and an unreadable line is an error with its location", async () => {
  await using f = configFixture();
  await addSavedRule(f, "allow", "Bash(make)");
  const file = savedRulesFile(f);
  await Deno.writeTextFile(file, `${await Deno.readTextFile(file)}# mine\n`);
  await addSavedRule(f, "allow", "Bash(go test:*)");
  const text = await Deno.readTextFile(file);
  assert(text.startsWith("# Permission rules") && text.includes("# mine"), text);
  await Deno.writeTextFile(file, text.replace("allow", 'deny = ["Bsh(rm)"]\nallow'));
  const error = await assertRejects(() => f.load(), ReasonixError, "Bsh");
  assertEquals([error.place?.file, error.place?.line], [file, text.split("\n").indexOf("[permissions]") + 2]);
});

Deno.test("hosts for one project extend those of the user's file in this project only", async () => {
  await using f = configFixture({
    "home/config.toml": '[sandbox]\nnetwork_hosts = ["a.example"]\n',
    "copy/x": "",
  });
  const hosts = async (cwd = f.cwd) => (await f.load({ cwd })).config.sandbox.network_hosts;
  await addSavedHosts(f, ["b.example", "c.example:8443"]);
  await addSavedHosts(f, ["b.example"]);
  await addSavedRule(f, "allow", "Bash(make)");
  assertEquals(await hosts(), ["a.example", "b.example", "c.example:8443"]);
  assertEquals(((await Deno.stat(savedRulesFile(f))).mode ?? 0) & 0o777, 0o600);
  assertEquals(await hosts(f.cwd.replace(/project$/, "copy")), ["a.example"]);
  if ((await Deno.stat(f.cwd)).birthtime !== null) {
    await Deno.rename(f.cwd, `${f.cwd}-before`);
    await Deno.mkdir(f.cwd);
    assertEquals(await hosts(), ["a.example"], "another directory has taken its place");
    await Deno.remove(f.cwd);
    await Deno.rename(`${f.cwd}-before`, f.cwd);
  }
  await removeSavedRule(f, "b.example");
  assertEquals(await hosts(), ["a.example", "c.example:8443"]);
});

Deno.test("other settings in the rules file are ignored", async () => {
  await using f = configFixture();
  await addSavedRule(f, "allow", "Bash(make)");
  const file = savedRulesFile(f);
  const more = 'default_model = "x"\n[sandbox]\nbash = "off"\nnetwork = true\n';
  const text = (await Deno.readTextFile(file)).replace("[permissions]", '[permissions]\nmode = "allow"');
  await Deno.writeTextFile(file, `${text}\n${more}`.replace(/^default.*\n/m, ""));
  const { config } = await f.load();
  assertEquals([config.permissions.mode, config.sandbox.network], ["ask", false]);
});

Deno.test("a copied, moved or sibling project has none of its rules", async () => {
  await using f = configFixture({ "copy/x": "", "project/deep/x": "" });
  await addSavedRule(f, "allow", "Bash(make)");
  const root = f.cwd.replace(/\/project$/, "");
  for (const cwd of [`${root}/copy`, `${f.cwd}/deep`]) {
    assertEquals((await rules(f, cwd)).allow, [], cwd);
  }
  await Deno.rename(f.cwd, `${root}/moved`);
  assertEquals((await rules(f, `${root}/moved`)).allow, []);
  await Deno.rename(`${root}/moved`, f.cwd);
  assertEquals((await rules(f)).allow, ["Bash(make)"]);
});

Deno.test("allow rules expire when another directory replaces the project; deny rules remain", async () => {
  await using f = configFixture();
  if ((await Deno.stat(f.cwd)).birthtime === null) return;
  await addSavedRule(f, "allow", "Bash(make)");
  await addSavedRule(f, "deny", "Bash(rm:*)");
  // A creation time different from the directory's: clocks are too coarse to create it again here.
  const file = savedRulesFile(f);
  await Deno.writeTextFile(file, (await Deno.readTextFile(file)).replace(/made = ".*"/, 'made = "2001"'));
  const { allow, deny, loaded } = await rules(f);
  assertEquals([allow, deny], [[], ["Bash(rm:*)"]]);
  assertMatch(
    loaded.warnings.map(({ message }) => message).join(),
    /are ignored.*another one has replaced/,
  );
  await addSavedRule(f, "allow", "Bash(go test)");
  const now = await rules(f);
  assertEquals([now.allow, now.deny, now.loaded.warnings], [["Bash(go test)"], ["Bash(rm:*)"], []]);
});

Deno.test("rules for another project are ignored", async () => {
  await using f = configFixture();
  await addSavedRule(f, "allow", "Bash(make)");
  const file = savedRulesFile(f);
  const text = await Deno.readTextFile(file);
  for (const other of [text.replace(f.cwd, "/elsewhere"), text.replace(/^directory.*$/m, "directory = 1")]) {
    await Deno.writeTextFile(file, other);
    assertEquals((await rules(f)).allow, [], other);
  }
});
