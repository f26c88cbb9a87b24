import { serverFailure } from "./server_failures.ts";
import { PROVIDERS, type Says } from "./providers.ts";
import type { Expected, WrittenSayings } from "../../../core/mod.ts";
import { Translator } from "../../translate.ts";
import { catalogue } from "../../zh_cn.ts";

const EXPECTED: Readonly<Record<Expected, string>> = {
  "one of": "其中之一：",
  "text": "引号中的文本",
  "some text": "非空的文本",
  "true or false": " true 或 false",
  "array": "数组",
  "array of tables": "表的数组",
  "table": "表",
  "whole number": "整数",
  "number": "数字",
};

const SETTINGS = {
  noKey: (provider, name) => `供应商“${provider}”没有 API 密钥：未设置 ${name}`,
  writeKey: (name, file) => `请把 ${name}=… 写入 ${file}`,
  writeOrExportKey: (name, file) => `请把 ${name}=… 写入 ${file}，或 export ${name}`,
  writeHiddenKey: (name, file) => `请把 ${name}=… 写入 ${file}；security.env_keys 为 false 时不使用环境变量`,
  noModelNamed: (provider) => `供应商“${provider}”没有写明模型`,
  addModel: () => '请在其条目中加上 model = "…" 或 models = ["…"]',
  modelOfSeveral: (model, providers) => `提供模型“${model}”的供应商不止一个：${providers}`,
  writeOneOf: (references) => `请写成其中之一：${references}`,
  unknownModel: (model, configured) => `没有模型“${model}”（已配置：${configured || "无"}）`,
  didYouMean: (word) => `你是不是要写 ${word}？`,
  chooseModel: () => "请选其中之一，或添加一个 [[providers]] 条目",
  untrustedProvider: (provider) => `本项目的供应商“${provider}”尚未被信任`,
  trustProvider: () => "请查看 reasonix.toml 中的条目；同意的话，加上 --trust-project 再运行一次",
  untrusted: (items) => `本项目包含你尚未信任的内容：\n${items}`,
  trustItems: () =>
    "请先查看，再运行 `reasonix trust`；或为本次运行加上 --trust-project，或用 --ignore-untrusted 忽略它们",
  configErrors: (count, lines) => `配置有 ${count} 处错误：\n${lines}`,
  correctPlaces: () => "请改正这些地方，然后重新启动",
  badToml: (reason, at) => `无法读取这里的 TOML：${reason}${at === "" ? "" : `（在 ${at} 处）`}`,
  correctLine: () => "请改正这一行；语法见 https://toml.io",
  unreadableConfig: (reason) => `无法读取配置文件：${reason}`,
  readableConfig: () => "请在那里放一个可读的 UTF-8 文本文件，或删除它",
  lacksKey: (table, key) => `${table} 缺少 ${key}`,
  addLine: (line) => `请加上一行，例如 ${line}`,
  wrongValue: (found, key, expected, detail) => `${key} 不能是 ${found}：应为${EXPECTED[expected]}${detail}`,
  writeLike: (line) => `例如可以写成 ${line}`,
  putInBrackets: (line) => `请放进方括号：${line}`,
  removeQuotes: (line) => `请去掉引号：${line}`,
  unknownKey: (key) => `没有 ${key} 这个设置`,
  showKeys: () => "用 `reasonix config show` 查看全部设置",
  removeKey: () => "请删除它，或用 reasonix docs config 查找",
  replacedDirectory: (file) =>
    `${file} 中的允许规则不生效：它们是为此路径上原来的目录保存的，该目录已被另一个目录取代`,
  allowAnew: () => "请在被询问时重新允许（旧规则会随之移除），或删除该文件",
  unusablePath: (name, path) => `不能使用 ${name}：${path}`,
  outsideProjects: () => "请指定工作目录之外的目录",
  writeAbsolute: () => "请写完整路径，以 / 或 ~/ 开头",
  noAgentAddress: () => "不能使用 AGENT_BASE_URL：它不是 http 地址",
  noAgentModel: () => "AGENT_BASE_URL 需要一个模型",
  setVariable: (name) => `请设置 ${name}`,
  noCommandRule: (rule, key) => `不能将 ${rule} 用于 ${key}：它不是关于命令的规则`,
  usedTwice: (name, list) => `${list} 中不能两次使用名称 ${name}`,
  noSuchEffort: (word, levels) => `不能用“${word}”作为 effort：等级有 ${levels}`,
  nameEfforts: (line) => `请使用其中之一，或写明供应商自有的等级：${line}`,
  noSuchFacts: (provider, vendor) => `供应商“${provider}”的 facts 指定了没有模型表的“${vendor}”`,
  renameEntry: () => "请给其中一个改名，或删除它",
} satisfies Partial<Says>;

const COMMANDS = {
  emptyRule: () => "权限规则是空的",
  brokenRule: (rule) => `无法读懂权限规则 ${rule}`,
  emptyParentheses: (rule) => `无法读懂权限规则 ${rule}：括号中没有内容`,
  wideRule: (rule) => `无法采用权限规则 ${rule}：它过长，或其中的花括号代表的名称过多`,
  writeSeveralRules: (name) => `请为 ${name} 写多条规则，或用通配符代替花括号`,
  wideRules: () => "无法采用此文件的权限规则：其中的通配符和花括号代表的内容过多",
  writeFewerRules: () => "请减少规则，或用通配符代替花括号",
  noRuleTool: (name) => `无法读懂 ${name} 的权限规则：没有这个名字的工具或类别`,
  writeRule: () => "请写 Tool 或 Tool(what)，例如 Bash(go test:*)",
  writeParentheses: () => "请写 Tool 或 Tool(what)，两个括号都要有",
  writeNameAlone: (name) => `要指所有调用，请只写 ${name}`,
  useRuleNames: () => "请用 Bash、Read、Edit、Mcp 或工具自己的名字",
  badKey: (key) => `无法读懂设置名“${key}”`,
  writeDots: () => "请用点分隔，例如 sandbox.bash 或 providers.deepseek.effort",
  notSaved: (file, reason) => `无法保存 ${file}：${reason}`,
  makeRoom: () => "请在那里腾出空间或使其可写，然后重试；文件保持原样",
  fileExists: (file) => `无法写入 ${file}：它已存在`,
  fileUnwritable: (file, reason) => `无法写入 ${file}：${reason}`,
  chooseName: () => "请换一个名字",
  chooseDirectory: () => "请指定可写目录中的文件",
  editorEnded: (editor, code) => `编辑器 ${editor} 以退出码 ${code} 结束`,
  editorFailed: (editor, reason) => `无法用 ${editor} 编辑草稿：${reason}`,
  setEditor: () => "请把 VISUAL 或 EDITOR 设为已安装的程序",
  draftStays: () => "草稿保持原样",
  noFact: (name) => `找不到“${name}”：没有记住这样的内容`,
  twoFacts: (name) => `“${name}”有两条：一条属于本项目，一条用于所有项目`,
  listFacts: () => "用 /memory 查看已记住的内容",
  giveScope: () => "请指明范围：project 或 global",
  noServer: (name, configured) => `没有 MCP 服务器“${name}”（已配置：${configured || "无"}）`,
  serverUnusable: (name, why) => `MCP 服务器 ${name} 无法使用：${serverFailure(why)}`,
  lookAtLog: (file, name) => `请查看 ${file}，或运行 \`reasonix mcp test ${name}\``,
  noSignIn: (name, why) => `MCP 服务器 ${name} 不需要登录：${serverFailure(why)}`,
  signInFailed: (name, why) => `无法登录 ${name}：${serverFailure(why)}`,
} satisfies Partial<Says>;

const SESSIONS = {
  noSession: (name) => `找不到会话“${name}”`,
  listSessions: () => "用 `reasonix session list --all` 查看现有会话",
  noSessionFile: (file) => `找不到会话文件 ${file}`,
  giveSession: () => "请给出 .jsonl 会话文件的路径，或会话的 id",
  severalSessions: (name, count, shown) => `有 ${count} 个会话符合“${name}”：${shown}`,
  giveWholeId: () => "请给出完整的 id，或标题中更多的字",
  noSessionHere: (directory) => `无法继续：${directory} 还没有会话`,
  beginOne: () => "请去掉 --continue，开始一个新会话",
  busy: (session, pid, since) =>
    `无法写入会话 ${session}：${pid === "" ? "另一个进程" : `进程 ${pid}`}正在使用它${
      since === "" ? "" : `（自 ${since}）`
    }`,
  endOrCopy: () => "请结束那个进程，或用 --copy 在副本中继续",
  noSuchTurn: (turn) => `没有已结束的第 ${turn} 轮`,
  chooseTurn: (turns) => `请从中选择：${turns}${turns.startsWith("0") ? "（0 表示第一轮之前）" : ""}`,
  noTurnYet: () => "会话中还没有已结束的轮次",
  nothingToRedo: () => "没有可以重做的内容：最近一轮之后没有回退过",
  redoTakesBack: () => "只有在回退之后会话还没有继续时，才能撤回它",
  turnRuns: () => "有一轮正在进行，现在无法回退",
  waitOrStop: () => "请等它结束，或先停止它",
  beganWith: (mode, initial) => `会话以 ${initial} 开始，无法切换到 ${mode}`,
  leaveForMode: (mode) => `请退出后这样继续：reasonix -c --permission-mode ${mode}`,
  inputTooLong: (model, tokens, window) => `输入对 ${model} 来说太长：约 ${tokens} 个词元，上限 ${window}`,
  shortenInput: () => "请把内容写入文件，并在任务中写明文件名，这样可以分段读取",
  largeInput: (tokens, limit) =>
    `输入较大，没有发送：约 ${tokens} 个词元，超过 agent.large_input_tokens（${limit}）`,
  shortenOrRaise: () => "请把内容写入文件，并在任务中写明文件名；或调大 agent.large_input_tokens",
  emptyTwice: () => "模型两次返回了空的回答；请重试，或换一个模型",
  stepLimit: (steps) => `已达到步数上限，在 ${steps} 步后停止`,
  timeLimit: (seconds) => `已达到时间上限，在 ${seconds} 秒后停止`,
  costLimit: (limit) => `已达到费用上限 ${limit}，在下一次请求之前停止`,
  costUnknown: (limit) => `供应商没有报告用量，无法保证费用上限 ${limit}，因此停止`,
  filtered: () => "供应商的内容过滤结束了回答",
  cutAtLimit: () => "回答因达到模型的输出上限而被截断；请调大 max_output_tokens",
  textCall: (tool, provider) =>
    `模型把对 ${tool} 的调用写成了文字，不会执行；如果它本意如此，请为供应商“${provider}”` +
    '设置 tool_mode = "pseudo"',
} satisfies Partial<Says>;

const DENIALS = {
  file: "沙箱可能阻止了此命令写入；--add-dir 或 [sandbox] allow_write 可以开放目录",
  network: "沙箱可能阻止了此命令联网。要允许，请在 ~/.reasonix/config.toml 中加入：",
  readOnly: "由于 [tools] writes，命令只能读取工作区；--writes allow 可以开放",
  mode: "在只读模式和计划模式下，命令只能读取工作区",
  setup: "无法为此命令建立沙箱；下次会重新尝试",
} as const;

const METHODS: Readonly<Record<string, string>> = {
  "prune": "截短输出",
  "summary": "摘要",
  "summary of shortened outputs": "截短输出后的摘要",
  "summary in parts": "分段摘要",
  "extract": "摘录",
  "drop": "略去较早的消息",
};

const NOTICES = {
  at: (place) => `${place}：`,
  shortened: (method, before, after) =>
    `上下文已压缩（${METHODS[method] ?? method}）：${before} → ${after} 词元`,
  waits: (problem) => `暂缓压缩：${problem}`,
  because: (problem) => `原因：${problem}`,
  originalsStay: () => "会话保留了原文",
  notArchived: (problem) => `被压缩的消息无法归档：${problem}；会话文件中仍有它们`,
  serverWindow: (tokens, source) => `服务器的上下文窗口为 ${tokens} 个词元（${source}）`,
  languageServerGone: (server, why) => `语言服务器 ${server} 不再启动：${why}`,
  heldBack: (names) => `以下变量看似机密，不提供给命令：${names}；[tools.shell] pass_env 可以放行`,
  refusedHost: (address, reason) => `拒绝了到 ${address} 的连接：${reason}`,
  deniedByJail: (what, lines) => `${DENIALS[what]}${lines}`,
  madeFiles: (kind, names) =>
    `命令生成了${
      kind === "protected" ? "其他程序会运行或遵从的文件" : "Edit 规则不允许改动的文件"
    }：${names}；信任之前请先查看`,
  changedAll: (paths) =>
    `这一轮的调用应当只读取，却有文件被改动：${paths}。\`reasonix session rewind\` 可以恢复它们`,
  noCheckpoint: (root, problem) => `无法保存 ${root} 中文件的现状：${problem}。这一轮的改动将无法回退`,
  tornLine: (session, bytes) => `会话 ${session} 的最后一行（${bytes} 字节）被截去：程序在写入它时结束了`,
  onDiskAgain: (session) => `会话 ${session} 已重新写入磁盘，没有丢失内容`,
  notWritten: (file, problem) =>
    `无法写入 ${file}：${problem}。会话在内存中继续，能够写入时会在一轮结束时保存`,
  damagedLines: (count, file, lines) => `跳过了 ${file} 中 ${count} 个损坏的行：${lines}`,
  ruleUnsaved: (rule, problem) => `规则 ${rule} 未能保存，只在本次会话中有效：${problem}`,
  skillRules: (skill) => `技能 ${skill} 的 allowed-tools 不生效：它来自项目，尚未用 \`reasonix trust\` 信任`,
  imageLeftOut: (number, reason) => `图片 ${number} 未附上：${reason}`,
  imageDescribed: (number, model, tokens, cost) =>
    `图片 ${number} 由 ${model} 描述（${tokens} 个 token${cost === "" ? "" : `，${cost}`}）`,
  imageUndescribed: (number, model, reason) => `${model} 未能描述图片 ${number}：${reason}`,
  noImages: (model) => `${model} 不接受图片：只会告诉它有一张图片`,
  serversStart: (names, seconds) => `首次启动 ${names}（最多等待 ${seconds} 秒）`,
  serversLate: (names, seconds) => `MCP：${names} 在 ${seconds} 秒后仍未就绪，其工具会在就绪后加入`,
  noCount: (provider, kind) => `供应商“${provider}”（类型 ${kind}）不能事先计算 token 数`,
  withoutExact: () => "请去掉 --exact：这时在本地计算，或取上次应答中的数",
  notSent: (settings, model) => `请求中不含 ${settings}：${model} 会拒绝带有它的请求`,
  effortFell: (model, wanted, level) =>
    level === ""
      ? `${model} 没有可设置的思考强度，“${wanted}”不发送`
      : `${model} 没有思考强度“${wanted}”，改用“${level}”`,
  elsewhere: (began, cwd) => `会话来自 ${began}，本次运行在 ${cwd}；用 --dir ${began} 可在那里运行`,
  textCallsOld: (key) => `${key} 已过时：它只读取模型自行写出的调用`,
  usePseudo: () => '请为此条目设置 tool_mode = "pseudo"，它还会告诉模型怎样写调用',
  toolless: (model) => `${model} 在这里没有工具（tool_mode = "none"）：只能交谈，不能修改或运行任何东西`,
  serverDenied: (server, rule) => `权限规则 ${rule} 禁止使用 MCP 服务器“${server}”`,
  serverElsewhere: (name) => `MCP 服务器“${name}”由模型供应商连接，这里不运行它`,
  noTransport: () => '要在这里使用它，请从其条目中去掉 transport = "provider"',
  remoteUnavailable: (server, model) =>
    `MCP 服务器 ${server} 不可用：它由模型供应商连接，而 ${model} 做不到；请改用类型为 anthropic 或 responses 的模型，` +
    '或去掉 transport = "provider"',
  remoteUnasked: (server, model, rule) =>
    `MCP 服务器 ${server} 不提供给 ${model}：它调用工具前不会询问，而没有规则允许这些工具；例如 allow = ["${rule}"]`,
  remoteHeaders: (server, headers) =>
    `MCP 服务器 ${server} 的 ${headers} 不会发送：模型供应商只转交 authorization`,
  remoteCalled: (server, tool, args, output) => `${server} 已被调用：${tool}(${args})：${output}`,
  remoteFailed: (server, tool, args, output) => `${server} 调用失败：${tool}(${args})：${output}`,
  turnOf: (turn, most) => `第 ${turn} 轮，共 ${most} 轮`,
  turnsUsedUp: (most) => `${most} 轮已全部用完，模型没有表示已经完成`,
  unknownParameter: (parameter, alias) => `[tools.alias] 的 ${alias} 没有参数“${parameter}”，已忽略`,
  notForPlanMode: (name) =>
    `[agent] plan_mode_allowed_tools 中的“${name}”不起作用：只能写 MCP 工具的全名，如 mcp__server__tool`,
  autoPlan: () => "这个任务较复杂，先进入计划模式：批准计划之前不会有任何改动；/plan off 退出",
  verified: (commands) => `已验证：${commands}`,
  notVerified: () => "未验证",
  verifyFailed: (command, how, round, most) =>
    `第 ${round}/${most} 次验证：${command} 失败（${how}），已告知模型`,
  verifyGaveUp: (command, how) => `未验证：${command} 仍然失败（${how}）`,
  verifyUntrusted: (command) =>
    `${command} 尚未被信任：运行 \`reasonix trust\`，或在自己的 [workflow] verify_commands 中写明`,
  verifyChanged: (command, file) => `${command} 所运行的内容在本轮中被修改（${file}），因此不再受信任`,
  verifyRefused: (command, why) => `${command} 不允许运行：${why}`,
  verifyMissing: (command) => `${command}：找不到该程序`,
  verifyUnrun: (command, why) => `${command} 无法运行：${why}`,
  verifyNothing: () => "没有可用于验证的命令：既没有配置，也没有找到",
  verifyConfigure: () => "请设置 [workflow] verify_commands；见 docs/verification.md",
  plannerPlan: (model, plan) => `${model} 的计划：\n${plan}`,
  plannerFailed: (model, why) => `${model} 没有给出计划：${why}。本轮在没有计划的情况下继续`,
  plannerRests: (model, why) =>
    `${model} 没有给出计划：${why}。本轮在没有计划的情况下继续；本次运行不再请它计划`,
  planUnsaved: (directory, why) => `计划无法写入 ${directory}：${why}；会话中仍保存着它`,
  unknownTool: (name) => `[tools] 中没有“${name}”这个工具，已忽略`,
  goalComplete: (turns) => `目标已达成，共 ${turns} 轮`,
  goalBlocked: (why) => `目标受阻，需要有人处理：${why}`,
  goalTurns: (turns) => `目标未达成：已达到轮数上限 ${turns}`,
  goalCost: (cost) => `目标未达成：已达到费用上限 ${cost}`,
  goalTime: (seconds) => `目标未达成：已达到时间上限 ${seconds} 秒`,
  goalIdle: (turns) => `目标未达成：连续 ${turns} 轮没有任何效果`,
  goalTurnLimit: (detail) => `目标未达成：${detail}`,
  goalPaused: () => "目标已暂停",
  goalFailed: (detail) => `目标已暂停：${detail}`,
  goalCleared: () => "目标已取消",
  goalGoesOn: () => "用 /goal resume 或 reasonix run -c 继续",
  goalNext: (turn) => `目标尚未达成：开始第 ${turn} 轮`,
  goalWaits: (turn, seconds) => `没有新的效果：${seconds} 秒后开始第 ${turn} 轮`,
  goalCheck: (command) => `检查未通过：${command}`,
  goalResearch: (directory) => `研究记录在 ${directory}`,
  goalUpgraded: (directory) => `此任务按长期研究处理（--simple 可关闭），研究记录在 ${directory}`,
  goalReport: (file) => `研究报告：${file}`,
} satisfies Partial<Says>;

const HOOKS = {
  hookSays: (event, message) => `${event} 钩子：${message}`,
  hookFailed: (event, hook, why) => `${event} 钩子 ${hook} 失败：${why}；它没有起作用`,
  hookFailedClosed: (event, hook, why) => `${event} 钩子 ${hook} 失败：${why}；因此视为拒绝`,
  hookInputs: (count, counts, others) =>
    `${count} 个钩子修改了同一调用的参数：以 ${counts} 的为准，${others} 的不计`,
  hookRefusedPrompt: (why) => `钩子拒绝了这条输入，它没有发给模型：${why}`,
  hookKeptGoing: (times) => `钩子已 ${times} 次不让这一轮结束；现在仍然结束`,
} satisfies Partial<Says>;

const ALL: Says = { ...PROVIDERS, ...SETTINGS, ...COMMANDS, ...SESSIONS, ...NOTICES, ...HOOKS };

/** Says them in a row; all in English when one of them is not known, as those of a newer version may be. */
export function sayAll(sayings: WrittenSayings | undefined, english: string): string {
  const parts: string[] = [];
  for (const one of sayings ?? []) {
    const [code = "", ...words] = one;
    const say = typeof code === "string" && Object.hasOwn(ALL, code)
      ? ALL[code as keyof Says] as (...words: string[]) => string
      : undefined;
    if (say) parts.push(say(...words as string[]));
    else {
      const text = new Translator(catalogue).written([one], "");
      if (text === "") return english;
      parts.push(text);
    }
  }
  const said = parts.join("；").replaceAll("：；", "：");
  return said === "" ? english : said;
}
