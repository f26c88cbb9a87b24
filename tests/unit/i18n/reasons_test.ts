/** Findings about calls in Chinese: destructive targets, reasons to ask and to refuse, the jail. */
import { type Text, textOf } from "../../../src/core/mod.ts";
import { loadTranslator } from "../../../src/i18n/mod.ts";
import {
  alwaysOnProtections,
  type Confinement,
  describeConfinement,
  noConfinement,
} from "../../../src/sandbox/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { bash, call, type RuleTexts, scene } from "../permission/scene.ts";

const translator = await loadTranslator("zh-CN");
const signal = new AbortController().signal;

/** The prompt for a line of a user without rules. */
async function asked(line: string, rules: RuleTexts = {}): Promise<Text[]> {
  const reasons: Text[] = [];
  const { gate } = scene("/w/p", rules, {
    home: "/h/ada",
    approver: {
      ask({ reason, destructive = [] }) {
        reasons.push(...destructive.map((finding) => finding.reason), reason);
        return Promise.resolve({ allow: false, scope: "once" });
      },
    },
  });
  await gate.check(bash(line), signal);
  return reasons;
}

Deno.test("reasons for prompts have Chinese translations with their values", async () => {
  for (
    const [line, rules, english, chinese] of [
      ["frob", {}, "no rule applies (default)", "没有规则适用（默认）"],
      ["echo a > b", {}, "it writes to a file by redirection", "它会通过重定向写入文件"],
      [
        "make",
        { ask: ["Bash(make:*)"] },
        "Matched permission rule: ask Bash(make:*)",
        "符合权限规则：ask Bash(make:*)",
      ],
      [
        "touch .git/config",
        {},
        "would change Git's own hooks and settings",
        "会改动受保护的文件：Git 自身的钩子和设置",
      ],
      [
        "rm -r /h/ada",
        {},
        "it deletes /h/ada (the home directory, 0 files)",
        "会删除 /h/ada（用户主目录，0 个文件）",
      ],
      [
        "rm -rf /h/ada/*",
        {},
        "it deletes /h/ada (everything in the home directory, 0 files)",
        "会删除 /h/ada（用户主目录中的所有内容，0 个文件）",
      ],
      ["reboot", {}, "reboot stops the computer", "reboot 会让计算机停止运行"],
      ["dd of=/dev/sda", {}, "it writes over the device /dev/sda", "会覆写设备 /dev/sda"],
    ] as const
  ) {
    const [reason = ""] = await asked(line, rules);
    assertEquals([textOf(reason), translator.text(reason)], [english, chinese], line);
  }
});

Deno.test("a refusal has a Chinese translation with its rule", async () => {
  const { gate } = scene("/w/p", { deny: ["Bash(rm:*)"] });
  const { reason = "" } = await gate.check(bash("rm x"), signal);
  assertEquals(
    translator.text(reason),
    '权限规则 deny Bash(rm:*) (reasonix.toml:deny:1) 不允许 "rm x"；不要换一种写法再试',
  );
  const { reason: claim = "" } = await scene("/w/p", {}, { permissionMode: "plan" }).gate
    .check(call("mcp__a__b", {}, true), signal);
  assert(translator.text(claim).startsWith("计划模式不相信 mcp__a__b 只读取"), textOf(claim));
});

Deno.test("the sandbox is described in Chinese with the same facts", () => {
  const jail: Confinement = {
    backend: "bubblewrap",
    roots: ["", "/srv/数据"],
    privateTmp: true,
    network: "none",
    openNetwork: "seccomp is missing",
    forbidden: 2,
    ruled: 1,
    capped: true,
  };
  assertEquals(
    translator.text(describeConfinement(jail)),
    "命令在隔离环境（bubblewrap）中运行：可写本项目、/srv/数据、私有的 /tmp 目录和包缓存；网络没有隔离（seccomp is missing）；" +
      "隐藏了 2 个路径（forbid_read）；隐藏了 1 个路径（Read 规则）；匹配 Read 拒绝规则的路径太多，其余的命令仍然看得到",
  );
  for (const full of [false, true]) {
    const text = translator.text(describeConfinement(noConfinement('[sandbox] bash = "off"', full)));
    assert(text.includes('[sandbox] bash = "off"') && text.includes("仍然有效：拒绝规则、"), text);
    assertEquals(text.includes("工作区以外"), full);
    assertEquals(text.includes("文件工具的工作区范围"), !full);
  }
  const layers = alwaysOnProtections(false).map((text) => translator.text(text));
  assertEquals([layers.length, new Set(layers).size], [7, 7]);
  assertEquals(alwaysOnProtections(true).length, 5);
});
