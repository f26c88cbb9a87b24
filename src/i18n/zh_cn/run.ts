import type { texts as en } from "../en/run.ts";
import { serverFailure } from "./sayings/server_failures.ts";

export const texts: typeof en = {
  theModel: "模型",
  waitingFor: (model) => `等待 ${model}`,
  thinking: (model) => `${model} 正在思考`,
  writing: (model) => `${model} 正在回答`,
  states: { compacting: "正在整理上下文", verifying: "正在验证改动" },
  stillWaiting: (seconds) => `仍在等待模型：已有 ${seconds} 秒没有应答`,
  andMore: (title, count) => `${title}（另有 ${count} 个）`,

  attempt: (number, most, seconds) => `${seconds} 秒后第 ${number} 次尝试（最多 ${most} 次）`,
  because: (what, reason) => `${what}：${reason}`,
  waitingToTry: (number, most) => `等待重试（第 ${number} 次，最多 ${most} 次）`,
  brokeOff: "回答中断了；已显示的部分不算数",
  prefixRebuilt: (reason, detail) => `缓存前缀已重建：${reason} ${detail}`,
  prefixChanged: "有变化",

  input: {
    waiting: "正在等待标准输入：它是打开的，还没有发送任何内容……",
    nothing: "标准输入没有内容；不再等待，继续运行（用 - 可一直等待）",
    stillOpen: (bytes) =>
      `正在等待标准输入结束：已收到 ${
        bytes.toLocaleString("en")
      } 字节，它仍然打开。请在写入的程序中关闭它，` +
      "或用 < /dev/null 启动",
    notText: "标准输入不是有效的 UTF-8；无法读取的部分显示为 \ufffd",
  },

  servers: {
    failed: (name, why) => `MCP 服务器 ${name} 无法使用：${serverFailure(why)}`,
    needsLogin: (name, remedy) => `MCP 服务器 ${name} 需要登录：${remedy}`,
    back: (name, tools) => `MCP 服务器 ${name} 已恢复：${tools} 个工具`,
  },

  plan: {
    proposed: "模型提出了一个计划",
    saved: (file) => `计划保存在 ${file}`,
    approved: "计划已批准",
    approvedByFlag: "计划已按命令行的要求批准",
    revised: (note) => `计划需要修改：${note}`,
    rejected: "计划已放弃",
    finished: "计划已执行完毕",
  },

  agents: {
    began: (agent, task) => `代理 ${agent} 开始：${task}`,
    background: (agent, task) => `代理 ${agent} 在后台开始：${task}`,
    ok: (agent, figures) => `代理 ${agent} 已完成 · ${figures}`,
    error: (agent, figures, why) => `代理 ${agent} 失败 · ${figures}：${why}`,
    aborted: (agent, figures) => `代理 ${agent} 已停止 · ${figures}`,
    calls: (count) => `${count} 次调用`,
  },

  skipped: (summary) => `已跳过：${summary}`,
  blocked: (summary) => `已拦截：${summary}`,
  notExecuted: "已拒绝，未执行",
  stopped: (summary) => `已停止：${summary}`,
  linesAbove: (count) => `… 前面还有 ${count} 行`,
  moreLines: (count) => `… 还有 ${count} 行`,

  changed: (files) => `已修改 ${files}`,
  moreFiles: (files, count) => `${files} 等，另有 ${count} 个`,
  steps: (count) => `${count} 步`,
  tokensIn: (tokens, cached, share) => `输入 ${tokens}（缓存 ${cached}，${share}）`,
  tokensOut: (tokens) => `输出 ${tokens}`,
  tokensScripted: "脚本数字，非实测",
  tokensUnknown: "词元数未知",
  costUnknown: "费用未知",
  pricesOf: (money, day) => `${money}（${day} 的价格）`,
  someUnknown: (known) => `${known}，另有一部分未知`,
  seconds: (seconds) => `${seconds} 秒`,
  error: "错误：",
};
