/** Shapes that several event kinds share; see event_schema.ts. */
import * as z from "zod/mini";
import type { WrittenMessage } from "./texts.ts";

const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
const image = z.object({ mime: z.string(), data: z.string() });
const usage = z.object({
  inputTokens: z.number(),
  cachedTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
  cacheWriteTokens: z.optional(z.number()),
  scripted: z.optional(z.literal(true)),
});
/** Content that one wire wants back byte for byte. */
const providerPart = z.object({
  kind: z.string(),
  provider: z.string(),
  model: z.string(),
  data: z.unknown(),
});
const cost = z.object({ amount: z.number(), currency: z.string() });
const spent = { usage: z.optional(usage), cost: z.optional(cost), durationMs: z.number() };
const finishReason = z.enum(["stop", "tool_calls", "length", "content_filter", "unknown"]);
const toolSchema = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});
const todoItem = z.object({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]),
});

/** The part of a tool output that was left out before it was stored, and where the whole is. */
const truncation = z.object({
  /** The part that was cut away. */
  cut: z.enum(["head", "middle", "tail", "lines"]),
  reason: z.enum(["bytes", "lines", "matches", "line_length"]),
  totalBytes: z.optional(z.number()),
  totalLines: z.optional(z.number()),
  keptBytes: z.number(),
  /** File with the full text. */
  fullText: z.optional(z.string()),
});

/** A file a call created, changed, moved or removed, for front ends, checkpoints and statistics. */
const fileChange = z.object({
  path: z.string(),
  change: z.enum(["created", "updated", "unchanged", "deleted", "moved"]),
  from: z.optional(z.string()),
  added: z.number(),
  removed: z.number(),
  /** False: only computed, the file is as it was. */
  written: z.optional(z.boolean()),
  /** Bounded unified diff. */
  diff: z.optional(z.string()),
});

/** The confinement of commands: what is and is not restricted. */
const confinement = z.object({
  /** The jail; absent: there is none. */
  backend: z.optional(z.string()),
  /** Why there is none. */
  why: z.optional(z.string()),
  /** The mark of the container that the program runs in, which confines commands then. */
  container: z.optional(z.string()),
  /** File tools are not confined either. */
  full: z.optional(z.boolean()),
  /** The protections that remain without a jail. */
  standing: z.optional(z.array(
    z.enum(["denyRules", "destructive", "askRules", "workspace", "forbidRead", "environment", "trust"]),
  )),
  /** Nothing of the workspace can be written. */
  readOnly: z.optional(z.boolean()),
  /** Directories that can be written, the project as an empty text. */
  roots: z.optional(z.array(z.string())),
  /** Commands have a private `/tmp`. */
  privateTmp: z.optional(z.boolean()),
  network: z.optional(z.enum(["none", "filtered", "open"])),
  /** Why the network cannot be confined though it should be. */
  openNetwork: z.optional(z.string()),
  /** Paths hidden by forbid_read. */
  forbidden: z.optional(z.number()),
  /** Paths hidden by Read rules. */
  ruled: z.optional(z.number()),
  /** More than that match Read rules, and stay visible. */
  capped: z.optional(z.boolean()),
});

const writtenMessage: z.ZodMiniType<WrittenMessage> = z.lazy(() =>
  z.readonly(z.array(z.union([z.string(), writtenMessage])))
);

/**
 * The text of the event for people who speak another language: messages in a row, each `[template,
 * ...values]`. Sessions of earlier versions hold codes in place of templates.
 */
const said = z.optional(z.readonly(z.array(writtenMessage)));

/** The activity of a session; `idle` before its first turn. */
const turnState = z.enum([
  "idle",
  "preparing",
  "generating",
  "awaiting_approval",
  "awaiting_answer",
  "running_tools",
  "compacting",
  "verifying",
  "done",
  "failed",
  "stopped",
]);

const AUTONOMY_KINDS = {
  /** A plan was proposed, or the user has decided about it. */
  "plan.change": z.object({
    state: z.enum(["proposed", "approved", "revised", "rejected", "finished"]),
    /** The plan as Markdown, when it is proposed or the user has changed it. */
    plan: z.optional(z.string()),
    /** The file that has it. */
    file: z.optional(z.string()),
    /** Words of the user. */
    note: z.optional(z.string()),
    /** Its calls are not prompted for until the turn that carries it out has ended. */
    window: z.optional(z.boolean()),
    /** Edits need no approval for the rest of the session. */
    acceptEdits: z.optional(z.boolean()),
    /** A flag of the command line has approved it, in place of a person. */
    by: z.optional(z.literal("flag")),
  }),
  /** A goal was set, came further, or ended; between two of these it is as the last one says. */
  "goal.change": z.object({
    goal: z.string(),
    /** `stopped` can be resumed, as `blocked` and `limit` can; `cleared` cannot. */
    state: z.enum(["active", "blocked", "complete", "stopped", "limit", "cleared"]),
    objective: z.string(),
    /** Commands whose exit code decides whether it is reached. */
    checks: z.optional(z.array(z.string())),
    /** The results of the last time they ran. */
    results: z.optional(z.array(z.object({ command: z.string(), passed: z.boolean() }))),
    /** The model's last word on it, or why it ended. */
    note: z.optional(z.string()),
    /** The bound that ended it. */
    limit: z.optional(z.enum(["turns", "cost", "time", "progress", "turn"])),
    /** Turns that were taken for it. */
    turns: z.number(),
    /** Spending since the goal was set or resumed, which the limits apply to. */
    leg: z.object({ turns: z.number(), durationMs: z.number(), cost: z.number() }),
    /** The normalized reason that blocked the model, and the number of consecutive reports of it. */
    blocked: z.optional(z.object({ by: z.string(), times: z.number() })),
    /** Turns in a row without an effect; one that only read something new counts half. */
    idle: z.number(),
    /** Directory of its research record. */
    research: z.optional(z.string()),
    /** The report of its research. */
    report: z.optional(z.string()),
  }),
  /** Another agent begins to work on a part of the task, in a separate session. */
  "subagent.start": z.object({
    id: z.string(),
    agent: z.string(),
    session: z.string(),
    model: z.string(),
    prompt: z.string(),
    /** The task, in a few words. */
    description: z.optional(z.string()),
    /** The call that began it. */
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** It continues with the conversation of an earlier one. */
    resumed: z.optional(z.boolean()),
  }),
  /** The activity of another agent, in one line. Live only. */
  "subagent.progress": z.object({
    id: z.string(),
    agent: z.string(),
    text: z.string(),
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** Calls that it has made. */
    calls: z.number(),
  }),
  /** Another agent is done; its usage is part of this session's totals. */
  "subagent.end": z.object({
    id: z.string(),
    agent: z.string(),
    outcome: z.enum(["ok", "error", "aborted"]),
    /** The last words of its answer, or why there is none. */
    summary: z.string(),
    model: z.optional(z.string()),
    callId: z.optional(z.string()),
    background: z.optional(z.boolean()),
    /** Calls that it made. */
    calls: z.optional(z.number()),
    steps: z.number(),
    ...spent,
  }),
  /** A command begins to test what the turn changed. Live only. */
  "verification.start": z.object({ round: z.number(), command: z.string() }),
  /** A command has tested what the turn changed. */
  "verification": z.object({
    round: z.number(),
    command: z.string(),
    outcome: z.enum(["passed", "failed", "timeout", "skipped"]),
    exitCode: z.optional(z.number()),
    /** The reason why it was not run, or the end of what it printed. */
    text: z.optional(z.string()),
    /** The changed files that it tests; absent where it tests a goal. */
    files: z.optional(z.array(z.string())),
    durationMs: z.number(),
  }),
  /** A hook has run. */
  "hook": z.object({
    event: z.string(),
    command: z.string(),
    outcome: z.enum(["ok", "blocked", "failed", "timeout"]),
    /** Its decision about a call or about the end of the turn. */
    decision: z.optional(z.enum(["deny", "defer", "ask", "allow"])),
    durationMs: z.number(),
    /** Its reason, or what it wrote for people. */
    text: z.optional(z.string()),
    /** The arguments, as JSON, that it wants in place of the call's. */
    updatedInput: z.optional(z.string()),
    callId: z.optional(z.string()),
  }),
} as const;

/** Every kind with its fields, in documentation order. */
export const EVENT_KINDS = {
  /** The first line of a session: who wrote it and where it ran. */
  "session.start": z.object({
    session: z.string(),
    version: z.string(),
    cwd: z.string(),
    /** Session and event this one was copied from, or on whose behalf it works as the agent named. */
    parent: z.optional(z.object({ session: z.string(), seq: z.number(), agent: z.optional(z.string()) })),
  }),
  /** The cache-stable head of every request that follows, up to the next one of these. */
  "context.prefix": z.object({
    /** The reason the prefix of the request changes here: start, tools, model, tool_mode, fallback. */
    reason: z.string(),
    /** The difference, for people: "a → b" of models, "+x −y" of tools. */
    detail: z.optional(z.string()),
    system: z.string(),
    tools: z.array(toolSchema),
    model: z.string(),
    /** Name of the configured provider; absent in files of earlier versions. */
    provider: z.optional(z.string()),
    /** The form of tool calls where it is not native to the wire: pseudo, none. */
    toolMode: z.optional(z.string()),
  }),
  /** A turn begins: the user's input is about to be worked on. */
  "turn.start": z.object({ turn: z.number() }),
  /** A message with the role user enters the conversation. */
  "message.user": z.object({
    /** The identifier that its client gave it, which counts it once however often it is sent. */
    id: z.optional(z.string()),
    content: z.string(),
    images: z.optional(z.array(image)),
    /**
     * The author: the user (also while a turn runs: steer), or the harness. Its standing facts are context,
     * such as environment, mode and instructions; what matters for a while is a reminder, such as the open
     * todo list.
     */
    origin: z.enum(["user", "context", "reminder", "continue", "steer", "summary"]),
  }),
  /** The session is doing something else from here on. Live only. */
  "turn.state": z.object({ from: turnState, to: turnState }),
  /** Another model has described an image (its SHA-256) for one that takes none; an empty text is none. */
  "image.described": z.object({
    image: z.string(),
    provider: z.string(),
    model: z.string(),
    text: z.string(),
    ...spent,
  }),
  /** The model begins to answer. Live only. */
  "message.start": z.object({ step: z.number(), model: z.string() }),
  /** A piece of the answer. Live only. */
  "message.delta": z.object({ channel: z.enum(["text", "reasoning"]), text: z.string() }),
  /** A request failed and is sent again after a wait. */
  "message.retry": z.object({
    attempt: z.number(),
    maxAttempts: z.number(),
    waitMs: z.number(),
    reason: z.string(),
    /** The reason for other languages: each `[template, ...values]`, values are texts or such arrays. */
    said,
    discarded: z.boolean(),
  }),
  /** One whole reply of the model. Without content and calls it is no message: only what it cost counts. */
  "message.end": z.object({
    step: z.number(),
    model: z.string(),
    content: z.string(),
    reasoning: z.optional(z.string()),
    calls: z.optional(z.array(toolCall)),
    /** Signed or encrypted parts, for later requests to the same model. */
    parts: z.optional(z.array(providerPart)),
    finish: z.optional(finishReason),
    /** The reply broke off; content is what was shown. */
    interrupted: z.optional(z.boolean()),
    ...spent,
  }),
  /**
   * The model is writing a call. Sent with its name, and a few times again with more of its arguments; it may
   * not come, such as when the reply breaks off. Live only.
   */
  "tool.call": z.object({
    step: z.number(),
    callId: z.string(),
    name: z.string(),
    /** The beginning of the arguments, JSON that is not complete. */
    arguments: z.optional(z.string()),
  }),
  /** A call was allowed and begins. */
  "tool.start": z.object({
    call: toolCall,
    readOnly: z.boolean(),
    /** The tool's own name, where the call has another one. */
    tool: z.optional(z.string()),
    /** Files that it changes, else what it reads and searches, as the model wrote the paths. */
    paths: z.optional(z.array(z.string())),
    /** Subject of the call: its command, path or pattern. */
    summary: z.string(),
    /** One line that says what the call does, in place of its name and summary. */
    title: z.optional(z.string()),
    /** The title for other languages. */
    said,
  }),
  /** Output of a running call. Live only. */
  "tool.delta": z.object({ callId: z.string(), text: z.string() }),
  /** A call is over. Every call of a reply gets exactly one. */
  "tool.end": z.object({
    callId: z.string(),
    name: z.string(),
    outcome: z.enum(["ok", "error", "blocked", "aborted", "skipped"]),
    /** Exactly what the model reads. */
    content: z.string(),
    images: z.optional(z.array(image)),
    /** One line for people. */
    summary: z.string(),
    /** The summary for other languages. */
    said,
    durationMs: z.number(),
    changes: z.optional(z.array(fileChange)),
    truncated: z.optional(truncation),
    exitCode: z.optional(z.number()),
    signal: z.optional(z.string()),
    /** The confinement to the workspace refused the call. */
    refused: z.optional(z.literal(true)),
    /** A person was asked, and did not allow the call: it was not executed. */
    denied: z.optional(z.literal(true)),
  }),
  /** A call requires approval. */
  "approval.request": z.object({
    callId: z.string(),
    tool: z.string(),
    subject: z.string(),
    reason: z.string(),
    /** The rule an "always" answer would save. */
    rule: z.optional(z.string()),
  }),
  /** The decision about a call, by the rules, a hook or a person. */
  "approval.decision": z.object({
    callId: z.string(),
    decision: z.enum(["allow", "deny"]),
    /**
     * The one who decided: a rule, the mode, the user, the answer for absent users, plan mode, the
     * destructive-command check, trust, a hook.
     */
    source: z.enum(["rule", "mode", "user", "headless", "plan", "floor", "confinement", "trust", "hook"]),
    rule: z.optional(z.string()),
    reason: z.optional(z.string()),
  }),
  /**
   * The user is asked something by the model or a server, or by an agent that works on a call, or has
   * answered. Live only.
   */
  "question": z.object({
    state: z.enum(["asked", "answered"]),
    text: z.string(),
    callId: z.optional(z.string()),
  }),
  /**
   * A question to the user was opened, changed, answered or withdrawn; each front end of the session can
   * answer it. Live only, for front ends.
   */
  "question.state": z.object({
    id: z.string(),
    kind: z.enum([
      "approval",
      "ask",
      "plan",
      "trust",
      "copy",
      "choose",
      "confirm",
      "prompt",
      "show",
      "changes",
    ]),
    state: z.enum(["opened", "changed", "answered", "withdrawn"]),
    /** Everything a person has to see, when it is opened or changed. */
    question: z.optional(z.record(z.string(), z.unknown())),
    /** The user asked for it, by a command. */
    called: z.optional(z.boolean()),
    /** Absent: the person left without an answer. */
    answer: z.optional(z.unknown()),
    /** The front end that answered. */
    by: z.optional(z.string()),
  }),
  /** The whole todo list as it is now. */
  "todo.update": z.object({ items: z.array(todoItem) }),
  /**
   * The approval mode, the boundary or the way of working changed; an absent field is unchanged. A session
   * begins with ask, workspace-write and normal.
   */
  "mode.change": z.object({
    posture: z.optional(z.string()),
    mode: z.optional(z.string()),
    collaboration: z.optional(z.enum(["normal", "plan", "goal"])),
  }),
  ...AUTONOMY_KINDS,
  /** A background command began or ended. */
  "job.change": z.object({
    job: z.string(),
    command: z.string(),
    status: z.enum(["started", "exited", "killed"]),
  }),
  /** An MCP server began to start, was ready, failed, or offers something else. */
  "mcp.server": z.object({
    server: z.string(),
    state: z.enum(["disabled", "idle", "starting", "ready", "failed", "needs-auth", "stopped"]),
    /** The reason why it failed. */
    detail: z.optional(z.string()),
    /** The detail for other languages. */
    said,
    /** The number of tools it offers. */
    tools: z.optional(z.number()),
    durationMs: z.optional(z.number()),
  }),
  /**
   * A language server began to start, was ready, or ended: it was not needed any more, or was lost. It starts
   * again when it is needed, unless it failed.
   */
  "lsp.server": z.object({
    server: z.string(),
    state: z.enum(["starting", "ready", "stopped", "failed"]),
    /** The reason why it was lost. */
    detail: z.optional(z.string()),
  }),
  /** The files of the workspace can be restored to how they were here. */
  "checkpoint": z.object({ turn: z.number(), files: z.number(), id: z.string() }),
  /** Older messages are replaced by a shorter text, which changes the prefix of requests. */
  "compaction": z.object({
    reason: z.string(),
    /**
     * "fold" (when absent): a summary replaces messages. "prune": a marker replaces the middle of each long
     * tool output.
     */
    action: z.optional(z.enum(["fold", "prune"])),
    /** Sequence numbers of the first and last event whose messages are concerned. */
    from: z.number(),
    to: z.number(),
    /** The text the model reads instead; with an empty one messages are only removed. */
    digest: z.string(),
    /**
     * Fold: user turns longer than this many characters are removed too. Prune: outputs up to this length
     * stay.
     */
    keepBelow: z.optional(z.number()),
    /** Prune: characters of an output's beginning and end that stay, before and after the marker. */
    keepHead: z.optional(z.number()),
    keepTail: z.optional(z.number()),
    /**
     * Fold: earlier summaries of the range are replaced as well, which happens only when nothing else makes
     * room.
     */
    digests: z.optional(z.boolean()),
    archive: z.optional(z.string()),
    tokensBefore: z.number(),
    tokensAfter: z.number(),
  }),
  /** The conversation, the files, or both go back (or forward again) to an earlier event. */
  "rewind": z.object({
    /** The conversation continues as if it ended with this event. */
    to: z.number(),
    scope: z.enum(["code", "conversation", "both"]),
  }),
  /** The session has a new title. */
  "session.rename": z.object({ title: z.string() }),
  /** Something the user should know that is no failure. */
  "notice": z.object({
    level: z.enum(["info", "warning"]),
    code: z.string(),
    text: z.string(),
    /** The data of a text about the confinement of commands. */
    confinement: z.optional(confinement),
    /** The text for other languages: each `[template, ...values]`, values are texts or such arrays. */
    said,
  }),
  /** A failure the user should know. */
  "error": z.object({ code: z.string(), text: z.string() }),
  /** A turn is over. */
  "turn.end": z.object({
    turn: z.number(),
    reason: z.enum(["done", "failed", "blocked", "limit", "provider", "interrupted", "terminated"]),
    /** The limit, when the reason is one. */
    limit: z.optional(z.enum(["steps", "time", "cost", "repairs"])),
    /** The reason in words, for people. */
    detail: z.optional(z.string()),
    /** The same for other languages: each `[template, ...values]`, values are texts or such arrays. */
    said,
    answer: z.string(),
    steps: z.number(),
    usage,
    cost: z.optional(cost),
    durationMs: z.number(),
  }),
} as const;

/** The fields of each event kind, without the envelope. */
export type EventBodies = { readonly [K in keyof typeof EVENT_KINDS]: z.infer<(typeof EVENT_KINDS)[K]> };
