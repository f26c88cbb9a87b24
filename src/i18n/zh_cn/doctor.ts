import { serverFailure } from "./sayings/server_failures.ts";
import type { texts as en } from "../en/doctor.ts";

export const texts: typeof en = {
  versions: "版本",
  permissions: "本程序的权限",
  allowed: "允许",
  limited: "部分",
  denied: "拒绝",
  needless: (kind, name) =>
    `本程序启动时获得了加载${kind}的权限（${name}），但它从不需要；请按 docs/start.md 中的命令重新安装`,
  nativeCode: "本机代码",
  remoteModules: "远程模块",

  paths: "路径",
  configuration: "配置",
  found: "已找到",
  absent: "不存在",

  rules: "权限规则",
  providers: "供应商",
  noModel: "（没有模型）",
  keyIs: (state) => `密钥：${state}`,
  keyFromCommand: "由 api_key_command 给出",
  keyInHome: "已保存在主目录",
  keyInEnvironment: "已在环境变量中",
  keyMissing: "缺少",
  keyNotNeeded: "不需要",
  notAsked: "没有询问",
  refused: "已连上，但被拒绝",
  notReachable: "无法连接",
  answersWithoutList: (model) => `${model} 可以回答；没有模型列表`,
  itAnswersWithoutList: "可以回答；没有模型列表",
  reachable: (count) => `已连上，${count} 个模型`,
  notListed: (provider, missing, listed, more) =>
    `${provider}：服务器的列表中没有 ${missing}；可选 ${listed}${more > 0 ? `，另有 ${more} 个` : ""}`,
  smallWindow: (provider, model, tokens, configured) =>
    `${provider}：服务器给 ${model} 的窗口是 ${tokens} 个词元，而 context_window 是 ${configured}；` +
    `请设置 context_window = ${tokens}，或者调大服务器上的窗口`,

  serverStopped: "服务器未运行",
  serverUnusable: "服务器无法启动",
  serverRuns: (pid, port, users) => `服务器正在运行：进程 ${pid}，端口 ${port}，${users} 个进程在用`,
  localServers: "本机的模型服务",
  usedBy: (provider: string) => `由供应商 ${provider} 使用`,
  notSetUp: "尚未设置",
  windowOf: (tokens: number) => `窗口 ${tokens}`,
  seesImages: "能看图片",
  noToolCalls: "不支持工具调用",
  moreModels: (count: number) => `还有 ${count} 个`,
  addEntry: "`reasonix setup` 会写入这样一个条目：",

  servers: "MCP 服务器",
  languageServers: "语言服务器",
  notInstalled: "未安装",
  serverOff: "已关闭",
  serverUnknown: "从未启动；`reasonix doctor --online` 会试着启动",
  serverOffers: (tools, prompts, resources) => `${tools} 个工具，${prompts} 个提示，${resources} 个资源`,
  serverReady: (offers, ms) => `${offers}，${ms} 毫秒就绪`,
  serverSlow: "启动慢；每次启动时安装的东西可以只安装一次",
  serverBroken: serverFailure,
  serverFailed: (why) => `上次启动失败：${serverFailure(why)}`,
  tryServer: (name) => `请试 \`reasonix mcp test ${name}\``,

  sandbox: "沙箱",
  notExamined: "没有检查",
  withoutJail: "没有隔离环境时仍然有效：",
  withFullAccess: "使用 --permission-mode danger-full-access 时有效：",
  noBubblewrap: "没有安装 bubblewrap，无法隔离命令：apt install bubblewrap（或你的发行版中的同名软件包）",

  worktrees: "代理的工作树",
  worktreeUsed: (tree) => `${tree}  使用中`,
  worktreeWaits: (tree) => `${tree}  等待其任务的下一次运行`,
  worktreesRemoved: (count) => `${count} 个遗留的工作树，现已删除`,
  worktreeStays: (id, why) => `遗留的工作树 ${id} 无法删除：${why}`,

  sessions: "会话",
  sessionCount: (count, size, homeSize) => `此目录有 ${count} 个，共 ${size}；主目录共 ${homeSize}`,
  bytes: (count) => `${count} 字节`,

  noProblems: "没有发现问题",
  problems: "问题",
  remarks: "提醒",
  verbose: "查看全部内容，包括正常的部分：`reasonix doctor --verbose`（`/doctor verbose`）",
  unknownWindow: (provider, model) =>
    `${provider}：不清楚 ${model} 的上下文窗口。如果服务器也不提供，长会话将不会压缩；` +
    "请设置供应商的 context_window，例如 131072",
  withRemedy: (problem, remedy) => `${problem}；${remedy}`,
};
