import type { SessionUpdate, ToolCall, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { Event, EventOf, EventSink } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { currentBranch } from "../../session/mod.ts";
import { type Clock, Pace } from "../../util/timer.ts";
import { userText } from "../../util/user_text.ts";
import { callKind, callTitle, earlyTitle, fenced, retryText } from "../../view/mod.ts";
import { agentUpdate, ServerUpdates } from "../server_updates.ts";
import type { LiveParts } from "../session/live_state.ts";
import * as calls from "./tool_calls.ts";

export interface UpdatesOptions {
  readonly cwd: string;
  /** Capabilities that the client has announced. */
  readonly client: Readonly<Record<"terminalOutput" | "notices" | "compaction", boolean>>;
  readonly send: (update: SessionUpdate) => void;
  /** The client does not read: text waits for the end of its message, and output is left out. */
  readonly behind?: () => boolean;
  readonly texts: () => Texts["run"];
  readonly clock?: Clock;
}

/** Least time between two chunks of a message, and between two updates with the output of calls. */
const PACE_MS = { chunk: 10, output: 200 };
/** Characters of output: the end that is shown as text while a call runs, and the most for a terminal. */
const OUTPUT = { tail: 4_000, terminal: 1_000_000 };

/** Tools with output that a terminal can show. */
const SHELL = /^(?:bash|shell|shell_command|run_shell_command)$/i;

type Channel = EventOf<"message.delta">["channel"];

/** Makes the updates of one session for one client of its events, in their order. */
export class Updates {
  readonly #options: UpdatesOptions;
  readonly #send: UpdatesOptions["send"];
  readonly #calls = new Map<string, calls.Call>();
  /** Numbers of calls by their identifiers: after a rewind one may come again. */
  readonly #used = new Map<string, number>();
  readonly #servers = new ServerUpdates();
  /** Identifiers of messages that the client has sent: they are left out. */
  readonly sent = new Set<string>();
  /** Lines about the session that wait for the end of the open message. */
  readonly #notes: Event[] = [];
  readonly #chunks: Pace;
  readonly #outputs: Pace;
  #isReplay = false;
  #seq = 0;
  /** The number of the event that began the turn; its replies so far; attempts at the open one before. */
  #turn = "";
  #replies = 0;
  #attempts = 0;
  #reply: "none" | "open" | "hidden" = "none";
  /** Characters of the open message that were sent; the rest is sent with its end. */
  #streamed = { text: 0, reasoning: 0 };
  #isBehind = false;
  #channel: Channel = "text";
  #text = "";
  #compaction: string | undefined;

  constructor(options: UpdatesOptions) {
    this.#options = options;
    this.#send = options.send;
    this.#chunks = new Pace(PACE_MS.chunk, () => this.#flushText(false), options.clock);
    this.#outputs = new Pace(PACE_MS.output, () => this.#flushOutputs(), options.clock);
  }

  /** Gets events ahead of a turn, to warm up: they are not sent. */
  warmUpSink(): EventSink {
    const unseen = new Updates({ ...this.#options, send() {} });
    return (event) => unseen.event(event);
  }

  /** Sends what waits to be sent together with more. */
  flush(): void {
    this.#flushText(false);
    this.#flushOutputs();
  }

  /** Sends the conversation as these events leave it, each call when it is over. */
  replay(events: readonly Event[]): void {
    this.#isReplay = true;
    const branch = currentBranch(events);
    for (const event of branch) if (event.type !== "todo.update") this.event(event);
    for (const { shown } of this.#calls.values()) this.#send({ sessionUpdate: "tool_call", ...shown });
    const todos = branch.findLast((event) => event.type === "todo.update");
    if (todos) this.event(todos);
    this.#isReplay = false;
  }

  /** Sends what no durable event holds yet, to a client that joins. */
  snapshot({ seq, message, calls: running }: LiveParts): void {
    this.#seq = Math.max(this.#seq, seq);
    if (this.#turn === "") this.#turn = `after-${seq}`;
    if (message) {
      this.#begin(message.step);
      this.#delta("reasoning", message.thinking);
      this.#delta("text", message.text);
      this.#flushText(false);
      for (const call of message.calls) this.#written(call);
    }
    for (const { callId, name, title, arguments: written, tail, progress } of running) {
      const known = this.#calls.get(callId);
      const call = known ?? this.#announce(callId, name, { title, rawInput: calls.inputOf(written) });
      call.isCertain = true;
      if (!known) this.#change(call, { status: "in_progress" });
      this.#output(callId, tail);
      if (progress) this.#progress(callId, progress);
    }
    this.flush();
  }

  /** The call as a request for permission shows it. */
  callUpdateOf(callId: string): ToolCallUpdate {
    return { toolCallId: callId, ...this.#calls.get(callId)?.shown };
  }

  event(event: Event): void {
    if (event.seq > 0) this.#seq = event.seq;
    if (event.type !== "message.delta") this.#flushText(true);
    switch (event.type) {
      case "turn.start":
        [this.#turn, this.#replies, this.#attempts] = [String(event.seq), 0, 0];
        return;
      case "message.user":
        return this.#user(event);
      case "message.start":
        return this.#begin(event.step);
      case "message.delta":
        this.#isBehind ||= this.#options.behind?.() ?? false;
        return this.#isBehind ? undefined : this.#delta(event.channel, event.text);
      case "message.retry":
        return this.#retry(event);
      case "message.end":
        return this.#end(event);
      case "tool.call":
        return this.#written(event);
      case "tool.start":
        return this.#start(event);
      case "approval.request":
      case "approval.decision": {
        const runs = event.type === "approval.decision" && event.decision === "allow";
        return this.#change(this.#calls.get(event.callId), { status: runs ? "in_progress" : "pending" });
      }
      case "tool.delta":
        return this.#output(event.callId, event.text);
      case "subagent.progress":
        return event.background ? undefined : this.#progress(event.callId ?? "", event);
      case "tool.end":
        return this.#finish(event);
      case "todo.update": {
        const entries = event.items.map((item) => ({ ...item, priority: "medium" as const }));
        return this.#send({ sessionUpdate: "plan", entries });
      }
      case "plan.change":
        return this.#say(`plan-${event.seq}`, event.plan ?? "");
      case "turn.state":
        if (event.to === "compacting") this.#compact("in_progress");
        return;
      case "compaction":
        return this.#compact("completed", event.digest);
      case "turn.end":
        this.#compact(event.reason === "interrupted" ? "cancelled" : "failed");
        return this.#settle();
      default:
        if (!this.#isReplay) this.#note(event);
    }
  }

  #user({ seq, id = "", origin, content, images = [] }: EventOf<"message.user">): void {
    if (origin !== "user" && origin !== "steer") return;
    if (!this.#isReplay && this.sent.delete(id)) return;
    const text = userText(content);
    const chunk = { sessionUpdate: "user_message_chunk", messageId: `user-${seq}` } as const;
    if (text !== "") this.#send({ ...chunk, content: { type: "text", text: text.toWellFormed() } });
    for (const image of images) this.#send({ ...chunk, content: calls.imageBlock(image) });
  }

  #say(messageId: string, said: string): void {
    const content = { type: "text", text: said.toWellFormed() } as const;
    if (said !== "") this.#send({ sessionUpdate: "agent_message_chunk", messageId, content });
  }

  #begin(step: number): void {
    this.#reply = step === 0 ? "hidden" : "open";
    if (step > 0) this.#compact("failed");
    this.#forget();
  }

  /** Another message begins, or another attempt at it. */
  #forget(): void {
    this.#streamed = { text: 0, reasoning: 0 };
    this.#isBehind = false;
  }

  #delta(channel: Channel, text: string): void {
    if (this.#reply === "hidden" || text === "") return;
    if (channel !== this.#channel) this.#flushText(true);
    this.#channel = channel;
    this.#streamed[channel] += text.length;
    this.#text += text;
    this.#chunks.touch();
  }

  /** Unless it is `final`, half a surrogate pair at the end waits for the other half. */
  #flushText(final: boolean): void {
    const end = final ? this.#text.length : this.#text.length - Number(/[\ud800-\udbff]$/.test(this.#text));
    if (end === 0) return;
    const content = { type: "text", text: this.#text.slice(0, end).toWellFormed() } as const;
    this.#text = this.#text.slice(end);
    const [kind, what] = this.#channel === "text"
      ? ["agent_message_chunk", "message"] as const
      : ["agent_thought_chunk", "thought"] as const;
    this.#send({ sessionUpdate: kind, messageId: this.#messageId(what), content });
  }

  #messageId(what: string): string {
    return [what, this.#turn, this.#replies + 1, ...this.#attempts > 0 ? [this.#attempts + 1] : []].join("-");
  }

  #retry(event: EventOf<"message.retry">): void {
    const { discarded } = event;
    const texts = this.#options.texts();
    if (this.#streamed.text + this.#streamed.reasoning > 0 && discarded) {
      this.#say(this.#messageId("note"), `\n\n_${texts.brokeOff}_\n\n`);
    }
    this.#forget();
    if (discarded) this.#attempts++;
    if (!this.#options.client.notices || this.#isReplay) return;
    this.#notify("warning", retryText(event, texts));
  }

  #end({ step, reasoning = "", content, interrupted, calls: asked = [] }: EventOf<"message.end">): void {
    this.#reply = "none";
    if (step === 0) return;
    // What did not stream. Secrets that the event does not have make it shorter than what did.
    const { text: shown, reasoning: thought } = this.#streamed;
    if (thought === 0 || this.#isBehind) this.#delta("reasoning", reasoning.slice(thought));
    if (shown === 0 || this.#isBehind) this.#delta("text", content.slice(shown));
    this.#flushText(true);
    this.#forget();
    [this.#replies, this.#attempts] = [this.#replies + 1, 0];
    for (const { id, name, arguments: written } of interrupted || this.#isReplay ? [] : asked) {
      this.#written({ callId: id, name, arguments: written }, { rawInput: calls.inputOf(written) });
    }
    this.#settle();
  }

  /** Ends the calls that were announced and did not come, and sends the lines that waited. */
  #settle(): void {
    this.#reply = "none";
    for (const [callId, call] of this.#calls) {
      if (call.isCertain) continue;
      this.#change(call, { status: "failed", content: [calls.textContent(this.#options.texts().brokeOff)] });
      this.#calls.delete(callId);
    }
    for (const note of this.#notes.splice(0)) this.#note(note);
  }

  /** Shows a call that the model is writing, or has written: then with its input. */
  #written(
    { callId, name, arguments: written = "" }: Pick<EventOf<"tool.call">, "callId" | "name" | "arguments">,
    whole?: { readonly rawInput: unknown },
  ): void {
    const title = calls.titleLine(earlyTitle(name, written));
    const known = this.#calls.get(callId);
    const call = known ?? this.#announce(callId, name, { title, ...whole });
    if (known) this.#change(call, { name, title, kind: callKind(name), ...whole });
    call.isCertain ||= whole !== undefined;
  }

  #announce(callId: string, name: string, facts: Partial<ToolCall> = {}): calls.Call {
    const times = (this.#used.get(callId) ?? 0) + 1;
    this.#used.set(callId, times);
    const toolCallId = times === 1 ? callId : `${callId}#${times}`;
    const title = calls.titleLine(facts.title ?? earlyTitle(name, ""));
    const call: calls.Call = {
      shown: { toolCallId, name, kind: callKind(name), status: "pending", ...facts, title },
      isTerminal: this.#options.client.terminalOutput && !this.#isReplay && SHELL.test(name),
      isCertain: false,
      tail: "",
      unsent: "",
      sent: 0,
    };
    this.#calls.set(callId, call);
    if (this.#isReplay) return call;
    const content = [{ type: "terminal" as const, terminalId: toolCallId }];
    const _meta = { terminal_info: { terminal_id: toolCallId, cwd: this.#options.cwd } };
    this.#send({ sessionUpdate: "tool_call", ...call.shown, ...call.isTerminal ? { content, _meta } : {} });
    return call;
  }

  /** Sends what changes of a call; of a replay it is sent when it is over. */
  #change(call: calls.Call | undefined, fields: Partial<ToolCall>): void {
    if (!call) return;
    const { shown } = call;
    const differs = ([name, value]: [string, unknown]) => value !== shown[name as keyof ToolCall];
    const changed: Partial<ToolCall> = Object.fromEntries(Object.entries(fields).filter(differs));
    const { content: _content, _meta, ...lasting } = changed;
    Object.assign(shown, lasting);
    if (Object.keys(changed).length === 0 || this.#isReplay) return;
    this.#send({ sessionUpdate: "tool_call_update", toolCallId: shown.toolCallId, ...changed });
  }

  #start(event: EventOf<"tool.start">): void {
    const { call: { id, name, arguments: written }, tool = name, readOnly } = event;
    const call = this.#calls.get(id) ?? this.#announce(id, name);
    call.isCertain = true;
    const locations = calls.locationsOf(event, this.#options.cwd);
    this.#change(call, {
      // What only reads is rarely asked about, and nothing else says that it runs.
      status: readOnly ? "in_progress" : "pending",
      title: calls.titleLine(callTitle(event, this.#options.texts())),
      kind: callKind(tool),
      rawInput: call.shown.rawInput ?? calls.inputOf(written),
      ...(locations.length > 0 ? { locations } : {}),
    });
  }

  #progress(callId: string, { calls, text }: Pick<EventOf<"subagent.progress">, "calls" | "text">): void {
    this.#output(callId, `${this.#options.texts().agents.calls(calls)} › ${text}\n`);
  }

  #output(callId: string, text: string): void {
    const call = this.#calls.get(callId);
    if (!call || text === "") return;
    this.#change(call, { status: "in_progress" });
    if (this.#options.behind?.()) return;
    call.tail = (call.tail + text).slice(-OUTPUT.tail).replace(/^[\udc00-\udfff]/, "");
    call.unsent = call.isTerminal ? call.unsent + text : "text";
    this.#outputs.touch();
  }

  #flushOutputs(): void {
    for (const call of this.#calls.values()) {
      if (call.unsent === "") continue;
      const data = call.unsent.slice(0, Math.max(0, OUTPUT.terminal - call.sent)).toWellFormed();
      call.unsent = "";
      if (!call.isTerminal) this.#change(call, { content: [calls.textContent(fenced(call.tail))] });
      else if (data !== "") {
        this.#change(call, { _meta: { terminal_output: { terminal_id: call.shown.toolCallId, data } } });
      }
      call.sent += data.length;
    }
  }

  #finish(event: EventOf<"tool.end">): void {
    this.#flushOutputs();
    const call = this.#calls.get(event.callId) ?? this.#announce(event.callId, event.name);
    this.#calls.delete(event.callId);
    const summary = this.#options.texts().written(event.said, event.summary);
    const result = calls.resultOf(event, call, summary, this.#options.cwd);
    if (this.#isReplay) return this.#send({ sessionUpdate: "tool_call", ...call.shown, ...result });
    if (!call.isTerminal) return this.#change(call, result);
    const { toolCallId: terminal_id } = call.shown;
    const { exitCode: exit_code = null, signal = null } = event;
    const { output: data } = result.rawOutput;
    this.#change(call, {
      ...result,
      content: [{ type: "terminal", terminalId: terminal_id }, ...result.content],
      _meta: {
        ...call.sent === 0 && data !== undefined ? { terminal_output: { terminal_id, data } } : {},
        terminal_exit: { terminal_id, exit_code, signal },
      },
    });
  }

  /** Ends a compaction where none is open only when it is complete: outputs were shortened. */
  #compact(status: "in_progress" | "completed" | "failed" | "cancelled", digest = ""): void {
    if (this.#compaction === undefined && (status === "failed" || status === "cancelled")) return;
    const compactionId = this.#compaction ?? `compaction-${this.#seq}`;
    this.#compaction = status === "in_progress" ? compactionId : undefined;
    if (!this.#options.client.compaction) return;
    const text = digest.replace(/^<\/?compaction-summary>\n?/gm, "").trim();
    const summary = text === "" ? {} : { summary: [{ type: "text" as const, text }] };
    this.#send({ sessionUpdate: "compaction_update", compactionId, status, ...summary });
  }

  /** Shows what people should know and what is no part of the conversation. */
  #note(event: Event): void {
    const texts = this.#options.texts();
    if (this.#reply === "open" && !this.#options.client.notices) this.#notes.push(event);
    else if (event.type === "notice") this.#notify(event.level, texts.written(event.said, event.text));
    else if (event.type === "mcp.server") {
      const line = this.#servers.of(event, texts);
      if (line) this.#notify(line.level, line.text);
    } else if (event.type === "subagent.end" && event.background) {
      this.#notify("info", agentUpdate(event, texts).text);
    }
  }

  /** Clients without notices get warnings and errors as a message. */
  #notify(severity: "info" | "warning" | "error", text: string): void {
    const [title = "", ...rest] = text.trim().toWellFormed().split("\n");
    if (title === "") return;
    if (this.#options.client.notices) {
      const description = rest.length > 0 ? { description: rest.join("\n") } : {};
      return this.#send({ sessionUpdate: "notice", severity, title, ...description });
    }
    const lines = [`⚠ ${title}`, ...rest].map((line) => `> ${line}`).join("\n");
    if (severity !== "info") this.#say(`notice-${this.#seq}`, `\n\n${lines}\n\n`);
  }
}
