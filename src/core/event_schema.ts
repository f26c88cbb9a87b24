/**
 * The event union as a schema. This file is the source of docs/events.md and of the types in event.ts, which
 * imports it for types only: nothing on the start path evaluates a validator.
 */
import * as z from "zod/mini";
import { AUTONOMY_KINDS } from "./autonomy_schema.ts";
import {
  confinement,
  cost,
  fileChange,
  finishReason,
  image,
  providerPart,
  said,
  spent,
  todoItem,
  toolCall,
  toolSchema,
  truncation,
  turnState,
  usage,
} from "./event_shapes.ts";

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
    /** The reason the head of the request changes here: start, tools, model, tool_mode, fallback. */
    reason: z.string(),
    /** The difference, for people: "a → b" of models, "+x −y" of tools. */
    detail: z.optional(z.string()),
    system: z.string(),
    tools: z.array(toolSchema),
    model: z.string(),
    /** Name of the configured provider; absent in files of earlier versions. */
    provider: z.optional(z.string()),
    /** How the model calls tools, where that is not as the wire has it: pseudo, none. */
    toolMode: z.optional(z.string()),
  }),
  /** A turn begins: the user's input is about to be worked on. */
  "turn.start": z.object({ turn: z.number() }),
  /** A message with the role user enters the conversation. */
  "message.user": z.object({
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
    /** The reason for other languages: each `[template, ...values]`, a value being a text or such an array. */
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
  /** A call was allowed and begins. */
  "tool.start": z.object({
    call: toolCall,
    readOnly: z.boolean(),
    /** Subject of the call: its command, path or pattern. */
    summary: z.string(),
    /** One line that says what the call does, in place of its name and summary. */
    title: z.optional(z.string()),
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
  /** Somebody is asked whether a call may run. */
  "approval.request": z.object({
    callId: z.string(),
    tool: z.string(),
    subject: z.string(),
    reason: z.string(),
    /** The rule an "always" answer would save. */
    rule: z.optional(z.string()),
  }),
  /** The decision about a call, whoever made it. */
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
    /** The number of tools it offers. */
    tools: z.optional(z.number()),
    durationMs: z.optional(z.number()),
  }),
  /** The files of the workspace can be brought back to how they were here. */
  "checkpoint": z.object({ turn: z.number(), files: z.number(), id: z.string() }),
  /** Older messages are replaced to make room; one of the places where the request's prefix changes. */
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
    /** What the text says, where it is about what confines commands. */
    confinement: z.optional(confinement),
    /** The text for other languages: each `[template, ...values]`, a value being a text or such an array. */
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
    /** The same for other languages: each `[template, ...values]`, a value being a text or such an array. */
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
