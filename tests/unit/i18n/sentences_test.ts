/** Sentences that come in English alone: all those of the source are said in Chinese. */
import { importReason } from "../../../src/i18n/zh_cn/sayings/import_reasons.ts";
import { sentenceTeller } from "../../../src/i18n/zh_cn/sayings/sentences.ts";
import { serverFailure } from "../../../src/i18n/zh_cn/sayings/server_failures.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../", import.meta.url);

/** All source below a directory but the catalogues, with literals of several lines put together. */
function sourceBelow(directory: string): string {
  return [...Deno.readDirSync(new URL(directory, ROOT))].map(({ name, isDirectory }) =>
    isDirectory
      ? name === "i18n" ? "" : sourceBelow(`${directory}${name}/`)
      : Deno.readTextFileSync(new URL(`${directory}${name}`, ROOT))
  ).join("").replace(/"\s*\+\s*"/g, "");
}

/** The plain literals behind one of these words. */
function literals(source: string, before: string): string[] {
  const pattern = new RegExp(`(?:${before})\\s*"((?:[^"\\\\]|\\\\.)+)"`, "g");
  return [...source.matchAll(pattern)].map(([, text = ""]) => text);
}

Deno.test("every reason of an import is said in Chinese", () => {
  const source = sourceBelow("src/config/foreign/");
  const reasons = [
    ...literals(source, "\\b(?:why|note|notes):"),
    ...[...source.matchAll(/\bleave\(([^;]+?)\);/g)].flatMap(([, text = ""]) => literals(text, "[,:?]"))
      .filter((text) => text.includes(" ")),
    ...[...source.matchAll(/\bREASONS[^=]*= \{([^}]*)\}/g)].flatMap(([, text = ""]) => literals(text, ":")),
  ];
  assert(reasons.length > 40, `${reasons.length}`);
  for (const text of reasons) {
    for (const part of importReason(text).split("；")) {
      assert(/\p{Script=Han}/u.test(part), `nobody says "${text}" in Chinese`);
    }
  }
});

Deno.test("what is wrong with a server of MCP is said in Chinese, with what varies", () => {
  const said = (text: string) => serverFailure(text);
  assertEquals(
    said(
      'There is no program "uvx" on PATH; install uvx, or give its full path as the command of the server',
    ),
    "PATH 中没有程序“uvx”；请安装 uvx，或在服务器的 command 中写出它的完整路径",
  );
  assertEquals(
    said("it answers with 503 Service Unavailable: busy; it asks to come back in 7 s"),
    "它的应答是 503 Service Unavailable: busy；它要求 7 秒后再来",
  );
  assertEquals(
    said("the server ended with exit code 3: Traceback; at line 3 | ValueError"),
    "服务器以退出码 3 结束：Traceback; at line 3 | ValueError",
  );
  const files = ["failures.ts", "transport/stdio.ts", "transport/http.ts"];
  const source = files.map((file) => Deno.readTextFileSync(new URL(`src/mcp/${file}`, ROOT))).join("");
  for (
    const text of [...literals(source, "\\bremedy:"), ...literals(source, "\\], "), "it wants you to sign in"]
  ) {
    assert(/\p{Script=Han}/u.test(said(text)), `nobody says "${text}" in Chinese`);
  }
});

Deno.test("a sentence is told by all of it, a part that nobody knows stays, and words are no patterns", () => {
  const tell = sentenceTeller({ "it has {} of {} (*)": "{2} 里有 {1}", "gone": "没了" });
  assertEquals(tell("it has 1 of 3 (*)"), "3 里有 1");
  assertEquals(tell("It has 1 of 3 (x)"), "It has 1 of 3 (x)");
  assertEquals(tell("gone; somewhere"), "没了；somewhere");
  assertEquals(tell("it has a; b of {1} $1 (*)"), "{1} $1 里有 a; b");
  assertEquals(tell(""), "");
});
