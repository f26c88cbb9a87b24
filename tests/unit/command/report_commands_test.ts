import { call, say } from "../../support/agent_fixture.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { CommandFixture } from "../../support/command_fixture.ts";

const REPLIES = [
  [
    call("1", "write_file", { path: "a.md", content: "```\nfenced\n```\n" }),
    call("2", "todo", { items: [{ content: "look", status: "completed" }] }),
    { type: "done" as const, reason: "tool_calls" as const },
  ],
  say("wrote it"),
];

Deno.test("/diff shows changes of the session in a safe code fence, also of single files", async () => {
  await using chat = await CommandFixture.open({ replies: REPLIES });
  await chat.type("/diff");
  assertEquals(chat.takeSaid(), "This session has changed no file");
  await chat.type("go");
  await chat.type("/diff");
  const shown = chat.takeSaid();
  assertStringIncludes(shown, "**a.md** created +3 −0\n````diff\n@@");
  assertStringIncludes(shown, "\n+fenced\n");
  await chat.type("/diff a.md");
  assertStringIncludes(chat.takeSaid(), "+fenced");
  await assertRejects(() => chat.type("/diff b.md"), Error, "this session did not change it");
});

Deno.test("/help lists and explains commands, and suggests a similar name", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/help");
  assertEquals(chat.takeSaid().match(/^ {2}\/\S+ {2,}\S/gm)?.length, 12);
  await chat.type("/help all");
  assertStringIncludes(chat.takeSaid(), "\n  /rename       Give this session a title\n");
  await chat.type("/help /model");
  assertStringIncludes(chat.takeSaid(), "Also: `/models`");
  await chat.type("/help keys");
  assertEquals(chat.takeSaid(), "- enter: send");
  await assertRejects(() => chat.type("/help modl"), Error, 'Cannot explain "modl"');
});

Deno.test("/memory lists, shows and deletes memories", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/memory");
  assertStringIncludes(chat.takeSaid(), "Nothing is remembered here");
  await (await chat.session()).remember("We use tabs");
  await chat.type("/memory");
  const [, name = ""] = /- `([^`]+)`/.exec(chat.takeSaid()) ?? [];
  await chat.type(`/memory ${name}`);
  assertStringIncludes(chat.takeSaid(), "We use tabs");
  await chat.type("/memory archive");
  assertEquals(chat.takeSaid(), "No forgotten fact is kept");
  await chat.type(`/memory forget ${name}`);
  chat.takeSaid();
  await chat.type("/memory");
  assertMatch(
    chat.takeSaid(),
    /^Nothing is remembered here[^]*1 forgotten fact is kept: `\/memory archive`$/,
  );
  await chat.type("/memory archive");
  assertMatch(
    chat.takeSaid(),
    new RegExp(`^- \`${name}\` \\(project, forgotten on \\d{4}-\\d\\d-\\d\\d\\): We use tabs$`),
  );
  await chat.type(`/memory archive ${name}`);
  assertStringIncludes(chat.takeSaid(), "We use tabs");
  await assertRejects(() => chat.type("/memory archive other"), Error, 'Cannot show "other"');
});

Deno.test("/status, /cost, /todo, /skills, /mcp, /sandbox and /context report in both languages", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    await using chat = await CommandFixture.open({ locale });
    await chat.type("hello");
    for (const name of ["status", "cost", "todo", "skills", "mcp", "sandbox", "context"]) {
      await chat.type(`/${name}`);
      const output = chat.takeSaid();
      assert(output.trim() !== "" && !/undefined|NaN|\[object/.test(output), `/${name}: ${output}`);
    }
  }
});

Deno.test("/context names instruction files and servers, hides empty rows, and marks estimates", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    const config = "[[plugins]]\nname = 'docs'\ncommand = 'no-such-program'\n";
    await using chat = await CommandFixture.open({ locale, config });
    await chat.write("AGENTS.md", "Be kind.\n");
    await chat.reopen({});
    await chat.type("/context");
    const output = chat.takeSaid();
    assertMatch(output, locale === "en" ? /about [\d,]+ tokens/ : /约 [\d,]+ 个词元/);
    assertMatch(output, locale === "en" ? /^ +\d+ {2}MCP server docs/m : /^ +\d+ {2}MCP 服务器 docs/m);
    assertStringIncludes(output, "/AGENTS.md");
    const [, categories = ""] = output.split("\n\n");
    assert(categories !== "" && !/^ +0 /m.test(categories), output);
  }
});

Deno.test("/status shows the modes and whether commands are confined", async () => {
  await using chat = await CommandFixture.open();
  await chat.type("/mode auto");
  await chat.type("/mode plan");
  chat.takeSaid();
  await chat.type("/status");
  const output = chat.takeSaid();
  assertMatch(output, /^modes +auto · plan · plan$/m);
  assertMatch(output, /^sandbox +off: commands can do what you can/m);
});

Deno.test("/bug contains no secret and no conversation text, and overwrites nothing", async () => {
  await using chat = await CommandFixture.open({
    env: { MY_TOKEN: "tok-very-secret-1" },
    config: "[[plugins]]\nname = 'p'\ncommand = 'x'\nenv = { A_TOKEN = '${MY_TOKEN}' }\n",
  });
  await chat.type("the word is xylophone");
  await chat.type("/bug");
  const output = chat.takeSaid();
  assertStringIncludes(output, "What happened");
  assert(!output.includes("xylophone") && !output.includes("tok-very-secret-1"), output);
  await chat.type("/bug report.txt");
  assertStringIncludes(await chat.read("report.txt"), "reasonix");
  await assertRejects(() => chat.type("/bug report.txt"), Error, "it exists already");
});

Deno.test("an unknown command is an error with a suggestion; paths and other scripts are text", async () => {
  await using chat = await CommandFixture.open();
  await assertRejects(() => chat.type("/modle two"), Error, "Cannot run /modle");
  for (const line of ["/etc/hosts is", "/", "/中文 怎么说", "/tmp"]) await chat.type(line);
  assertEquals((await chat.session()).session.state.turns.length, 4);
});
