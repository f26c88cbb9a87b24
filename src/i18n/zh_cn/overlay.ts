import type { texts as en } from "../en/overlay.ts";

export const texts: typeof en = {
  hints: {
    move: "↑↓",
    mark: "空格勾选",
    choose: "回车选定",
    scroll: "PgUp/PgDn 滚动",
    leave: "Esc 退出",
    send: "回车发送",
    back: "Esc 返回",
  },
  lines: (first, last, all) => `… 第 ${first}–${last} 行，共 ${all} 行`,
  filter: "输入文字筛选",
  yes: "是",
  no: "否",

  approval: {
    allow: (tool) => `允许 ${tool}？`,
    run: "运行这条命令？",
    destructive: "这条命令会造成破坏，确定运行？",
    escape: "不用隔离环境，再运行一次？",
    escapeWhy: (evidence) =>
      `看起来是隔离环境拦住了它：${evidence}。这只是根据输出作的推测，输出也可能是命令伪造的。`,
    escapeMeans: "没有隔离环境时，它能读、能写、能连接你能触及的一切；命令会从头运行。",
    files: (count, more) => more ? `至少 ${count} 个文件` : `${count} 个文件`,
    moreTargets: (count) => `另有 ${count} 项`,
    wouldFail: (problem) => `照现在的情况，这次调用会失败：${problem}`,
    once: "允许，仅此一次",
    session: (scope) => `允许，本次会话内都允许：${scope}`,
    sessionCall: "允许，本次会话内不再询问这一调用",
    sessionEdits: "允许，本次会话内允许修改工作区的所有文件",
    always: (rule) => `始终允许：${rule}`,
    savedIn: (file) => `保存到 ${file}`,
    alwaysTool: (tool) => `始终信任 ${tool}`,
    deny: "拒绝",
    note: "拒绝，并告诉模型原因",
    unconfined: "允许，不用隔离环境运行一次",
  },

  ask: {
    of: (at, all) => `第 ${at} 个问题，共 ${all} 个`,
    ownWords: "其他，自己写",
  },

  sessions: {
    title: (count) => `继续哪个会话？本目录共 ${count} 个`,
    titleAll: (count) => `继续哪个会话？所有目录共 ${count} 个`,
    everywhere: "显示所有目录的会话",
    onlyHere: "只显示本目录的会话",
    untitled: "（无标题）",
    turns: (count) => `${count} 轮`,
    first: "首条：",
    last: "末条：",
  },

  turns: {
    title: "回到哪个时刻？",
    after: (turn, prompt) => `第 ${turn} 轮之后：${prompt}`,
    before: "第一轮之前",
    what: "恢复什么？",
    both: "文件和对话",
    code: "只恢复文件",
    conversation: "只恢复对话",
    leaves: (count) => `将舍弃 ${count} 轮`,
    noFiles: "此后没有文件变动",
    files: (count) => `将恢复 ${count} 个文件`,
    moreFiles: (count) => `  另有 ${count} 个`,
    actions: { create: "新建", update: "改回", delete: "删除" },
  },

  settings: {
    title: "设置\n所作的选择保存在你自己的配置文件里，文件中的注释会保留。",
    unset: "未设置",
    automatic: "跟随系统",
    change: (key, value) => `${key}\n当前值：${value}`,
  },

  rules: {
    title: "权限规则",
    add: "添加规则",
    thisSession: "本次会话",
    waiting: "信任之后才生效",
    elsewhere: (place) => `这条规则写在 ${place}，请到那里修改。`,
    remove: (rule) => `删除规则 ${rule}？`,
    which: "这条规则要做什么？",
    allowSession: "不经询问即允许，直到本次会话结束",
    allow: "始终不经询问即允许",
    ask: "每次都询问",
    deny: "拒绝",
    write: "针对哪些调用？",
    example: "例如 Bash(go test:*)、Edit(docs/**) 或 Read(secrets/**)",
  },

  trust: {
    title: "使用这个项目自带的内容？",
    all: "使用，信任它现在的样子",
    later: "暂不使用，继续",
    details: "查看全部内容",
    detailsTitle: "这个项目自带的内容",
  },
};
