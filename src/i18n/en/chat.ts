import type { Translate } from "../translate.ts";

/** The chat itself: its modes, its waiting messages, and what goes wrong. */
export const texts = (t: Translate) => ({
  /** The first line of the chat: loaded servers, skills and instructions. */
  loaded: {
    skills: (count: number) => count === 1 ? t`1 skill` : t`${count} skills`,
    servers: (count: number) => count === 1 ? t`1 MCP server` : t`${count} MCP servers`,
  },
  working: t`working · Esc stops`,
  stopping: t`stopping …`,
  leaveHint: t`press Ctrl+C again to leave`,
  queued: (text: string) => t`waiting: ${text}`,
  steering: (text: string) => t`said in between: ${text}`,
  queueHint: t`↑ takes the last one back`,
  asideAnswer: t`Tab: answer this first`,
  asideWrite: t`typing continues here`,
  modes: {
    ask: t`approval mode ask: asks before files change and commands run`,
    auto: t`approval mode auto: changes files and runs commands without a question, unless a rule asks`,
    yolo: t`approval mode yolo: asks only before destructive commands; deny rules still apply`,
  },
  confirmYolo: t`Approve everything that no rule denies, for the rest of this session?`,
  confirmYoloDetail: t`Destructive commands still require approval, and commands stay in the jail.`,
  yes: t`Yes`,
  no: t`No`,
  ownWords: t`Other: say it in your own words`,
  kept: (id: string) => t`Session ${id} saved. Continue with: reasonix -c`,
  remembered: (fact: string, name: string) =>
    t`Remembered: "${fact}" · \`/memory forget ${name}\` takes it back`,
  busy: (pid: number | undefined) =>
    pid === undefined
      ? t`Another program has this session open. Continue in a copy?`
      : t`Process ${pid} has this session open. Continue in a copy?`,
  answeredElsewhere: (by: string) => t`· answered at another front end: ${by}`,
  busyCopy: t`The copy has all that was said so far, and nothing of what follows there.`,
  notDrawn: (message: string) => t`Something could not be shown; please report it: ${message}`,
  internal: (message: string) => t`Internal error; please report it: ${message}`,
  trustTitle: t`This project contains items that can run programs or send data elsewhere:`,
  trust: t`Trust it as it is now`,
  trustIgnore: t`Continue without it, this time`,
  /** For an editor that shows no forms. */
  trustByCommand:
    t`It is left out. To trust it, run \`reasonix trust\` in a terminal, then open the session again.`,
  needsForms: (title: string) =>
    t`"${title}" needs a form (elicitation), which this editor does not announce.`,
  lineInput: {
    dumb: t`This terminal shows plain lines only: one line is one message, /help lists the commands.`,
    pipe: t`Without a terminal there is no screen: each line of standard input is one message.`,
    broken:
      t`The screen cannot be drawn any more; from here on one line is one message, /help lists the commands.`,
    linear: t`Linear mode: one line is one message, /help lists the commands.`,
    nothing: t`Nothing was asked: standard input is empty. Run one task with: reasonix run "…"`,
    kept: t`Kept as your next message`,
    number: (count: number) => t`Number (1–${count}), or empty for none: `,
    noTerminal: (question: string) => t`Cannot ask “${question}”: there is no terminal`,
    onTerminal: t`do it in the chat on a terminal`,
  },

  /** The line below the composer. */
  web: {
    open: t`This session is open on the web page as well:`,
    once: t`The link counts once; /web makes another one, /web off closes the page`,
    viewer: t`With this link one can look and do nothing else; it counts once`,
    signedIn: (from: string) => t`A browser at ${from} has signed in; /web makes another link`,
    connected: (who: string) => t`Connected: ${who}`,
    looksOnly: (from: string) => t`${from} (looks only)`,
    wasOff: t`The web page is not open`,
    closed: (browsers: number) =>
      browsers === 0
        ? t`The web page is closed`
        : browsers === 1
        ? t`The web page is closed; 1 browser was connected`
        : t`The web page is closed; ${browsers} browsers were connected`,
    stopped: (session: string) =>
      t`The page's session ${session} was stopped; to continue it: reasonix web --resume ${session}`,
  },
  statusLine: {
    web: (browsers: number) =>
      browsers === 0 ? t`web: no browser` : browsers === 1 ? t`web: 1 browser` : t`web: ${browsers} browsers`,
    webViewers: (browsers: number, viewers: number) => t`web: ${browsers} (${viewers} only look)`,
    modes: { ask: t`ask`, auto: t`auto`, yolo: t`yolo` },
    planThen: (mode: string) => t`plan (then ${mode})`,
    /** An approved plan is being executed. */
    planApproved: t`plan approved`,
    permissions: {
      "read-only": t`read-only`,
      "plan": t`plan`,
      "danger-full-access": t`full access`,
    },
    goal: {
      active: (turn: number) => t`goal: turn ${turn}`,
      blocked: t`goal blocked`,
      stopped: t`goal paused`,
      limit: t`goal at its limit`,
    },
    /** Part of the context window that is used. */
    context: (percent: string) => t`${percent} context`,
    tokens: (tokens: string) => t`${tokens} tokens`,
    cached: (share: string) => t`cache ${share}`,
    cachedScripted: (share: string) => t`cache ${share} (scripted)`,
    jail: { on: t`jail`, off: t`no jail` },
    mcp: (ready: number, all: number, failed: number) => {
      const servers = ready === all ? `MCP ${all}` : `MCP ${ready}/${all}`;
      return failed > 0 ? t`${servers}, ${failed} failed` : servers;
    },
    opening: t`opening the session …`,
    closed: t`no session is open`,
  },
});
