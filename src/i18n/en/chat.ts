/** The chat itself: its modes, its waiting messages, and what goes wrong. */
export const texts = {
  /** What a session has loaded, in the first line of the chat. */
  loaded: {
    skills: (count: number) => count === 1 ? "1 skill" : `${count} skills`,
    servers: (count: number) => count === 1 ? "1 MCP server" : `${count} MCP servers`,
  },
  working: "working · Esc stops",
  stopping: "stopping …",
  leaveHint: "press Ctrl+C again to leave",
  queued: (text: string) => `waiting: ${text}`,
  steering: (text: string) => `said in between: ${text}`,
  queueHint: "↑ takes the last one back",
  asideAnswer: "Tab: answer this first",
  asideWrite: "typing continues here",
  modes: {
    ask: "approval mode ask: asks before files change and commands run",
    auto: "approval mode auto: changes files and runs commands without a question, unless a rule asks",
    yolo: "approval mode yolo: asks only before destructive commands; deny rules still apply",
  },
  confirmYolo: "Approve everything that no rule denies, for the rest of this session?",
  confirmYoloDetail: "Destructive commands still require approval, and commands stay in the jail.",
  yes: "Yes",
  no: "No",
  ownWords: "Other: say it in your own words",
  kept: (id: string) => `Session ${id} saved. Continue with: reasonix -c`,
  remembered: (fact: string, name: string) =>
    `Remembered: "${fact}" · \`/memory forget ${name}\` takes it back`,
  busy: (pid: number | undefined) =>
    `${pid === undefined ? "Another program" : `Process ${pid}`} has this session open. Go on in a copy?`,
  busyCopy: "The copy has all that was said so far, and nothing of what follows there.",
  notDrawn: (message: string) => `Something could not be shown; please report it: ${message}`,
  notOpened: "Your message is back in the input box; send it again once this is fixed.",
  internal: (message: string) => `Internal error; please report it: ${message}`,
  trustTitle: "This project contains items that can run programs or send data elsewhere:",
  trust: "Trust it as it is now",
  trustIgnore: "Continue without it, this time",
  lineInput: {
    dumb: "This terminal shows plain lines only: one line is one message, /help lists the commands.",
    pipe: "Each line of standard input is one message.",
    broken:
      "The screen cannot be drawn any more; from here on one line is one message, /help lists the commands.",
    linear: "Linear mode: one line is one message, /help lists the commands.",
    nothing: 'Nothing was asked: standard input is empty. Run one task with: reasonix run "…"',
    kept: "Kept as your next message",
    number: (count: number) => `Number (1–${count}), or empty for none: `,
    nobodyAsked: (question: string) => `Cannot ask “${question}”: there is no terminal`,
    onTerminal: "do it in the chat on a terminal",
  },

  /** The line below the composer. */
  statusLine: {
    modes: { ask: "ask", auto: "auto", yolo: "yolo" },
    planThen: (mode: string) => `plan (then ${mode})`,
    /** An approved plan is being carried out. */
    planApproved: "plan approved",
    permissions: {
      "read-only": "read-only",
      "plan": "plan",
      "danger-full-access": "full access",
    },
    goal: {
      active: (turn: number) => `goal: turn ${turn}`,
      blocked: "goal blocked",
      stopped: "goal paused",
      limit: "goal at its limit",
    },
    /** Part of the context window that is used. */
    context: (percent: string) => `${percent} context`,
    tokens: (tokens: string) => `${tokens} tokens`,
    cached: (share: string) => `cache ${share}`,
    cachedScripted: (share: string) => `cache ${share} (scripted)`,
    jail: { on: "jail", off: "no jail" },
    mcp: (ready: number, all: number, failed: number) =>
      (ready === all ? `MCP ${all}` : `MCP ${ready}/${all}`) + (failed > 0 ? `, ${failed} failed` : ""),
    opening: "opening the session …",
    closed: "no session is open",
  },
};
