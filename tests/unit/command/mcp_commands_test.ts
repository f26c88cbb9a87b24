import { promptArguments } from "../../../src/command/prompts.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { loadTexts, LOCALES } from "../../../src/i18n/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { CommandFixture } from "../../support/command_fixture.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../../support/mcp/authorization_server.ts";
import { pluginToml } from "../../support/mcp/config.ts";

const declared = [
  { name: "name", description: "Who", required: true },
  { name: "tone", description: "", required: false },
];

Deno.test("prompt arguments are positional or named, with quotes and a last one that takes the rest", () => {
  const read = (text: string): Record<string, unknown> => {
    const { given, missing, surplus } = promptArguments(declared, text);
    return { ...given, ...(missing.length > 0 ? { missing: missing.map(({ name }) => name) } : {}), surplus };
  };
  assertEquals(read("Ada"), { name: "Ada", surplus: "" });
  assertEquals(read("Ada very  warm"), { name: "Ada", tone: "very  warm", surplus: "" });
  assertEquals(read('"Ada Lovelace" warm'), { name: "Ada Lovelace", tone: "warm", surplus: "" });
  assertEquals(read('tone=warm name="Ada Lovelace"'), { name: "Ada Lovelace", tone: "warm", surplus: "" });
  assertEquals(read("tone=warm 世界 人"), { name: "世界 人", tone: "warm", surplus: "" });
  assertEquals(read("a=b"), { name: "a=b", surplus: "" });
  assertEquals(read('"name=x"'), { name: "name=x", surplus: "" });
  assertEquals(read("tone=warm"), { tone: "warm", missing: ["name"], surplus: "" });
  assertEquals(read("name= tone=warm"), { name: "", tone: "warm", missing: ["name"], surplus: "" });
  assertEquals(read("name=a tone=b c d"), { name: "a", tone: "b", surplus: "c d" });
  assertEquals(read(""), { missing: ["name"], surplus: "" });
  assertEquals(promptArguments([], "x").surplus, "x");
});

Deno.test("a prompt requests missing arguments, can be dismissed, completes, and reports extra ones", async () => {
  await using chat = await CommandFixture.open({ config: pluginToml("docs") });
  await chat.type("/mcp__docs__greet Ada tone");
  assertEquals(chat.sent.map(({ literal }) => literal), [true]);
  assertStringIncludes(chat.sent[0]?.text ?? "", "Ada");
  chat.answers.push("Grace");
  await chat.type("/mcp__docs__greet tone=warm");
  assertEquals(chat.asked, ['docs: greet needs "name"']);
  assertStringIncludes(chat.sent[1]?.text ?? "", "Grace");
  chat.answers.push(undefined);
  await chat.type("/mcp__docs__greet");
  assertEquals([chat.sent.length, chat.takeSaid()], [2, "/mcp__docs__greet was not sent"]);
  await assertRejects(() => chat.type("/mcp__docs__plain more"), Error, 'no argument for "more"');
  const greet = (await chat.commands()).find(({ name }) => name === "mcp__docs__greet");
  assertEquals([greet?.kind, greet?.argumentHint], ["prompt", "<name> [tone]"]);
  const names = await greet?.complete?.(chat, { before: ["name=Ada"], word: "" });
  assert(names?.some(({ value }) => value.startsWith("tone=") || value !== ""), JSON.stringify(names));
});

Deno.test("/mcp lists and restarts servers, and unloads and loads them for the session", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    const config = pluginToml("docs") + pluginToml("dead", { diesOn: "start" });
    await using chat = await CommandFixture.open({ config, locale });
    const session = await chat.session();
    await session.servers?.start();
    const tools = () => session.servers?.tools().filter(({ name }) => name.startsWith("mcp__docs")).length;
    await chat.type("/mcp");
    assertStringIncludes(chat.takeSaid(), locale === "en" ? "exit code 3" : "退出码 3");
    await chat.type("/mcp docs");
    assertStringIncludes(chat.takeSaid(), "scripted://page/{number}");
    await chat.type("/mcp unload docs");
    assertEquals(tools(), 0);
    await assertRejects(() => chat.type("/mcp restart docs"));
    await chat.type("/mcp load docs");
    assertEquals(tools(), 11);
    await chat.type("/mcp off docs");
    assertEquals(tools(), 0);
    await chat.type("/mcp on docs");
    assertEquals(tools(), 11);
    await chat.type("/mcp restart docs");
    chat.takeSaid();
    await chat.type("/status");
    assertStringIncludes(chat.takeSaid(), "dead");
    await assertRejects(() => chat.type("/mcp other"), Error, "(configured: dead, docs)");
    await assertRejects(() => chat.type("/mcp restart"));
  }
});

Deno.test("the panel of /mcp changes trust in single tools, also for a server of another file", async () => {
  for (const locale of ["en", "zh-CN"] as const) {
    await using chat = await CommandFixture.open({ config: pluginToml("docs", { tools: "claims" }), locale });
    const session = await chat.session();
    await session.servers?.start();
    const trusted = () =>
      session.servers?.tools().filter((tool) => tool.trusted).map(({ name }) => name.split("__").at(-1));
    Object.assign(chat, { lookAt: () => Promise.resolve() });
    const mcp = await loadTexts("mcp_commands", locale);
    chat.answers.push(
      "docs",
      mcp.panelActions.trust,
      mcp.trust.all(3),
      "[ ] writes",
      "[x] known",
      undefined,
      undefined,
    );
    await chat.type("/mcp");
    assertEquals(trusted(), ["claims", "ruled", "writes"]);
    assertStringIncludes(await Deno.readTextFile(`${chat.home}/config.toml`), '"writes"');
    chat.takeSaid();
    // A server of a project, which the user trusts as a whole.
    await Deno.rename(`${chat.home}/config.toml`, `${chat.home}/other.toml`);
    await Deno.writeTextFile(`${chat.home}/config.toml`, "# mine\n");
    await chat.type("/mcp untrust docs writes");
    assertStringIncludes(chat.takeSaid(), mcp.trust.sessionOnly("docs"));
    assertEquals([trusted(), await Deno.readTextFile(`${chat.home}/config.toml`)], [
      ["claims", "ruled"],
      "# mine\n",
    ]);
  }
});

/** The address that was shown. */
async function shownAddress(chat: CommandFixture): Promise<URL> {
  const find = () => /http:\S+$/.exec(chat.asked.at(-1) ?? "")?.[0];
  while (find() === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
  return new URL(find() ?? "");
}

Deno.test("/mcp login shows the address, waits for the browser and begins to use the server", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read" });
  const config = `[[plugins]]\nname = "far"\ntype = "http"\nurl = "${server.url}"\n`;
  for (const locale of LOCALES) {
    await using chat = await CommandFixture.open({ config, locale });
    const { signIn } = await loadTexts("mcp_commands", locale);
    chat.answers.push(signIn.myself);
    const done = chat.type("/mcp login far");
    const address = await shownAddress(chat);
    await visitAsBrowser(address);
    await done;
    const output = chat.takeSaid();
    for (const part of [address.href, signIn.waiting, signIn.done("far", issuer.issuer, "read"), "far: "]) {
      assertStringIncludes(output, part);
    }
    assertEquals((await chat.session()).servers?.named("far").status.state, "ready");
  }
});

Deno.test("/mcp login ends when the user dismisses its prompt, and stores nothing", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  const config = `[[plugins]]\nname = "far"\ntype = "http"\nurl = "${server.url}"\n`;
  await using chat = await CommandFixture.open({ config });
  await chat.type("/mcp login far");
  assertStringIncludes(chat.takeSaid(), "The sign-in was stopped; nothing was kept");
  assertEquals(issuer.accepted.size, 0);
  await assertRejects(() => chat.type("/mcp login near"), ReasonixError, '"near"');
  await assertRejects(() => chat.type("/mcp login"), ReasonixError);
});
