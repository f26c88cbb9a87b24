import { writtenText } from "../../core/mod.ts";
import type {
  AlwaysOnProtection,
  AskReason,
  Confinement,
  Deed,
  DeedCode,
  EventOf,
  HitLocation,
  KnownLocation,
  ProtectedKind,
  WrittenMessage,
} from "../../core/mod.ts";
import { translator } from "../zh_cn.ts";

/** The log has titles and results of calls in English; what a person reads most often is told by these. */
const callTitle = phraseTeller({
  "edit {}": "编辑 {1}",
  "write {}": "写入 {1}",
  "read the todo list": "读取待办清单",
  "read session {}": "读取会话 {1}",
  'search sessions for "{}"': '在会话中搜索 "{1}"',
  'search memory for "{}"': '在记忆中搜索 "{1}"',
  "list memory": "列出记忆",
  "recall {}": "回忆 {1}",
  "goal {}: {}": "目标 {1}：{2}",
  "read {} from line {}": "读取 {1}（从第 {2} 行起）",
  "read {}": "读取 {1}",
  "patch {}": "打补丁 {1}",
  "move {} → {}": "移动 {1} → {2}",
  "list jobs": "列出后台任务",
  "list {}": "列出 {1}",
  "find {} in {}": "在 {2} 中查找 {1}",
  "find {}": "查找 {1}",
  'grep "{}" in {}': '在 {2} 中搜索 "{1}"',
  "ask: {}": "提问：{1}",
  "propose a plan": "提出计划",
  "complete step {}": "完成第 {1} 步",
  "todo list": "待办清单",
  "skill {}": "技能 {1}",
  "remember {}": "记住 {1}",
  "forget {}": "忘记 {1}",
  "output of job {}": "后台任务 {1} 的输出",
  "stop job {}": "停止后台任务 {1}",
  "answer of task {}": "子任务 {1} 的回答",
  "stop task {}": "停止子任务 {1}",
});

const callResult = phraseTeller({
  "no matches": "没有匹配",
  "no files": "没有文件",
  "no hit": "没有结果",
  "no facts": "没有记住的内容",
  "{} line": "{1} 行",
  "{} lines": "{1} 行",
  "{} file": "{1} 个文件",
  "{} files": "{1} 个文件",
  "{} entry": "{1} 个条目",
  "{} entries": "{1} 个条目",
  "{} match": "{1} 处匹配",
  "{} matches": "{1} 处匹配",
  "{} done": "已完成 {1}",
  "empty": "空",
  "unchanged": "没有变化",
  "proposed": "已提出",
  "approved": "已批准",
  "to be changed": "需要修改",
  "left open": "尚未决定",
  "declined": "未回答",
  "exit {}": "退出码 {1}",
  "The call was stopped before it finished; it may have had partial effects":
    "完成前被停止，可能已有部分改动",
  "Not executed: the turn was stopped before this call began": "未执行：调用开始前本轮已停止",
  "Not executed: an earlier call of this message ended the {}": "未执行：同一消息中较早的调用已结束本轮",
  "{} has not been read in this session": "{1} 尚未在本会话中读取",
  "{} does not exist": "{1} 不存在",
  "Cannot write {}: it is outside the writable roots ({})": "无法写入 {1}：它在可写目录（{2}）之外",
  "@{} was not attached: there is no such file; did you mean @{}?":
    "@{1} 没有附上：没有这个文件；是否指 @{2}？",
  "@{} was not attached: there is no such file": "@{1} 没有附上：没有这个文件",
  "@{} was not attached: there is no such directory": "@{1} 没有附上：没有这个目录",
  "@{} was not attached: the model takes no images": "@{1} 没有附上：该模型不接受图片",
});

/** What the shell parser found of a line, and why there is no jail, stay in English. */
interface Found {
  readonly deed: Deed;
  readonly location?: HitLocation;
  readonly targets: readonly Target[];
}

export const texts = {
  asked: (why: AskReason | undefined, english: string) => why ? askReason(why) : english,
  refused: ({ source, rule }: Pick<EventOf<"approval.decision">, "source" | "rule">, english: string) =>
    refusals(rule)[source] ?? english,
  destructive: ({ deed: action, location, targets: [target] }: Found) =>
    actionText(action, location && target ? hitText(location, target) : ""),
  confinement: (facts: Confinement | undefined, english: string) =>
    !facts ? english : facts.backend === undefined ? unconfined(facts) : jail(facts),
  said: (said: readonly WrittenMessage[] | undefined, english: string) =>
    said ? translator.text(writtenText(said, english)) : callResult(english) ?? english,
  callTitle: (english: string) => callTitle(english) ?? english,
  callResult: (english: string) => english.split(" · ").map((part) => callResult(part) ?? part).join(" · "),
  standing: (layer: AlwaysOnProtection) => `${STANDING[layer]}：${MEANINGS[layer]}`,
};

function askReason(why: AskReason): string {
  switch (why.code) {
    case "noRule":
      return "没有规则适用，因此询问";
    case "redirects":
      return "它会通过重定向写入文件";
    case "unclear":
      return `运行之前无法完全判断（${why.detail}）`;
    case "unreadable":
      return `这一行无法拆解（${why.detail}）`;
    case "rule":
      return `规则 ${why.rule} 要求询问${why.origin === undefined ? "" : `（${why.origin}）`}`;
    case "mayBeRuled":
      return `规则 ${why.rule} 可能适用，但运行之前无法确定（${why.detail}）`;
    case "protected":
      return `它会改动受保护的文件（${PROTECTED[why.what]}）`;
    case "alwaysAsk":
      return `这类操作每次都询问（${why.detail}）`;
    case "trust":
      return `${why.tool} 自称只读取；${
        why.inPlan ? "计划模式需要你来确认" : "你确认后，它无需询问即可运行"
      }`;
  }
}

const PROTECTED: Readonly<Record<ProtectedKind, string>> = {
  git: "Git 自身的钩子和设置",
  opened: "下次打开本项目时，程序会运行或遵从的内容",
  project: "本项目让智能体运行的文件",
  start: "用户的 shell 或工具的启动文件",
  agents: "用户让智能体运行的内容",
  programs: "用户的程序和插件",
  own: "本程序的设置",
  holder: "其中的文件会被程序运行或遵从的目录",
};

const ACTIONS: Readonly<Record<DeedCode, (hit: string, ...words: string[]) => string>> = {
  deletes: (hit) => `会删除 ${hit}`,
  deletesFound: (hit) => `会删除在此找到的内容：${hit}`,
  deletesRemote: (_, name, found) => `${name} 会删除另一台机器上的内容（${found}）`,
  movesAway: (hit) => `会移走 ${hit}`,
  changesBelow: (hit, name) => `${name} -R 会改动 ${hit}`,
  rsyncRemoves: (hit) => `rsync 会移除 ${hit}`,
  rsyncDeletesOn: (_, target) => `rsync --delete 会删除 ${target} 上的文件`,
  rsyncDeletesIn: (hit) => `rsync --delete 会删除其中的文件：${hit}`,
  overwritesDevice: (_, name, device) => `${name === "it" ? "" : `${name} `}会覆写设备 ${device}`,
  rewritesRemote: (_, name) => `${name} 会改写或删除远程仓库的历史`,
  cleans: (hit) => `git clean 会删除 ${hit}`,
  cleansAll: () => "git clean 会删除仓库中所有未跟踪的文件",
  changesDisk: (_, name) => `${name} 会改动或擦除磁盘`,
  erasesDisk: (_, name) => `${name} 会擦除磁盘`,
  overwritesDisk: (_, name) => `${name} 会覆写磁盘`,
  erasesPool: (_, name) => `${name} 会擦除存储池中的数据`,
  stopsComputer: (_, name) => `${name} 会让计算机停止运行`,
  killsOfUser: (_, name) => `${name} 会结束某个用户的全部进程`,
  killsEverything: () => "killall5 会结束所有进程",
  killsOwn: () => "会结束当前用户的所有进程",
  forkBomb: () => "函数不断启动自身（fork 炸弹）",
  hidden: (_, mention) => `可能以无法查看的方式运行 ${mention}`,
  unseen: () => "会运行这一行没有写出的内容，而且没有沙箱限制",
  unreadable: (_, mention) => `这一行无法拆解，其中提到了 ${mention}`,
  configured: (_, rule) => `配置中的 \`dangerous\` 列出了它（${rule}）`,
  strictProgram: (_, name) => `严格模式下每次都要确认 ${name}`,
  strictOverwrite: (_, path) => `严格模式下要确认覆盖已有文件（${path}）`,
};

/** What a destructive command does, to what `hit` names. */
function actionText([code, ...words]: Deed, hit: string): string {
  return ACTIONS[code](hit, ...words);
}

const PLACES: Readonly<Record<KnownLocation, string>> = {
  root: "根目录",
  home: "用户主目录",
  workspace: "工作区的根目录",
  holdsHome: "包含用户主目录的目录",
  holdsWorkspace: "包含工作区的目录",
  outside: "在工作区之外",
};

function locationText(location: HitLocation): string {
  if (location === "unknown") return "只有 shell 才知道是什么";
  if (location === "manyNames") return "名称太多，无法逐一查看";
  if (location === "everything:outside") return "工作区之外的所有内容";
  const known = location.replace(/^everything:/, "") as KnownLocation;
  return known === location ? PLACES[known] : `${PLACES[known]}中的所有内容`;
}

interface Target {
  readonly path: string;
  readonly files?: number;
  readonly more?: true;
}

/** A path that is hit, and what it is. */
function hitText(location: HitLocation, { path, files, more }: Target): string {
  const count = files === undefined ? "" : `，${more ? "至少 " : ""}${files} 个文件`;
  return `${path}（${locationText(location)}${count}）`;
}

function refusals(rule = ""): Partial<Record<EventOf<"approval.decision">["source"], string>> {
  return {
    rule: `权限规则 ${rule} 不允许`,
    mode: "当前的权限模式不允许",
    plan: "计划模式下只能读取",
    floor: "破坏性命令必须有人确认，而现在无人可问",
    headless: "需要批准，而现在无人可问",
    trust: "计划模式不相信这个工具只读取",
    user: "你拒绝了",
  };
}

const NETWORK = {
  none: "不能联网",
  filtered: "只能连接 [sandbox] network_hosts 中的主机",
  open: "可以联网",
} as const;

function jail(facts: Confinement): string {
  const { backend, readOnly, roots = [], privateTmp, network = "none", openNetwork } = facts;
  const { forbidden, ruled, capped } = facts;
  const written = [
    ...roots.map((root) => root || "本项目"),
    privateTmp ? "私有的 /tmp " : "临时目录",
  ].join("、");
  return [
    `命令在隔离环境（${backend}）中运行：${readOnly ? "工作区只读，" : ""}可写${written}和包缓存`,
    openNetwork === undefined ? NETWORK[network] : `网络没有隔离（${openNetwork}）`,
    ...(forbidden ? [`隐藏了 ${forbidden} 个路径（forbid_read）`] : []),
    ...(ruled ? [`隐藏了 ${ruled} 个路径（Read 规则）`] : []),
    ...(capped ? ["匹配 Read 拒绝规则的路径太多，其余的命令仍然看得到"] : []),
  ].join("；");
}

const STANDING: Readonly<Record<AlwaysOnProtection, string>> = {
  denyRules: "拒绝规则",
  destructive: "破坏性命令检查",
  askRules: "询问规则和受保护的路径",
  workspace: "文件工具的工作区范围",
  forbidRead: "文件工具的 forbid_read 和 Reasonix 主目录",
  environment: "清理过的环境变量",
  trust: "项目信任",
};

function unconfined({ why = "", full, standing = [] }: Confinement): string {
  return `命令没有隔离（${why}）：能像你一样读、写和联网${full ? "，文件工具也能写工作区以外的文件" : ""}；` +
    `仍然有效：${standing.map((layer) => STANDING[layer]).join("、")}`;
}

const MEANINGS: Readonly<Record<AlwaysOnProtection, string>> = {
  denyRules: "规则所指的内容一律拒绝，对工具如此，对命令行中看得出的部分也如此",
  destructive: "破坏性命令每次都要有人同意，没有人时一律拒绝",
  askRules: "按规则询问；改动其他程序会运行或遵从的文件时也询问",
  workspace: "文件工具只写工作区、allow_write 和 --add-dir",
  forbidRead: "不读 forbid_read 和密钥文件，不改动 Reasonix 主目录",
  environment: "命令得不到其中的机密",
  trust: "项目带来的可运行内容，在被信任之前不起作用",
};

/** An English sentence, `{}` for what varies in it, and the same in Chinese with `{1}`, `{2}` … */
type Sentences = Readonly<Record<string, string>>;

/** Says sentences that come in English alone; undefined for one that is not known. The first match counts. */
function phraseTeller(sentences: Sentences): (english: string) => string | undefined {
  // Hardly any run says one of them.
  let made: (readonly [RegExp, string])[] | undefined;
  const patterns = () =>
    made ??= Object.entries(sentences).map(([english, chinese]) =>
      [new RegExp(`^${english.split("{}").map(quoted).join("([^]*?)")}$`, "i"), chinese] as const
    );
  return (english) => {
    for (const [pattern, chinese] of patterns()) {
      const found = pattern.exec(english);
      if (found) return chinese.replace(/\{(\d)\}/g, (_, place) => found[Number(place)] ?? "");
    }
    return undefined;
  };
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
