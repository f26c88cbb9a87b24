/** Failures and notices in other languages: every code is said, and every code is used. */
import { ReasonixError, type Saying, type SayingWords } from "../../../src/core/mod.ts";
import { inLanguage } from "../../../cli/terminal/language.ts";
import { ConfigError } from "../../../src/config/mod.ts";
import { checkConfig } from "../../../src/config/load/check.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { reportedFailure } from "../../../src/provider/errors.ts";
import { BUILTINS } from "../../../src/tool/builtins.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";

const chinese = await loadTexts("reasons", "zh-CN");
const english = await loadTexts("reasons", "en");
const ENDPOINT = {
  provider: "p",
  host: "h.example",
  model: "m-1",
  keyName: "P_KEY",
  keyed: true,
  secrets: [],
};

/** The words that every code is declared with, from the declaration itself. */
async function codes(): Promise<Map<string, string[]>> {
  const source = await Deno.readTextFile(new URL("../../../src/core/sayings.ts", import.meta.url));
  const body = /export interface SayingWords \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? "";
  return new Map(
    [...body.matchAll(/readonly (\w+): \[([^\]]*)\]/g)].map(([, code = "", words = ""]) => [
      code,
      words.split(",").filter((word) => word.trim() !== "").map((word) => word.split(":")[0]?.trim() ?? ""),
    ]),
  );
}

/** Words that choose among sentences in place of standing in one. */
const CHOICES: Partial<Record<keyof SayingWords, readonly string[]>> = {
  answered: ["p", "h", "auth", "401", "who are you"],
  checkNetwork: ["unset"],
  certificate: ["SSL_CERT_FILE"],
  wrongValue: ['"x"', "ui.theme", "one of", '"dark", "light"'],
  deniedByJail: ["network"],
  madeFiles: ["denied", "a.txt"],
  shortened: ["summary", "1,200", "300"],
};
const UNSAID = new Set(["auth", "unset", "one of", "network", "denied", "summary"]);

Deno.test("every failure and notice is said in Chinese, with the words that vary", async () => {
  for (const [code, names] of await codes()) {
    const words = CHOICES[code as keyof SayingWords] ?? names.map((name) => `《${name}》`);
    const text = chinese.said([[code, ...words]], "english");
    assert(text !== "english", code);
    if (code !== "at") assertMatch(text, /\p{Script=Han}/u);
    for (const word of words) assert(UNSAID.has(word) || text.includes(word), `${code} ${word}: ${text}`);
    assertEquals(english.said([[code, ...words]], "as it was"), "as it was");
  }
});

/** All source below a directory but what declares or translates the codes. */
function textBelow(directory: URL): string {
  return [...Deno.readDirSync(directory)].map(({ name, isDirectory }) => {
    if (isDirectory) return name === "i18n" ? "" : textBelow(new URL(`${name}/`, directory));
    return name === "sayings.ts" ? "" : Deno.readTextFileSync(new URL(name, directory));
  }).join("");
}

Deno.test("every code of a failure or notice is used where something fails or is noticed", async () => {
  const source = ["src", "cli"].map((name) => textBelow(new URL(`../../../${name}/`, import.meta.url))).join(
    "",
  );
  for (const code of (await codes()).keys()) assert(source.includes(`"${code}"`), `nobody says ${code}`);
});

Deno.test("what a newer version says is shown in English, as is nothing", () => {
  assertEquals(chinese.said([["noKey", "p", "K"], ["codeOfTomorrow"]], "as it was"), "as it was");
  assertEquals(chinese.said([["constructor"]], "as it was"), "as it was");
  assertEquals(chinese.said([], "as it was"), "as it was");
  assertEquals(chinese.said(undefined, "as it was"), "as it was");
});

Deno.test("an error keeps its place and exit in another language; its remedy is said, too", async () => {
  const said: Saying[] = [["noKey", "deepseek", "K"], ["writeKey", "K", "/h/.env"]];
  const place = { file: "/h/config.toml", line: 3, column: 1 };
  const error = new ReasonixError("No API key", { exit: "config", remedy: "write it", place, said });
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

Deno.test("answers of providers are said with the status, their own words and what to do", () => {
  const said = (status: number, text: string) =>
    chinese.said(reportedFailure({ status, text }, ENDPOINT).error.said, "english");
  assertEquals(
    said(401, "bad key"),
    "供应商“p”（h.example）拒绝了请求（状态码 401）：bad key；请检查 P_KEY 的值",
  );
  assertMatch(said(402, "Insufficient Balance"), /402.*请为账户充值/);
  assertMatch(said(404, "no such model"), /404.*模型名“m-1”/);
  assertMatch(said(429, ""), /请求太频繁（状态码 429）$/);
  assertMatch(said(503, "busy"), /返回了错误（状态码 503）：busy$/);
});

Deno.test("wrong values of the configuration are said with what is expected", () => {
  const said = (table: Record<string, unknown>) => {
    const problems = checkConfig(table as Parameters<typeof checkConfig>[0]);
    return chinese.said(new ConfigError(problems).said, "english");
  };
  assertEquals(
    said({ agent: { max_steps: "7" } }),
    'agent.max_steps 不能是 "7"：应为整数（≥ 0）；请去掉引号：max_steps = 7',
  );
  assertMatch(
    said({ ui: { theme: "drak" } }),
    /^ui\.theme 不能是 "drak"：应为其中之一：.*；你是不是要写 "dark"/,
  );
  assertMatch(said({ agnet: {} }), /^没有 agnet 这个设置；你是不是要写 "agent"/);
  assertMatch(said({ ui: { theme: 1 }, language: 2 }), /^配置有 2 处错误：\n/);
});

Deno.test("titles of all tools of the program and their usual results have Chinese words", () => {
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
    assertEquals(english.callTitle(text), text);
    assertEquals(/\p{Script=Han}/u.test(chinese.callTitle(text)), !own.has(name), `${name}: ${text}`);
  }
  for (
    const [text, said] of [
      ["1 line", "1 行"],
      ["no matches", "没有匹配"],
      ["3 matches", "3 处匹配"],
      ["2/3 done", "已完成 2/3"],
      ["exit 3 · 2 lines", "退出码 3 · 2 行"],
      ["a; b.ts has not been read in this session", "a; b.ts 尚未在本会话中读取"],
      ["+2 −1", "+2 −1"],
    ] as const
  ) assertEquals([chinese.callResult(text), english.callResult(text)], [said, text]);
});
