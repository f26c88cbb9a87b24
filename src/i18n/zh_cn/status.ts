import type { texts as en } from "../en/status.ts";

export const texts: typeof en = {
  modes: { ask: "询问", auto: "自动", yolo: "全部放行" },
  permissions: {
    "read-only": "只读",
    "plan": "计划",
    "danger-full-access": "完全访问",
  },
  context: (percent) => `上下文 ${percent}`,
  tokens: (tokens) => `${tokens} 词元`,
  cached: (share) => `缓存 ${share}`,
  jail: { on: "沙箱", off: "无沙箱" },
  mcp: (count) => `MCP 未启动（${count}）`,
  opening: "正在打开会话…",
};
