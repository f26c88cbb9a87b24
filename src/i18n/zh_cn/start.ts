import type { texts as en } from "../en/start.ts";

export const texts: typeof en = {
  error: "错误：",
  noProvider: "还没有配置模型供应商",
  noProviderRemedy: (key) => `运行：reasonix setup；或者导出某个供应商的密钥，例如 ${key}`,
  keyNotUsedRemedy: (key) => `运行：reasonix setup（${key} 已设置，但 security.env_keys = false 禁止使用它）`,
  usesEnvironment: (key, vendor) =>
    `没有配置模型供应商：使用环境变量 ${key}（${vendor}）；想换一个请运行：reasonix setup`,
  unknownLanguage: (name, value, known) =>
    `${name} 的值是 ${JSON.stringify(value)}，界面没有这种语言；请设为以下之一：${known}`,
};
