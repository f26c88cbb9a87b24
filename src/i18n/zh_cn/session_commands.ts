import type { texts as en } from "../en/session_commands.ts";

export const texts: typeof en = {
  began: "新会话已开始",
  beganAfter: (id) => `新会话已开始；要回到之前的会话：\`/resume ${id}\``,
  nothingToClear: "没有可清除的内容：会话是空的",
  reallyClear: (turns) =>
    `要永久丢弃当前会话（共 ${turns} 轮）吗？\n文件保持现状，但之后无法再用 /undo 恢复。/new 会保留会话。`,
  cleared: (id) => `会话 ${id} 已删除，新会话已开始。已记住的内容不受影响`,

  whichSession: "继续哪个会话？",
  noTitle: "（无标题）",
  forked: (id, from) => `当前会话是 ${id}，它是 ${from} 的副本`,
  forkedHeadless: (id, from) => `${id} 是 ${from} 的副本\n继续：reasonix run --resume ${id} "…"`,
  noNewTitle: "会话标题不能为空",
  noNewTitleRemedy: "请把标题写在命令后面：/rename 我的标题",
  renamed: (title) => `会话标题已改为“${title}”`,

  compacted: (messages, method, tokens) => `已压缩 ${messages} 条消息（${method}）：${tokens} 个词元`,
  nothingCompacted: (tokens) => `没有压缩：${tokens} 个词元中可省略的太少`,
  noBetterMethod: (problem) => `更好的方法没有成功：${problem}`,
  archived: (figures, archive) => `${figures}；原始内容保存在 ${archive}`,

  nothingToUndo: "没有可撤销的轮次",
  undone: (turn, prompt) => `已撤销第 ${turn} 轮（“${prompt}”）；\`/redo\` 可恢复`,
  scopes: {
    both: "文件和对话",
    code: "仅文件",
    conversation: "仅对话",
  },
  rewound: (turn, what) =>
    `已回到${turn === 0 ? "第一轮之前" : `第 ${turn} 轮结束时`}（${what}）；\`/redo\` 可撤回`,
  redone: "已恢复到上一次撤销或回退之前的状态",
  noTurn: (text) => `“${text}”不是有效的轮次`,
  turnRemedy: "请给出轮次编号；reasonix session show 会列出",
  rewindRemedy: "请给出编号，若只恢复其一再加 code 或 conversation：/rewind 3 code",
  overwriteForeign: (paths) => `之后被他人改动过：${paths}\n也要覆盖吗？`,
  andMore: (paths, count) => `${paths} 等，另有 ${count} 个`,
  restored: { create: "已新建", update: "已更新", delete: "已删除" },
  alsoByUser: "（之后被他人改动过；/redo 可恢复）",
  noFile: "没有需要恢复的文件",
  notRestored: (path, reason) => `无法恢复 \`${path}\`：${reason}`,
  tooManyFiles: "未覆盖：命令造成的改动，因为工作区文件太多；工具写入的文件已覆盖",
  uncovered: (names) => `未覆盖（被忽略且文件太多，无法保存）：${names}`,

  notSaved: (problem) => `会话没有写入磁盘：${problem}`,
  saveFirst: "请腾出空间或使其可写；下一轮会保存全部内容",
  reallyLose: (problem) => `离开并丢失此会话吗？\n它没有写入磁盘：${problem}`,
  otherName: "请换一个文件名",
  exported: (file) => `会话已写入 ${file}`,
  noAnswer: "还没有可复制的回答",
  noBlock: (text) => `无法复制最后回答中的代码块“${text}”`,
  blockCount: (count) => count === 0 ? "其中没有代码块" : `其中有 ${count} 个，从 1 开始编号`,
  noClipboard: "无法使用剪贴板：没有相应的程序，也没有可以请求的终端",
  noClipboardRemedy: "请安装 wl-clipboard、xclip 或 xsel，或用 /export 把内容写入文件",
  copiedByTool: (characters, tool) => `已用 ${tool} 复制 ${characters} 个字符`,
  copiedByTerminal: (characters) =>
    `已把 ${characters} 个字符发送到终端剪贴板（OSC 52）；有些终端默认关闭此功能`,
  copiedInPart: (sent, characters) =>
    `已把前 ${sent} 个字符（共 ${characters} 个）发送到终端剪贴板（OSC 52），再多就超出限制；/export 可写入完整内容`,
};
