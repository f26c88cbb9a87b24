import type { texts as en } from "../en/setting_commands.ts";

export const texts: typeof en = {
  current: "当前",
  whichModel: "使用哪个模型？",
  sameModel: (name) => `模型已经是 ${name}`,
  modelIs: (name) => `本次聊天的模型已改为 ${name}，那里还没有缓存`,
  whichEffort: "模型的思考强度？",
  effortIs: (level) => `思考强度：${level}`,
  vendorsOwn: "服务商默认",
  noLevel: (level) => `“${level}”不是有效的思考强度`,
  levels: (names) => `请使用一个词，例如 ${names}`,

  whichMode: (now) => `智能体可以做到哪一步？当前：${now}`,
  modes: {
    ask: "修改文件和执行命令之前会先询问您",
    auto: "修改文件和执行命令无需询问，除非有规则要求询问",
    yolo: "除破坏性命令外一律不询问；规则禁止的仍然禁止",
    "read-only": "不做任何更改：只能执行读取操作",
    plan: "不做任何更改：智能体先查看并提出计划",
    write: "可以修改工作区中的文件",
  },
  noMode: (name) => `无法切换到“${name}”：没有这样的模式`,
  modesAre: (names) => `可用：${names}`,
  reallyYolo: "在本会话余下的时间里，凡规则未禁止的都自动批准？\n破坏性命令仍会询问，命令仍在沙箱中运行。",

  noRuleCommand: (text) => `无法执行“/permissions ${text}”`,
  ruleCommands: "请写 /permissions allow 规则、ask 规则、deny 规则或 remove 规则，规则例如 Edit(src/**)",
  ruleAdded: (list, rule, file) => `\`${list} ${rule}\` 已生效，保存在 ${file}`,
  ruleRemoved: (rule, file) => `\`${rule}\` 已从 ${file} 中删除`,
  noRule: (rule) => `无法删除“${rule}”：没有这条规则`,
  rulesListed: "/permissions 会按原样列出所有规则",
  notYours: (rule, place) => `无法删除“${rule}”：它写在 ${place} 中`,
  changeThere: "请到那里修改",

  settingsHint:
    "/settings 键 查看一项，/settings 键 值 保存到您自己的配置文件；`reasonix docs config` 有详细说明",
  settingSaved: (key, value, file) => `\`${key} = ${value}\` 已保存到 ${file}`,
  whichLanguage: "使用哪种语言？",
  noLanguage: (name) => `不支持语言“${name}”`,
  languagesAre: (names) => `可用：${names}`,
  languageIs: (name) => `界面语言已设为${name}；屏幕上已有的内容保持不变`,
  languageLater: (variable) => `已保存；但环境变量 ${variable} 优先。取消该变量后设置才会生效`,
  whichTheme: "使用哪种配色？",
  noTheme: (name) => `无法使用“${name}”：没有这个主题`,
  themesAre: (names) => `可用：${names}`,
  themeIs: (name) => `主题已设为 ${name}`,

  reallyInit: "AGENTS.md 已存在。让模型更新它吗？",
};
