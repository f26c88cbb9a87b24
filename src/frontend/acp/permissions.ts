import { type AgentContext, methods } from "@agentclientprotocol/sdk";
import type * as acp from "@agentclientprotocol/sdk";
import type { PlanAnswer } from "../../run/mod.ts";
import type { ApprovalAnswer } from "../../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../../i18n/mod.ts";
import {
  type Answer,
  flatAnswers,
  type OpenQuestion,
  type QuestionInLines,
  type QuestionKinds,
  type QuestionPresenter,
} from "../session/questions.ts";
import type { SessionTexts } from "../session/texts.ts";
import { reasonOf } from "./files.ts";
import { fenced } from "../../view/mod.ts";
import { changesOf, textContent } from "./tool_calls.ts";

type InLines<T> = Promise<QuestionInLines<T>>;

export type LoadLines = () => Promise<{
  approvalLines(
    request: Shown<"approval">,
    form: { locale: Locale; columns: number },
  ): InLines<ApprovalAnswer>;
  planLines(locale: Locale): InLines<PlanAnswer | "leave">;
}>;

/** A client, and the texts for its user. */
export interface EditorOptions {
  readonly client: AgentContext;
  readonly capabilities: acp.ClientCapabilities;
  readonly texts: SessionTexts;
  readonly lines: LoadLines;
}

interface PresenterOptions extends EditorOptions {
  /** The session, or the request that opens it. */
  readonly scope: () => { readonly sessionId: string } | { readonly requestId: acp.RequestId };
  readonly cwd: () => string;
  readonly send: (update: acp.SessionUpdate) => void;
  readonly callUpdateOf: (callId: string) => acp.ToolCallUpdate;
  readonly say: (text: string) => void;
  /** Stops the turn. */
  readonly stop: () => void;
  readonly failed: (error: unknown) => void;
}

type Fields = Record<string, acp.ElicitationPropertySchema>;
type Asked = Shown<"ask">["questions"];
type PlanTexts = Texts["overlay"]["plan"];
type Shown<K extends OpenQuestion["kind"]> = QuestionKinds[K]["question"];

/** An answer that can be chosen. */
interface Entry {
  readonly label: string;
  readonly detail?: string | undefined;
  readonly kind?: acp.PermissionOptionKind;
  readonly id?: string;
}

/** Most entries that are shown as buttons. */
const MAX_BUTTONS = 20;

/** Shows the questions of a session at an editor. */
export class EditorPresenter implements QuestionPresenter {
  readonly name = "editor";
  readonly failed: (error: unknown) => void;
  readonly #options: PresenterOptions;

  constructor(options: PresenterOptions) {
    this.#options = options;
    this.failed = options.failed;
  }

  async show({ kind, question }: OpenQuestion, signal: AbortSignal): Promise<Answer | undefined> {
    const { say, texts: { chat, locale } } = this.#options;
    const { ask, plan, trust } = await loadTexts("overlay", locale);
    switch (kind) {
      case "approval":
        return await this.#approve(question, signal);
      case "ask":
        if (!this.#hasForms) return await this.#askByButtons(question.questions, signal);
        return await this.#askByForm(question.questions, ask.ownWords, signal);
      case "plan":
        return await this.#plan(question.plan, plan, signal);
      case "trust": {
        const items = question.lines.map((line) => `- ${line}`).join("\n");
        // Editors read the text as Markdown, in which the lines of the details would run together.
        const text = [trust.title, items, fenced(question.details.trim())].join("\n\n");
        if (this.#canPick()) {
          return await this.#yes(text, trust.later, trust.all, signal) ? "trust" : "ignore";
        }
        say(`${text}\n\n${chat.trustByCommand}`);
        return "ignore";
      }
      case "copy":
        return this.#canPick() &&
          await this.#yes(`${chat.busy(question.pid)}\n${chat.busyCopy}`, chat.no, chat.yes, signal);
      case "choose": {
        const entries = question.entries.map((entry, index) => ({ ...entry, index }));
        return (await this.#pick(question.title, entries, signal))?.index;
      }
      case "confirm": {
        const text = [question.title, question.text ?? ""].filter(Boolean).join("\n\n");
        return await this.#yes(text, chat.no, question.danger ? `! ${chat.yes}` : chat.yes, signal);
      }
      case "prompt": {
        const { title, initial } = question;
        const text = { type: "string", title, ...(initial === "" ? {} : { default: initial }) } as const;
        if (!this.#hasForms) return this.#unable(title);
        const content = await this.#form(title, { text }, ["text"], signal);
        return content && String(content.text ?? "");
      }
      case "show":
        say(`${question.title}\n\n${question.text}`);
        return null;
      case "changes": {
        const files = question.files.map(({ path, what, added, removed, diff }) =>
          `${path}: ${what} +${added} −${removed}${diff === undefined ? "" : `\n\n${fenced(diff)}`}`
        );
        say([question.title, ...files].join("\n\n"));
        return null;
      }
    }
  }

  async #approve(question: Shown<"approval">, signal: AbortSignal): Promise<ApprovalAnswer | undefined> {
    const { texts, callUpdateOf, lines, cwd } = this.#options;
    const { chat, locale } = texts;
    const { changes = [], ...rest } = question;
    const { diffs, isWhole } = changesOf(changes, cwd());
    const { approvalLines } = await lines();
    const asked = diffs.length > 0 && isWhole ? rest : question;
    const { text, entries } = await approvalLines(asked, { locale, columns: Infinity });
    const [title = "", ...rows] = text.split("\n");
    const known = callUpdateOf(question.callId);
    const limits = question.confinement && texts.of(question.confinement);
    const shown = [title, rows.length > 0 && fenced(rows.join("\n")), limits].filter(Boolean);
    const toolCall: acp.ToolCallUpdate = {
      ...known,
      status: "pending",
      // The call of an agent was not announced.
      title: known.title ?? question.subject,
      content: [textContent(shown.join("\n\n")), ...(asked === rest ? diffs : [])],
    };
    const answers = flatAnswers(entries).map(({ label, detail, value }) => {
      return { label: value.allow ? label : chat.no, detail, ...about(value), value };
    });
    try {
      return (await this.#press(toolCall, answers, signal))?.value;
    } catch (error) {
      signal.throwIfAborted();
      const note = `the editor cannot ask for permission: ${reasonOf(error)}`;
      return { allow: false, scope: "once", note };
    }
  }

  async #plan(text: string, texts: PlanTexts, signal: AbortSignal): Promise<PlanAnswer | undefined> {
    const { lines, texts: { locale } } = this.#options;
    const answers = flatAnswers((await (await lines()).planLines(locale)).entries);
    const entries = answers.map((answer, at) => {
      const kind = answer.value === "leave" ? "reject_once" : at === 0 ? "allow_once" : "allow_always";
      return { ...answer, kind } as const;
    });
    const title = `${texts.title}\n\n${text}`;
    const { value = "leave", note = "" } = await this.#pick(title, entries, signal, texts.note) ?? {};
    if (value !== "leave") return value.approve && note !== "" ? { ...value, note } : value;
    return note === "" ? undefined : { approve: false, note };
  }

  async #askByForm(questions: Asked, ownWords: string, signal: AbortSignal) {
    const properties: Fields = {};
    for (const [at, { question: title, options, multiple, written = false }] of questions.entries()) {
      const choices = options.map(({ label, description: detail }) => {
        return { const: label, title: nameOf({ label, detail }) };
      });
      if (choices.length > 0) {
        properties[`choice_${at}`] = multiple
          ? { type: "array", title, items: { anyOf: choices } }
          : { type: "string", title, oneOf: choices };
      }
      const isTextOnly = written || choices.length === 0;
      properties[`text_${at}`] = { type: "string", title: isTextOnly ? title : ownWords };
    }
    const text = questions.map(({ question }) => question).join("\n");
    const content = await this.#form(text, properties, [], signal);
    return content && questions.map(({ multiple }, at) => {
      const custom = String(content[`text_${at}`] ?? "").trim();
      const chosen = [content[`choice_${at}`] ?? []].flat().map(String);
      if (custom === "") return chosen;
      return multiple ? [...chosen, custom] : [custom];
    });
  }

  async #askByButtons(questions: Asked, signal: AbortSignal): Promise<Answer<"ask"> | undefined> {
    const answers: string[][] = [];
    for (const { question, options } of questions) {
      const entries = options.map(({ label, description: detail }) => ({ label, detail }));
      const picked = await this.#pick(question, entries, signal);
      if (!picked) return undefined;
      answers.push([picked.label]);
    }
    return answers;
  }

  get #hasForms(): boolean {
    return this.#options.capabilities.elicitation?.form != null;
  }

  #canPick(entries = 1): boolean {
    return this.#hasForms || ("sessionId" in this.#options.scope() && entries > 0 && entries <= MAX_BUTTONS);
  }

  #unable(title: string): undefined {
    this.#options.say(this.#options.texts.chat.needsForms(title.split("\n", 1)[0] ?? ""));
  }

  async #yes(text: string, no: string, yes: string, signal: AbortSignal): Promise<boolean> {
    const entries: Entry[] = [{ label: no, kind: "reject_once" }, { label: yes }];
    return (await this.#pick(text, entries, signal))?.label === yes;
  }

  /** Lets the user choose an entry, in a form where the client has them, else by buttons; undefined: none. */
  async #pick<E extends Entry>(text: string, entries: readonly E[], signal: AbortSignal, note?: string) {
    const [title = ""] = text.split("\n", 1);
    if (!this.#canPick(entries.length)) return this.#unable(title);
    if (this.#hasForms) {
      const oneOf = entries.map((entry, at) => ({ const: String(at), title: nameOf(entry) }));
      const fields: Fields = { choice: { type: "string", title, oneOf } };
      if (note !== undefined) fields.note = { type: "string", title: note };
      const content = await this.#form(text, fields, ["choice"], signal);
      const entry = content && entries[Number(content.choice)];
      return entry && { ...entry, note: String(content.note ?? "").trim() };
    }
    // Buttons belong to a call; this one is made for them.
    const { send } = this.#options;
    const toolCallId = `question-${crypto.randomUUID()}`;
    const kind = note === undefined ? "other" : "switch_mode";
    const call: acp.ToolCall = { toolCallId, title, kind, status: "pending", content: [textContent(text)] };
    send({ sessionUpdate: "tool_call", ...call });
    let pressed: E | undefined;
    try {
      pressed = await this.#press(call, entries, signal);
      return pressed && { ...pressed, note: "" };
    } finally {
      const status = pressed ? "completed" : "failed";
      send({ sessionUpdate: "tool_call_update", toolCallId, status });
    }
  }

  /** Asks for permission and returns the answer; undefined: cancelled, which stops the turn. */
  async #press<E extends Entry>(toolCall: acp.ToolCallUpdate, entries: readonly E[], signal: AbortSignal) {
    const { client, scope, stop } = this.#options;
    const options = entries.map((entry, at) => {
      const { id = String(at), kind = "allow_once" } = entry;
      return { optionId: id, name: nameOf(entry), kind };
    });
    const { sessionId = "" } = scope() as { readonly sessionId?: string };
    const params: acp.RequestPermissionRequest = { sessionId, toolCall, options };
    const sent = { cancellationSignal: signal, stopWaitingOnCancel: true };
    const { outcome } = await client.request(methods.client.session.requestPermission, params, sent);
    if (outcome.outcome === "cancelled") stop();
    if (outcome.outcome !== "selected") return undefined;
    const entry = entries[options.findIndex(({ optionId }) => optionId === outcome.optionId)];
    if (entry) return entry;
    throw new Error(`There is no option "${outcome.optionId}"`);
  }

  /** Shows a form and returns its values; undefined: the user left it. */
  async #form(text: string, properties: Fields, required: string[], signal: AbortSignal) {
    const { client, scope } = this.#options;
    const requestedSchema = { type: "object", properties, required } as const;
    const params: acp.CreateElicitationRequest = { ...scope(), mode: "form", message: text, requestedSchema };
    const sent = { cancellationSignal: signal, stopWaitingOnCancel: true };
    const answer = await client.request(methods.client.elicitation.create, params, sent);
    return answer.action === "accept" ? (answer as acp.ElicitationAcceptAction).content ?? {} : undefined;
  }
}

function nameOf({ label, detail }: Entry): string {
  return detail === undefined ? label : `${label} – ${detail}`;
}

/** The identifier of an answer says what it allows and for how long. */
function about({ allow, scope, network, rule }: ApprovalAnswer): Required<Pick<Entry, "id" | "kind">> {
  const lasts = scope !== "once" || network === "session" || network === "project";
  const parts = [allow ? "allow" : "reject", scope, network && `network:${network}`, rule && `rule:${rule}`];
  return {
    id: parts.filter(Boolean).join(" "),
    kind: !allow ? "reject_once" : lasts ? "allow_always" : "allow_once",
  };
}
