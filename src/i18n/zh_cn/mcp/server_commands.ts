import type { texts as en } from "../../en/mcp/server_commands.ts";

export const texts: typeof en = {
  surplus: (name, text) => `无法运行 /${name}：没有可以放“${text}”的参数`,
  missing: (name, argument) => `无法运行 /${name}：缺少“${argument}”`,
  usage: (usage) => `请写成 ${usage}，或用 名称=值；带空格的内容加引号`,
  asksArgument: (server, prompt, argument, description) =>
    `${server}：${prompt} 需要“${argument}”${description === "" ? "" : `：${description}`}`,
  promptLeft: (name) => `没有发送 /${name}`,
  emptyPrompt: (name) => `无法发送 /${name}：服务器没有给出内容`,
  tryOther: "请换别的参数再试",
};
