/** The status line of the chat. */
export const texts = {
  modes: { ask: "ask", auto: "auto", yolo: "yolo" },
  permissions: {
    "read-only": "read-only",
    "plan": "plan",
    "danger-full-access": "full access",
  },
  /** Part of the context window that is used. */
  context: (percent: string) => `${percent} context`,
  tokens: (tokens: string) => `${tokens} tokens`,
  cached: (share: string) => `cache ${share}`,
  jail: { on: "jail", off: "no jail" },
  mcp: (count: number) => `MCP off (${count})`,
  opening: "opening the session …",
};
