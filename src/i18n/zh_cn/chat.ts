import type { texts as en } from "../en/chat.ts";

export const texts: typeof en = {
  working: "处理中 · Esc 停止",
  stopping: "正在停止…",
  leaveHint: "再按一次 Ctrl+C 退出",
  queued: (text) => `排队中：${text}`,
  steering: (text) => `插话：${text}`,
  queueHint: "↑ 取回最后一条",
  asideAnswer: "Tab：先回答上面的问题",
  asideWrite: "输入仍写在这里",
  modes: {
    ask: "审批模式 ask：修改文件和执行命令前先询问",
    auto: "审批模式 auto：修改文件和执行命令不再询问，除非有规则要求询问",
    yolo: "审批模式 yolo：除破坏性命令外一律不问；规则禁止的仍然禁止",
  },
  confirmYolo: "在本次会话余下的时间里，批准一切未被规则禁止的操作？",
  confirmYoloDetail: "破坏性命令仍会询问，命令仍在沙箱中执行。",
  yes: "是",
  no: "否",
  ownWords: "其他：用自己的话回答",
  kept: (id) => `会话 ${id} 已保存；继续它：reasonix -c`,
  remembered: (path) => `已记入 ${path}`,
  factChanged: (path) => `已更新 ${path} 中的内容`,
  busy: (pid: number | undefined) =>
    `${pid === undefined ? "另一个程序" : `进程 ${pid} `}正在使用这个会话。在副本中继续？`,
  busyCopy: "副本包含到目前为止的全部内容，但不包含那边之后的内容。",
  notDrawn: (message) => `有内容无法显示，请报告：${message}`,
  notOpened: "消息已放回输入框；解决问题后再发送即可。",
  internal: (message) => `内部错误，请报告：${message}`,
  trustTitle: "此项目带来的以下内容可能运行程序，或把对话发往别处：",
  trust: "信任它现在的内容",
  trustIgnore: "这次不使用它",
  lineInput: {
    dumb: "此终端只能显示普通文本行：一行就是一条消息，/help 列出命令。",
    pipe: "标准输入的每一行是一条消息。",
    broken: "画面无法继续绘制，改用纯文本行：一行就是一条消息，/help 列出命令。",
    linear: "线性模式：一行就是一条消息，/help 列出命令。",
    nothing: '没有提出任何任务：标准输入为空。执行单个任务：reasonix run "…"',
    number: (count) => `输入编号（1–${count}），留空表示不选：`,
    nobodyAsked: (question) => `无法询问“${question}”：没有终端`,
    onTerminal: "请在终端的聊天中进行",
  },

  statusLine: {
    modes: { ask: "询问", auto: "自动", yolo: "全部放行" },
    planApproved: "正在执行计划",
    permissions: {
      "read-only": "只读",
      "plan": "计划",
      "danger-full-access": "完全访问",
    },
    goal: (state, turns) =>
      `目标${
        { active: ` 第 ${turns + 1} 轮`, blocked: "受阻", stopped: "已暂停", limit: "已达上限" }[state]
      }`,
    context: (percent) => `上下文 ${percent}`,
    tokens: (tokens) => `${tokens} 词元`,
    cached: (share) => `缓存 ${share}`,
    jail: { on: "沙箱", off: "无沙箱" },
    mcp: (ready, all, failed) =>
      (ready === all ? `MCP ${all}` : `MCP ${ready}/${all}`) + (failed > 0 ? `，${failed} 个失败` : ""),
    opening: "正在打开会话…",
    closed: "没有打开的会话",
  },
};
