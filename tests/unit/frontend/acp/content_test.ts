import { promptInput } from "../../../../src/frontend/acp/content.ts";
import { pluginEntries } from "../../../../src/frontend/acp/mcp_servers.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const SEES = { cwd: "/w", model: "one", vision: true };
const PNG = "iVBORw0KGgo=";

const text = (words: string) => ({ type: "text", text: words });
const link = (uri: string, name = "it") => ({ type: "resource_link", uri, name });
const resource = (uri: string, content: string) => ({ type: "resource", resource: { uri, text: content } });

Deno.test("promptInput joins blocks into the text that a user would have typed", () => {
  const rows: readonly (readonly [expected: string, ...blocks: unknown[]])[] = [
    ["hello", text("hello")],
    ["/review the tests", text("/review the tests")],
    ["one\n\ntwo", text("one"), text("two")],
    ["one\ntwo", text("one\n"), text("two")],
    ["fix @src/a.ts please", text("fix "), link("file:///w/src/a.ts"), text(" please")],
    ["fix @src/a.ts, then", text("fix"), link("file:///w/src/a.ts"), text(", then")],
    ["fix @src/a.ts.", text("fix "), link("file:///w/src/a.ts"), text(".")],
    ["fix @src/a.ts .ts", text("fix "), link("file:///w/src/a.ts"), text(".ts")],
    ["(@src/a.ts)", text("("), link("file:///w/src/a.ts"), text(")")],
    ['@"a b.ts" and', link("file:///w/a%20b.ts"), text("and")],
    ['@"src/a.ts:10-20"', link("file:///w/src/a.ts#L10:20")],
    ['@"src/a.ts:10-20"', link("file:///w/src/a.ts#L10-L20")],
    ['@"src/a.ts:7-7"', link("file:///w/src/a.ts?symbol=f#L7")],
    ["@src/", link("file:///w/src/")],
    ['@"."', link("file:///w")],
    // Everything else is only named, and attaches nothing.
    ["[a.ts](file:///other/a.ts)", link("file:///other/a.ts", "a.ts")],
    ["[a.ts](file://host/w/a.ts)", link("file://host/w/a.ts", "a.ts")],
    ["[up](file:///w/%2e%2e%2fetc/passwd)", link("file:///w/%2e%2e%2fetc/passwd", "up")],
    ["[docs](https://example.com/x)", link("https://example.com/x", "docs")],
    ["[b c](zed:///a b)", link("zed:///a\nb", "@b\n@c")],
    [
      "see [image 1] and [image 2]",
      text("see"),
      { type: "image", mimeType: "image/png", data: PNG },
      text("and"),
      {
        type: "resource",
        resource: { uri: "file:///x.png", mimeType: "image/png", blob: PNG },
      },
    ],
  ];
  for (const [expected, ...blocks] of rows) assertEquals(promptInput(blocks, SEES).text, expected);
});

Deno.test("promptInput attaches embedded texts with their address, and images", () => {
  const input = promptInput([
    text("explain"),
    resource("file:///w/src/a.ts#L1:2", "let a;\nlet b;\n"),
    resource('zed:///agent/rule "x"', "Use tabs. @secret.txt"),
    { type: "image", mimeType: "image/webp", data: PNG },
  ], SEES);
  assertEquals(input, {
    text: 'explain src/a.ts:1-2 zed:///agent/rule "x" [image 1]',
    images: [{ mime: "image/webp", data: PNG }],
    references: [
      '<resource ref="file:///w/src/a.ts#L1:2">\nlet a;\nlet b;\n</resource>',
      '<resource ref="zed:///agent/rule %22x%22">\nUse tabs. @secret.txt\n</resource>',
    ],
  });
  const [block = ""] = promptInput([resource("a:b", "x".repeat(200_000))], SEES).references ?? [];
  assertEquals(block.length < 70_000 && block.includes("200000 characters"), true);
});

Deno.test("promptInput names the file behind a link of the directory", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/real`);
  await Deno.writeTextFile(`${dir.path}/real/a.ts`, "");
  await Deno.symlink("real", `${dir.path}/link`);
  const cwd = await Deno.realPath(`${dir.path}/real`);
  assertEquals(promptInput([link(`file://${dir.path}/link/a.ts`)], { ...SEES, cwd }).text, "@a.ts");
});

Deno.test("promptInput names block and field of what it cannot use", () => {
  const rows: readonly (readonly [expected: string, blocks: unknown, vision?: false])[] = [
    ["Cannot use prompt: it is not a list of content blocks", undefined],
    ["Cannot use prompt[0]: it is not an object", ["hello"]],
    ["Cannot use prompt[0]: it has no type", [{ text: "hello" }]],
    ["Cannot use prompt[1]: its text is not a text", [text("a"), { type: "text", text: 1 }]],
    ['Cannot use prompt[0]: the type "video" is unknown', [{ type: "video" }]],
    ["Cannot use prompt[0]: it has no uri", [{ type: "resource_link", name: "a" }]],
    ["Cannot use prompt[0].resource: it is not an object", [{ type: "resource" }]],
    ["Cannot use prompt[0].resource: it has no text", [{ type: "resource", resource: { uri: "a:b" } }]],
    [
      "Cannot use prompt[0].resource: a blob is no image of the types image/png, image/jpeg, image/gif, image/webp",
      [{ type: "resource", resource: { uri: "a:b", blob: PNG, mimeType: "application/pdf" } }],
    ],
    ["Cannot use prompt[0]: audio is not supported", [{ type: "audio", mimeType: "audio/wav", data: PNG }]],
    ['Cannot use prompt[0]: images of the type "image/tiff" are not supported', [{
      type: "image",
      mimeType: "image/tiff",
      data: PNG,
    }]],
    ["Cannot use prompt[0]: the data of the image is not base64", [{
      type: "image",
      mimeType: "image/png",
      data: "§",
    }]],
    ["Cannot send an empty prompt", []],
    ["Cannot send an empty prompt", [text(" \n")]],
    [
      "Cannot send images alone: one takes none",
      [{ type: "image", mimeType: "image/png", data: PNG }],
      false,
    ],
  ];
  for (const [expected, blocks, vision = true] of rows) {
    const error = assertThrows(() => promptInput(blocks, { ...SEES, vision }), ReasonixError);
    assertEquals([error.message, error.exit], [expected, "usage"]);
  }
  const mixed = [text("see"), { type: "image", mimeType: "image/png", data: PNG }];
  assertEquals(promptInput(mixed, { ...SEES, vision: false }).images?.length, 1);
});

Deno.test("pluginEntries reads servers of both transports, with variables and headers as they are", () => {
  const entries = pluginEntries([
    { name: "db", command: "/bin/db", args: ["-v"], env: [{ name: "KEY", value: "${HOME}" }] },
    { type: "stdio", name: "plain", command: "x", args: null, env: null },
    { type: "http", name: "web", url: "https://example.com/mcp", headers: [{ name: "A", value: "b" }] },
  ]);
  const shown = entries.map(({ name, type, command, args, env, url, headers, enabled }) => ({
    ...{ name, type, command, args, env, url, headers, enabled },
  }));
  const none = { command: "", args: [], env: {}, url: "", headers: {}, enabled: true };
  assertEquals(shown, [
    { ...none, name: "db", type: "stdio", command: "/bin/db", args: ["-v"], env: { KEY: "${HOME}" } },
    { ...none, name: "plain", type: "stdio", command: "x" },
    { ...none, name: "web", type: "http", url: "https://example.com/mcp", headers: { A: "b" } },
  ]);
  assertEquals([...pluginEntries(undefined), ...pluginEntries(null), ...pluginEntries([])], []);
});

Deno.test("pluginEntries names the index of a malformed entry, what is missing, and no secret", () => {
  const good = { name: "db", command: "x", args: [], env: [] };
  const web = { type: "http", name: "web", url: "https://user:secret@example.com", headers: [] };
  const rows: readonly (readonly [expected: string, servers: unknown])[] = [
    ["Cannot use mcpServers: it is not a list", { db: good }],
    ["Cannot use mcpServers[1]: it is not an object", [good, "db"]],
    ["Cannot use mcpServers[0]: it has no name", [{ command: "x" }]],
    ["Cannot use mcpServers[0]: its name is empty", [{ ...good, name: " " }]],
    ['Cannot use mcpServers[0] ("db"): it has no command', [{ name: "db", args: [], env: [] }]],
    ['Cannot use mcpServers[0] ("db"): it has no args', [{ name: "db", command: "x", env: [] }]],
    ['Cannot use mcpServers[0] ("db"): it has no env', [{ name: "db", command: "x", args: [] }]],
    ['Cannot use mcpServers[0] ("db"): its env is not a list', [{ ...good, env: { KEY: "secret" } }]],
    ['Cannot use mcpServers[0] ("db"): env[1] is not a { name, value } of texts', [{
      ...good,
      env: [{ name: "A", value: "secret" }, { name: "B", value: 7 }],
    }]],
    ['Cannot use mcpServers[0] ("db"): its args[1] is not a text', [{ ...good, args: ["secret", 7] }]],
    ['Cannot use mcpServers[0] ("web"): it has no url', [{ type: "http", name: "web", headers: [] }]],
    ['Cannot use mcpServers[0] ("web"): it has no headers', [{ ...web, headers: undefined }]],
    ['Cannot use mcpServers[0] ("web"): its url is not an http or https address', [{
      ...web,
      url: "ws://user:secret@example.com",
    }]],
    ['Cannot use mcpServers[0] ("web"): headers[0] is not a { name, value } of texts', [{
      ...web,
      headers: [["Authorization", "secret"]],
    }]],
    ['Cannot use mcpServers[1] ("web"): the transport "sse" is an older one that is not supported', [good, {
      ...web,
      type: "sse",
    }]],
    ['Cannot use mcpServers[0] ("web"): its type is unknown', [{ ...web, type: "acp" }]],
    ['Cannot use mcpServers[2]: mcpServers[0] has the name "db" as well', [good, web, good]],
  ];
  for (const [expected, servers] of rows) {
    const error = assertThrows(() => pluginEntries(servers), ReasonixError);
    assertEquals([error.message, error.exit], [expected, "usage"]);
    assertEquals(`${error.message}${error.remedy}`.includes("secret"), false);
  }
});
