/** The Chinese catalogue has exactly the messages of the program, complete. */
import ts from "typescript";
import { checkConfig } from "../../../src/config/load/check.ts";
import { ConfigError } from "../../../src/config/mod.ts";
import {
  CLAUSES,
  LIST,
  listOf,
  message,
  ReasonixError,
  type Text,
  textFields,
  textOf,
  type WrittenMessage,
  writtenText,
} from "../../../src/core/mod.ts";
import { detectLocale, loadTranslator, type LocaleSources } from "../../../src/i18n/mod.ts";
import catalogue from "../../../src/i18n/zh-CN.json" with { type: "json" };
import { reportedFailure } from "../../../src/provider/errors.ts";
import {
  alwaysOnProtections,
  type Confinement,
  describeConfinement,
  noConfinement,
} from "../../../src/sandbox/mod.ts";
import { PLUGINS } from "../../../plugins/plugins.ts";
import { BUILTINS } from "../../../src/tool/builtins.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { appFor } from "../../../cli/app.ts";
import { inLanguage } from "../../../cli/terminal/language.ts";
import { bash, call, type RuleTexts, scene } from "../permission/scene.ts";

const ROOT = new URL("../../../", import.meta.url);
const ENTRIES = Object.entries<string>(catalogue);
const FILES = ["src/", "cli/"].flatMap(filesBelow);
const USED = new Set([
  LIST,
  CLAUSES,
  ...await helpOf("run"),
  ...await helpOf("review"),
  ...await helpOf("commit"),
  ...await helpOf("pr"),
  ...await helpOf("acp"),
  ...await helpOf("serve"),
  ...await helpOf("web"),
  ...FILES.flatMap((file) => templatesOf(sourceOf(file))),
  ...PLUGINS.flatMap(({ brief, touches, questions = [] }) => [
    brief,
    touches,
    ...questions.map(({ text }) => text),
  ]),
]);

/** Headings of the help. */
const HEADINGS = new Set(literalsOf(sourceOf("cli/help.ts")));

function literalsOf(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

/** Collects the texts of `--help` of the program and of one command. */
async function helpOf(command: string): Promise<string[]> {
  const { root } = await appFor(command);
  if (!("getAllEntries" in root)) return [];
  return [
    root.brief,
    ...root.getAllEntries().flatMap(({ name, target, hidden }) => {
      if (name.original !== command || !("parameters" in target)) return hidden ? [] : [target.brief];
      const { flags = {}, positional } = target.parameters;
      const described = Object.values(flags) as { brief: string; hidden?: boolean }[];
      const shown = described.filter((flag) => !flag.hidden).map(({ brief }) => brief);
      const rest = positional?.kind === "array" ? [positional.parameter.brief] : [];
      return [target.brief, target.fullDescription ?? "", ...rest, ...shown];
    }),
  ];
}

function filesBelow(directory: string): string[] {
  return [...Deno.readDirSync(new URL(directory, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${directory}${name}/`) : name.endsWith(".ts") ? [directory + name] : []
  );
}

function sourceOf(file: string): string {
  return Deno.readTextFileSync(new URL(file, ROOT));
}

/** Finds the templates of tagged literals (`` t`…` ``, `` message`…` ``), with `{}` for each value. */
function templatesOf(source: string): string[] {
  if (!/\b(?:t|message)`/.test(source)) return [];
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && /^(?:t|message)$/.test(node.tag.getText())) {
      const { template } = node;
      const parts = ts.isTemplateExpression(template)
        ? [template.head, ...template.templateSpans.map(({ literal }) => literal)]
        : [template];
      found.push(parts.map(({ text }) => text).join("{}"));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

Deno.test("every message has a Chinese translation", () => {
  const missing = [...USED].filter((template) => !Object.hasOwn(catalogue, template));
  assertEquals(missing, []);
});

/** Packages whose errors a model reads. */
const FOR_MODELS = /^src\/(?:tool|lsp|mcp|memory|path|context|control|features\/lsp)\//;

/** Finds messages and remedies of errors that are plain strings, which no catalogue can translate. */
function plainErrors(source: string): string[] {
  if (!/\b(?:ReasonixError|usageError|withRemedy)\(/.test(source)) return [];
  const found: string[] = [];
  const check = (text: ts.Node | undefined): void => {
    if (text === undefined) return;
    if (ts.isConditionalExpression(text)) [text.whenTrue, text.whenFalse].forEach(check);
    else if (ts.isStringLiteral(text) || ts.isTemplateExpression(text)) {
      if (/[a-z]{2}/.test(text.getText().replace(/\$\{[^}]*\}|^.\/.*/g, ""))) found.push(text.getText());
    }
  };
  const visit = (node: ts.Node): void => {
    if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      /^(?:ReasonixError|usageError|withRemedy)$/.test(node.expression.getText())
    ) {
      const [text, more] = node.arguments ?? [];
      check(text);
      if (more && ts.isObjectLiteralExpression(more)) {
        for (const property of more.properties) {
          if (ts.isPropertyAssignment(property) && property.name.getText() === "remedy") {
            check(property.initializer);
          }
        }
      } else check(more);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true));
  return found;
}

Deno.test("every user-visible error is a message, not a plain string", () => {
  const plain = FILES.filter((file) => !FOR_MODELS.test(file))
    .flatMap((file) => plainErrors(sourceOf(file)).map((text) => `${file}: ${text}`));
  assertEquals(plain, []);
});

Deno.test("every Chinese translation belongs to a message", () => {
  assertEquals(
    ENTRIES.map(([template]) => template).filter((template) =>
      !USED.has(template) && !HEADINGS.has(template)
    ),
    [],
  );
});

Deno.test("the catalogue is sorted", () => {
  const templates = ENTRIES.map(([template]) => template);
  assertEquals(templates, templates.toSorted((a, b) => a < b ? -1 : 1));
});

Deno.test("a Chinese translation has every placeholder of its message", () => {
  for (const [template, sentence] of ENTRIES) {
    const count = template.split("{}").length - 1;
    const places = [...new Set([...sentence.matchAll(/\{(\d+)\}/g)].map(([, place]) => Number(place)))];
    const all = Array.from({ length: count }, (_, index) => index + 1);
    assertEquals(places.sort((a, b) => a - b), all, `${template}: ${sentence}`);
  }
});

Deno.test("a Chinese translation differs from the English text", () => {
  for (const [template, sentence] of ENTRIES) {
    const isProse = ENGLISH.test(plain(template));
    assert(
      !isProse || !/\p{L}/u.test(plain(sentence)) || /\p{Script=Han}/u.test(sentence),
      `${template}: ${sentence}`,
    );
    assert(!ENGLISH.test(plain(sentence)), sentence);
  }
});

/** Words of which every English sentence has some, and no command or setting. */
const ENGLISH =
  /(?<![\w.-])(?:a|an|the|is|are|was|not|no|of|to|and|or|for|with|in|on|it|its|this|that|be|you|your|cannot)(?![\w.=-])/;

/** Removes quoted code. */
function plain(text: string): string {
  return text.replace(/`[^`]*`|"[^"]*"|\{[^}]*\}/g, "");
}

function detect(variables: Record<string, string>, rest: Omit<LocaleSources, "env"> = {}) {
  return detectLocale({ env: (name) => variables[name], ...rest });
}

Deno.test("detectLocale reads locale names of systems, and defaults to English", () => {
  for (const name of ["zh_CN.UTF-8", "zh-Hans", "zh_TW", "zh", "ZH-cn", "zh_HK.Big5-HKSCS", "zh_CN@pinyin"]) {
    assertEquals(detect({ LANG: name }), { locale: "zh-CN" }, name);
  }
  for (const name of ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "en", "de_DE", "zhx", "", "汉语", "."]) {
    assertEquals(detect({ LANG: name }), { locale: "en" }, name);
  }
  assertEquals(detect({}), { locale: "en" });
});

Deno.test("detectLocale prefers the program's setting to the system's", () => {
  const all = { REASONIX_LANG: "zh", AGENT_LANG: "en", LC_ALL: "en", LC_MESSAGES: "en", LANG: "en" };
  assertEquals(detect(all, { language: "en" }).locale, "zh-CN");
  assertEquals(detect({ AGENT_LANG: "zh", LC_ALL: "en" }, { language: "en" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "en", LANG: "en" }, { language: "zh-CN" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "zh_CN", LC_MESSAGES: "en", LANG: "en" }).locale, "zh-CN");
  assertEquals(detect({ LC_MESSAGES: "zh_CN", LANG: "en" }).locale, "zh-CN");
  assertEquals(detect({ REASONIX_LANG: "C", LANG: "zh_CN" }).locale, "en");
});

Deno.test("detectLocale ignores an empty variable, and an unknown LC_ALL means English", () => {
  assertEquals(detect({ REASONIX_LANG: " ", LC_ALL: "", LANG: "zh_CN" }, { language: "" }).locale, "zh-CN");
  assertEquals(detect({ LC_ALL: "fr_FR.UTF-8", LANG: "zh_CN.UTF-8" }), { locale: "en" });
});

Deno.test("detectLocale queries the system only when no variable names a language", () => {
  assertEquals(detect({}, { system: () => "zh-Hans-CN" }).locale, "zh-CN");
  assertEquals(detect({ LANG: "C" }, { system: () => "zh-Hans-CN" }).locale, "en");
  assertEquals(detect({}, { system: () => undefined }).locale, "en");
});

Deno.test("detectLocale skips an unknown name and reports the first of our variables", () => {
  assertEquals(detect({ REASONIX_LANG: "fr", LANG: "zh_CN" }), {
    locale: "zh-CN",
    unknown: { name: "REASONIX_LANG", value: "fr" },
  });
  assertEquals(detect({ REASONIX_LANG: "fr" }, { language: "zh" }).unknown?.name, "REASONIX_LANG");
  assertEquals(detect({ AGENT_LANG: "fr" }, { language: "klingon" }), {
    locale: "en",
    unknown: { name: "language", value: "klingon" },
  });
  assertEquals(detect({ AGENT_LANG: "fr" }), { locale: "en" });
});

// Messages in other languages: errors, events, answers of providers, problems of the configuration.

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

// Findings about calls in Chinese: destructive targets, reasons to ask and to refuse, the jail.

const signal = new AbortController().signal;

/** The prompt for a line of a user without rules. */
async function asked(line: string, rules: RuleTexts = {}): Promise<Text[]> {
  const reasons: Text[] = [];
  const { gate } = scene("/w/p", rules, {
    home: "/h/ada",
    approver: {
      ask({ reason, destructive = [] }) {
        reasons.push(...destructive.map((finding) => finding.reason), reason);
        return Promise.resolve({ allow: false, scope: "once" });
      },
    },
  });
  await gate.check(bash(line), signal);
  return reasons;
}

Deno.test("reasons for prompts have Chinese translations with their values", async () => {
  for (
    const [line, rules, english, chinese] of [
      ["frob", {}, "no rule applies (default)", "没有规则适用（默认）"],
      ["echo a > b", {}, "it writes to a file by redirection", "它会通过重定向写入文件"],
      [
        "make",
        { ask: ["Bash(make:*)"] },
        "Matched permission rule: ask Bash(make:*)",
        "符合权限规则：ask Bash(make:*)",
      ],
      [
        "touch .git/config",
        {},
        "would change Git's own hooks and settings",
        "会改动受保护的文件：Git 自身的钩子和设置",
      ],
      [
        "rm -r /h/ada",
        {},
        "it deletes /h/ada (the home directory, 0 files)",
        "会删除 /h/ada（用户主目录，0 个文件）",
      ],
      [
        "rm -rf /h/ada/*",
        {},
        "it deletes /h/ada (everything in the home directory, 0 files)",
        "会删除 /h/ada（用户主目录中的所有内容，0 个文件）",
      ],
      ["reboot", {}, "reboot stops the computer", "reboot 会让计算机停止运行"],
      ["dd of=/dev/sda", {}, "it writes over the device /dev/sda", "会覆写设备 /dev/sda"],
    ] as const
  ) {
    const [reason = ""] = await asked(line, rules);
    assertEquals([textOf(reason), translator.text(reason)], [english, chinese], line);
  }
});

Deno.test("a refusal has a Chinese translation with its rule", async () => {
  const { gate } = scene("/w/p", { deny: ["Bash(rm:*)"] });
  const { reason = "" } = await gate.check(bash("rm x"), signal);
  assertEquals(
    translator.text(reason),
    '权限规则 deny Bash(rm:*) (reasonix.toml:deny:1) 不允许 "rm x"；不要换一种写法再试',
  );
  const { reason: claim = "" } = await scene("/w/p", {}, { permissionMode: "plan" }).gate
    .check(call("mcp__a__b", {}, true), signal);
  assert(translator.text(claim).startsWith("计划模式不相信 mcp__a__b 只读取"), textOf(claim));
});

Deno.test("the sandbox is described in Chinese with the same facts", () => {
  const jail: Confinement = {
    backend: "bubblewrap",
    roots: ["", "/srv/数据"],
    privateTmp: true,
    network: "none",
    openNetwork: "seccomp is missing",
    forbidden: 2,
    ruled: 1,
    capped: true,
  };
  assertEquals(
    translator.text(describeConfinement(jail)),
    "命令在隔离环境（bubblewrap）中运行：可写本项目、/srv/数据、私有的 /tmp 目录和包缓存；网络没有隔离（seccomp is missing）；" +
      "隐藏了 2 个路径（forbid_read）；隐藏了 1 个路径（Read 规则）；匹配 Read 拒绝规则的路径太多，其余的命令仍然看得到",
  );
  for (const full of [false, true]) {
    const text = translator.text(describeConfinement(noConfinement('[sandbox] bash = "off"', { full })));
    assert(text.includes('[sandbox] bash = "off"') && text.includes("仍然有效：拒绝规则、"), text);
    assertEquals(text.includes("工作区以外"), full);
    assertEquals(text.includes("文件工具的工作区范围"), !full);
  }
  const layers = alwaysOnProtections(false).map((text) => translator.text(text));
  assertEquals([layers.length, new Set(layers).size], [7, 7]);
  assertEquals(alwaysOnProtections(true).length, 5);
});
