import type { texts as en } from "../../en/mcp/asked_by_servers.ts";

export const texts: typeof en = {
  nobody: (server, message) => `MCP 服务器 ${server} 提问“${message}”，但本次运行不询问任何人，已如实告知`,
  asks: (server) => `MCP 服务器 ${server} 询问`,
  wantsAddress: (server, host) => `MCP 服务器 ${server} 想打开一个网址，主机是\n\n    ${host}\n`,
  badAddress: (server, address) => `MCP 服务器 ${server} 想打开的不是网页地址，已拒绝：${address}`,
  notEncrypted: "到该主机的连接没有加密。",
  otherLetters: "主机名含有其他字母表的字符（xn--）：它可能只是看起来像你认识的名字。",
  openIt: "在浏览器中打开",
  openYourself: (address) => `请打开这个网址：${address}`,
  decline: "拒绝",
  send: "发送",
  theseValues: "它将得到这些值：",
  cannotAsk: (server, why) => `MCP 服务器 ${server} 要求的内容在这里无法询问（${why}），已如实告知`,
  optional: "（可选）",
  leaveEmpty: "留空",
  useDefault: (value) => `采用建议值：${value}`,
  yes: "是",
  no: "否",
  secret: "这看起来是机密。请不要在表单里填写密码、密钥或令牌：服务器应当改用网址。",
  units: { characters: " 个字符", values: " 个值" },
  atLeast: (min, unit) => `至少 ${min}${unit}`,
  atMost: (max, unit) => `最多 ${max}${unit}`,
  between: (min, max, unit) => `${min} 到 ${max}${unit}`,
  problems: {
    number: () => "这不是数字",
    integer: () => "这不是整数",
    min: (range) => `太小或太少：${range}`,
    max: (range) => `太大或太多：${range}`,
    format: (format) => `格式不符：${format}`,
    choice: () => "这不是可选的值",
    boolean: () => "请回答是或否",
  },

  wantsMessage: (server, input, output) =>
    `MCP 服务器 ${server} 想让模型为它写一条消息（输入约 ${input} 个词元，输出最多 ${output} 个）`,
  systemOf: (text) => `系统提示：${text}`,
  lastOf: (text) => `最后一条消息：${text}`,
  once: "允许这一次",
  session: "在本会话中允许这个服务器",
  nobodyAllows: (server) => `MCP 服务器 ${server} 想让模型写消息，但本次运行不询问任何人，已拒绝`,
  overBudget: (server, used, budget) =>
    `MCP 服务器 ${server} 还想让模型写消息，已拒绝：已用 ${used} / ${budget} 个词元（tools.mcp_sampling_tokens）`,
  wrote: (server, input, output) =>
    `模型为 MCP 服务器 ${server} 写了一条消息：输入 ${input} 个词元，输出 ${output} 个`,

  trustNotSaved: (tool, server, why) =>
    `${tool} 只在本会话中被视为只读：你自己的 config.toml 没有描述 ${server}，或无法修改（${why}）`,
};
