/** Messages in other languages: errors, events, answers of providers, problems of the configuration. */
import { inLanguage } from "../../../cli/terminal/language.ts";
import {
  listOf,
  message,
  ReasonixError,
  type Text,
  textFields,
  type WrittenMessage,
  writtenText,
} from "../../../src/core/mod.ts";
import { ConfigError } from "../../../src/config/mod.ts";
import { checkConfig } from "../../../src/config/load/check.ts";
import { loadTranslator } from "../../../src/i18n/mod.ts";
import { reportedFailure } from "../../../src/provider/errors.ts";
import { BUILTINS } from "../../../src/tool/builtins.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";

const translator = await loadTranslator("zh-CN");

Deno.test("a message has its English text, and its values in the translation", () => {
  const text = message`Cannot write session ${"s-1"}: ${message`process ${7}`} has it open`;
  assertEquals(text.text, "Cannot write session s-1: process 7 has it open");
  assertEquals(text.template, "Cannot write session {}: {} has it open");
  assertEquals(translator.text(text), "无法写入会话 s-1：进程 7 正在使用它");
  assertEquals(translator.text("as it is"), "as it is");
});

Deno.test("a list is joined by the rules of its language, also inside a message", () => {
  assertEquals(translator.text(listOf(["a", message`none`])), "a、无");
  assertEquals(message`Verified: ${["a", 2]}`.text, "Verified: a, 2");
  assertEquals(translator.text(message`Verified: ${["a", 2]}`), "已验证：a、2");
});

Deno.test("a message round-trips through an event: text in English, values as arrays", () => {
  const made = message`Not verified: ${[message`exit code ${1}`, "b"]}`;
  const { text, said } = textFields(made);
  assertEquals([text, said], [
    "Not verified: exit code 1, b",
    [["Not verified: {}", [", ", ["exit code {}", "1"], "b"]]],
  ]);
  assertEquals(writtenText(JSON.parse(JSON.stringify(said)), text), made);
  assertEquals(textFields("plain"), { text: "plain" });
});

Deno.test("codes of older sessions and messages of newer versions are displayed in English", () => {
  const shown = (said: WrittenMessage[] | undefined) => translator.text(writtenText(said, "as it was"));
  for (const said of [[["noKey", "p", "K"]], [["noKey", "p", "K"], ["setKey", "K"]], [], undefined, [[]]]) {
    assertEquals(shown(said), "as it was");
  }
  assertEquals(shown([["constructor"]]), "as it was");
});

Deno.test("an error keeps its location and exit code in another language; its remedy is translated", async () => {
  const place = { file: "/h/config.toml", line: 3, column: 1 };
  const remedy = message`write ${"K"}=… into ${"/h/.env"}`;
  const error = new ReasonixError(message`No API key for provider "${"deepseek"}": ${"K"} is not set`, {
    exit: "config",
    remedy,
    place,
  });
  assertEquals([error.message, error.remedy], [
    'No API key for provider "deepseek": K is not set',
    "write K=… into /h/.env",
  ]);
  const shown = await inLanguage(error, "zh-CN");
  assert(shown instanceof ReasonixError);
  assertEquals([shown.message, shown.remedy, shown.exit, shown.place], [
    "供应商“deepseek”没有 API 密钥：未设置 K",
    "请把 K=… 写入 /h/.env",
    "config",
    place,
  ]);
  assertEquals(await inLanguage(error, "en"), error);
  const plain = new Error("a defect");
  assertEquals(await inLanguage(plain, "zh-CN"), plain);
});

Deno.test("provider errors have the status, the original text and a remedy", () => {
  const endpoint = {
    provider: "p",
    host: "h.example",
    model: "m-1",
    keyName: "P_KEY",
    keyed: true,
    secrets: [],
  };
  const shown = (status: number, text: string) => {
    const { localized = "" } = reportedFailure({ status, text }, endpoint).error;
    return translator.text(localized as Text);
  };
  assertEquals(
    shown(401, "bad key"),
    "供应商“p”（h.example）返回了错误（状态码 401）：bad key；请检查 P_KEY 的值",
  );
  assertMatch(shown(402, "Insufficient Balance"), /402.*请为账户充值/);
  assertMatch(shown(404, "no such model"), /404.*模型名“m-1”/);
  assertMatch(shown(429, ""), /请求太频繁（状态码 429）$/);
  assertMatch(shown(503, "busy"), /返回了错误（状态码 503）：busy$/);
});

Deno.test("invalid configuration values are reported with the expected type", () => {
  const shown = (table: Record<string, unknown>) => {
    const problems = checkConfig(table as Parameters<typeof checkConfig>[0]);
    const { texts: { message, remedy = "" } } = new ConfigError(problems);
    return `${translator.text(message)}；${translator.text(remedy)}`;
  };
  assertEquals(
    shown({ agent: { max_steps: "7" } }),
    'agent.max_steps 不能是 文本 "7"：应为整数（≥ 0）；请去掉引号：max_steps = 7',
  );
  assertMatch(
    shown({ ui: { theme: "drak" } }),
    /^ui\.theme 不能是 文本 "drak"：应为其中之一：.*；你是不是要写“dark”/,
  );
  assertMatch(shown({ agnet: {} }), /^没有 agnet 这个设置；你是不是要写“agent”/);
  assertMatch(shown({ ui: { theme: 1 }, language: 2 }), /^配置有 2 处错误：\n/);
});

Deno.test("titles of all built-in tools have a Chinese translation", () => {
  const args: Record<string, unknown> = {
    path: "a.ts",
    pattern: "x",
    command: "make",
    name: "n",
    query: "q",
    job_id: "j",
    id: "t",
    step: 2,
    status: "complete",
    note: "note",
    agent: "general",
    description: "look; then go",
    source_path: "a",
    destination_path: "b",
    questions: [{ question: "Which?" }],
    patch: "*** Begin Patch\n*** Delete File: a.ts\n*** End Patch",
  };
  // What the model or the user wrote stays as it is.
  const own = new Set(["bash", "task", "read_only_task"]);
  for (const { name, title } of BUILTINS) {
    const text = title?.(args);
    if (text === undefined) continue;
    assertEquals(/\p{Script=Han}/u.test(translator.text(text)), !own.has(name), name);
  }
});
