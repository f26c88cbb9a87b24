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

  trust: {
    title: "使用这个项目自带的内容？",
    all: "使用，信任它现在的样子",
    later: "暂不使用，继续",
    details: "查看全部内容",
    detailsTitle: "这个项目自带的内容",
  },
};
