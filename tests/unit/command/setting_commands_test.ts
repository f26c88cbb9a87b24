import { clauses, ReasonixError } from "../../../src/core/mod.ts";
import { loadTranslator, LOCALES } from "../../../src/i18n/mod.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { allCommands } from "../../../src/command/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { startModelServer } from "../../support/model_server.ts";
import { CommandFixture } from "../../support/command_fixture.ts";

const config = (chat: CommandFixture) => Deno.readTextFile(`${chat.home}/config.toml`);

Deno.test("/model switches the model of the session, by name or from the list", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/model two");
  assertEquals(chat.reopened, [{ model: "mock/two" }]);
  await chat.type("hello");
  const { id } = (await chat.session()).session;
  chat.answers.push("mock/one");
  await chat.type("/model");
  assertEquals(chat.reopened.at(-1), { model: "mock/one", resume: id });
  await chat.type("/models mock/one");
  assertStringIncludes(chat.said.at(-1) ?? "", "is the model already");
  await assertRejects(() => chat.type("/model three"), Error, 'Unknown model "three"');
  assertEquals(chat.reopened.length, 2);
});

Deno.test("/model fetches the models of a provider and saves the choice only on request", async () => {
  await using server = startModelServer([], { models: ["zeta", "one", "模型-β"] });
  await using chat = await CommandFixture.open({
    config: `[[providers]]\nname = "own" # mine\nbase_url = "${server.url}"\nmodel = "one"\n`,
  });
  assertEquals(server.requests.length, 0);
  chat.answers.push("List what own offers", "模型-β", "For this chat");
  await chat.type("/model");
  assertEquals(chat.asked, [
    "Which model?",
    "Which of the 3 models of own?",
    "Use own/模型-β? It is not in the configuration.",
  ]);
  assertEquals(chat.reopened.at(-1)?.model, "own/模型-β");
  assertEquals(chat.reopened.at(-1)?.offered?.models, ["one", "模型-β"]);
  assert(!(await config(chat)).includes("模型-β"));

  chat.answers.push("List what own offers", "zeta", "write it to my configuration");
  await chat.type("/model");
  const written = await config(chat);
  assertStringIncludes(written, 'name = "own" # mine');
  assertStringIncludes(written, '"zeta"');
  const { loaded } = await chat.session();
  assertEquals(loaded.config.default_model, "own/zeta");
  const saved =
    (await loadTrustedConfig({ cwd: chat.dir, home: chat.home, env: () => undefined }, {})).config;
  const own = saved.providers.find(({ name }) => name === "own");
  assertEquals([own?.models, own?.default], [["one", "模型-β", "zeta"], "one"]);

  chat.answers.push("List what own offers");
  await chat.type("/model");
  assertEquals(chat.reopened.length, 2, "leaving the list changes nothing");
});

Deno.test("/model offers vendors with a key and reports why a provider lists nothing", async () => {
  await using chat = await CommandFixture.open({ env: { GROQ_API_KEY: "gsk_x" } });
  const command = (await chat.commands()).find(({ name }) => name === "model");
  const values = await command?.complete?.(chat, { before: [], word: "" }) ?? [];
  const groq = values.find(({ value }) => value.startsWith("groq/"));
  assertStringIncludes(groq?.detail ?? "", "GROQ_API_KEY");
  assert(!values.some(({ value }) => value.startsWith("openai/")));
  chat.answers.push("For this chat");
  await chat.type(`/model ${groq?.value}`);
  assertEquals(chat.reopened.at(-1)?.offered?.base_url.startsWith("https://"), true);
  chat.answers.push("List what mock offers");
  const error = await assertRejects(() => chat.type("/model"), Error, "Cannot list the models of mock");
  assertStringIncludes(String((error as { remedy?: string } | undefined)?.remedy ?? ""), "mock");
});

Deno.test("/effort sets a known level, and dismissing the list changes nothing", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/effort");
  assertEquals(chat.reopened, []);
  await chat.type("/effort high");
  assertEquals([chat.reopened, (await chat.session()).effort], [[{ effort: "high" }], "high"]);
  for (const unknown of ["nosuch", "very high"]) {
    const error = await assertRejects(() => chat.type(`/effort ${unknown}`), ReasonixError, `"${unknown}"`);
    assertStringIncludes(error.remedy ?? "", "none, minimal, low, medium, high, xhigh, max");
  }
  assertEquals([chat.reopened.length, (await chat.session()).effort], [1, "high"]);
});

Deno.test("/effort accepts the vendor's levels that the entry names", async () => {
  await using chat = await CommandFixture.open();
  const file = `${chat.home}/config.toml`;
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(
    file,
    text.replace('models = ["one"', 'efforts = ["low", "turbo"]\nmodels = ["one"'),
  );
  await chat.reopen({});
  await chat.type("/effort Turbo");
  assertEquals(chat.reopened.at(-1), { effort: "turbo" });
});

Deno.test("/mode changes both kinds of mode, and yolo requires confirmation", async () => {
  await using chat = await CommandFixture.open();
  const { modes } = await chat.session();
  await chat.type("/mode auto");
  assertEquals(modes.approval, "auto");
  chat.answers.push(false, true);
  await chat.type("/mode yolo");
  assertEquals(modes.approval, "auto");
  await chat.type("/mode YOLO");
  assertEquals(modes.approval, "yolo");
  for (const [name, mode] of [["read-only", "read-only"], ["plan", "plan"], ["write", "workspace-write"]]) {
    await chat.type(`/mode ${name}`);
    assertEquals(modes.permission, mode);
  }
  await assertRejects(() => chat.type("/mode brave"), Error, "there is no such mode");
});

Deno.test("/mode selects normal, plan or goal and keeps the approval mode", async () => {
  await using chat = await CommandFixture.open();
  const { modes, session } = await chat.session();
  await chat.type("/mode auto");
  const goal = () => session.state.goal?.state;
  for (const line of ["/mode goal make it fast", "/mode"]) {
    chat.answers.push("goal", "make it fast");
    await chat.type(line);
    chat.answers.length = 0;
    assertEquals([modes.collaboration, goal(), chat.sent.pop()?.text], ["goal", "active", "make it fast"]);
    await chat.type("/mode plan");
    assertEquals([modes.collaboration, goal()], ["plan", "cleared"]);
    await chat.type("/mode normal");
    assertEquals([modes.collaboration, modes.permission], ["normal", "workspace-write"]);
  }
  await chat.type("/mode goal again");
  await chat.type("/mode normal");
  assertEquals([modes.collaboration, goal(), modes.approval], ["normal", "cleared", "auto"]);
  await assertRejects(() => chat.type("/mode plan it"), Error, 'Cannot switch to "plan it"');
});

Deno.test("/permissions adds and removes rules in the user's file, comments kept", async () => {
  await using chat = await CommandFixture.open({ config: "[permissions] # mine\nallow = ['Read']\n" });
  await chat.type("/permissions allow Bash(git status:*)");
  assertStringIncludes(await config(chat), "# mine");
  assertEquals((await chat.session()).loaded.config.permissions.allow, ["Read", "Bash(git status:*)"]);
  await chat.type("/permissions remove Bash(git status:*)");
  assertEquals((await chat.session()).loaded.config.permissions.allow, ["Read"]);
  await assertRejects(() => chat.type("/permissions remove Write"), Error, "there is no such rule");
  await assertRejects(() => chat.type("/permissions allow Bash("), Error);
  await assertRejects(() => chat.type("/permissions what"), Error, 'Cannot carry out "/permissions what"');
});

Deno.test("/settings shows and saves single settings and rejects invalid values", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/settings compaction.auto false");
  assertEquals((await chat.session()).loaded.config.compaction.auto, false);
  chat.takeSaid();
  await chat.type("/settings compaction.auto");
  assertStringIncludes(chat.takeSaid(), "compaction.auto  false");
  await assertRejects(() => chat.type("/settings no.such.key 1"), Error);
  await assertRejects(() => chat.type("/settings compaction.auto perhaps"), Error);
});

Deno.test("/lang and /theme save the choice and apply it immediately", async () => {
  await using chat = await CommandFixture.open({ env: { REASONIX_LANG: "en" } });
  await chat.type("/lang zh");
  assertStringIncludes(await config(chat), 'language = "zh-CN"');
  assertStringIncludes(chat.takeSaid(), "REASONIX_LANG");
  chat.answers.push("high-contrast");
  await chat.type("/theme");
  assertStringIncludes(await config(chat), 'theme = "high-contrast"');
  assertEquals(chat.settings, [["language", "zh-CN"], ["ui.theme", "high-contrast"]]);
  await assertRejects(() => chat.type("/theme pink"), Error, "there is no such theme");
  await assertRejects(() => chat.type("/lang klingon"), Error, 'Cannot speak "klingon"');
});

Deno.test("/init asks before it changes an existing AGENTS.md; /review changes nothing", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/init");
  assert(!chat.sent[0]?.text.includes("already"));
  await chat.write("AGENTS.md", "old");
  await chat.type("/init");
  assertEquals(chat.sent.length, 1);
  chat.answers.push(true);
  await chat.type("/init in French");
  assertStringIncludes(chat.sent[1]?.text ?? "", "There is an AGENTS.md already");
  assert(chat.sent[1]?.text.endsWith("in French"));
  await chat.type("/review the $& last commit");
  assertEquals(chat.sent[2]?.readOnly, true);
  assertStringIncludes(chat.sent[2]?.text ?? "", "What to review: the $& last commit");
});

Deno.test("every command has a description in every language, and listing loads no command", async () => {
  for (const locale of LOCALES) {
    const commands = await allCommands({ locale });
    assert(commands.every(({ brief, kind }) => brief !== "" && kind === "builtin"));
    const names = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    assertEquals(new Set(names).size, names.length);
  }
});

Deno.test("typing errors are reported in the user's language, for rules and names of all kinds", async () => {
  await using chat = await CommandFixture.open({ locale: "zh-CN" });
  const translator = await loadTranslator("zh-CN");
  const lines = [
    "/permissions allow Bsh(ls)",
    "/permissions allow Bash(",
    "/permissions allow Bash()",
    "/permissions remove Bash(nothing)",
    "/permissions what",
    "/memory nothing",
    "/memory forget nothing",
    "/settings a..b 1",
    "/settings nothing 1",
    "/settings sandbox.bash what",
    "/effort nothing",
    "/mode nothing",
    "/theme nothing",
    "/lang nothing",
    "/rewind what",
    "/copy 7",
    "/mcp login",
  ];
  await chat.type("hello");
  for (const line of lines) {
    const error = await chat.type(line).then(() => undefined, (thrown: unknown) => thrown);
    assert(error instanceof ReasonixError, line);
    const shown = translator.text(clauses(error.texts));
    assert(/\p{Script=Han}/u.test(shown), `${line}: ${shown}`);
    assert(!/\b(?:cannot|there is|use one|such as)\b/i.test(shown), `${line}: ${shown}`);
  }
});
