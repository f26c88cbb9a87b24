import type { ChangedFile, Choice, ChooseOptions, ConfirmOptions } from "../../command/mod.ts";
import { type ApprovalAnswer, message, type NewEventOf, ReasonixError } from "../../core/mod.ts";
import type { ApprovalRequest, RuleRefusal } from "../../permission/mod.ts";
import type { PlanAnswer, PlanProposal } from "../../run/mod.ts";
import type { Question } from "../../tool/mod.ts";
import { defined } from "../../util/json.ts";

/** Everything a person has to see of a call that requires approval. */
export interface ApprovalQuestion extends Omit<ApprovalRequest, "checkRule"> {
  /** The person may write another rule; `checkRule` returns the problem with one. */
  readonly checksRule?: true;
}

/**
 * The questions of a session and their answers.
 *
 * Contract: a question is plain data that survives JSON. What cannot be data is a call (`QuestionCalls`).
 */
export interface QuestionKinds {
  approval: { readonly question: ApprovalQuestion; readonly answer: ApprovalAnswer };
  /** Chosen labels or free text, one list per question. */
  ask: {
    readonly question: { readonly questions: readonly Question[] };
    readonly answer: readonly (readonly string[])[];
  };
  plan: { readonly question: PlanProposal; readonly answer: PlanAnswer };
  /** Asks for trust in repository content; `lines` summarize `details`. */
  trust: {
    readonly question: { readonly lines: readonly string[]; readonly details: string };
    readonly answer: "trust" | "ignore";
  };
  /** Asks whether to continue in a copy of a session that another process has open. */
  copy: {
    readonly question: { readonly session: string; readonly pid?: number };
    readonly answer: boolean;
  };
  /** The answer is the index of an entry. */
  choose: {
    readonly question: Omit<ChooseOptions<unknown>, "onMove"> & {
      readonly title: string;
      /** With `preview` the call of this name returns a text about the entry. */
      readonly entries: readonly (Pick<Choice<unknown>, "label" | "detail" | "key"> & {
        readonly preview?: true;
      })[];
      /** `move` is called with the current entry as it changes. */
      readonly moves?: true;
    };
    readonly answer: number;
  };
  confirm: { readonly question: ConfirmOptions & { readonly title: string }; readonly answer: boolean };
  /** The answer to a secret one is in no event, and only a front end that hides what is typed shows it. */
  prompt: {
    readonly question: { readonly title: string; readonly initial: string; readonly secret?: true };
    readonly answer: string;
  };
  show: { readonly question: { readonly title: string; readonly text: string }; readonly answer: null };
  changes: {
    readonly question: { readonly title: string; readonly files: readonly ChangedFile[] };
    readonly answer: null;
  };
}

export type QuestionKind = keyof QuestionKinds;
export type Answer<K extends QuestionKind = QuestionKind> = QuestionKinds[K]["answer"];

/** An answer to choose, one whose value the user types, or one with further answers. */
export type AnswerEntry<T> =
  | Choice<T>
  | (Omit<Choice<T>, "value"> & { readonly entries: readonly AnswerEntry<T>[] })
  | (Omit<Choice<T>, "value"> & {
    readonly write: (text: string) => T;
    readonly prompt?: string;
    readonly optional?: true;
    readonly initial?: string;
    /** Returns the problem with a text that is not accepted. */
    readonly check?: (text: string) => string | undefined;
  });

/** A question and its answers as text. */
export interface QuestionInLines<T> {
  readonly text: string;
  readonly entries: readonly AnswerEntry<T>[];
}

/** The answers that need no text, as one list. */
export function flatAnswers<T>(
  entries: readonly AnswerEntry<T>[],
): { readonly label: string; readonly detail?: string; readonly value: T }[] {
  return entries.flatMap((entry) => {
    if ("entries" in entry) return flatAnswers(entry.entries);
    if ("value" in entry) return [entry];
    return entry.optional ? [{ ...entry, value: entry.write("") }] : [];
  });
}

/** A question that waits for its answer. */
export type OpenQuestion<K extends QuestionKind = QuestionKind> = {
  readonly [P in K]: {
    readonly id: string;
    readonly kind: P;
    readonly question: QuestionKinds[P]["question"];
    /** The user asked for it, by a command. */
    readonly called: boolean;
  };
}[K];

/** Calls of a front end to the asking side, by the id of the question. */
export interface QuestionCalls {
  /** Returns the problem with a rule that the person wrote; undefined: the answer may have it. */
  readonly checkRule?: (rule: string) => RuleRefusal | undefined;
  readonly preview?: (index: number) => string | Promise<string>;
  readonly move?: (index: number) => void;
}

type Calls = Required<QuestionCalls>;

/** A question was opened, changed, answered or withdrawn. */
export type QuestionEvent = NewEventOf<"question.state">;

/** A front end that shows questions to a person. */
export interface QuestionPresenter {
  /** The front end, for the others: "terminal", "editor". */
  readonly name: string;
  /**
   * Shows a question; resolves with the answer, or with undefined when the person leaves without one. The
   * signal aborts when the question is closed. Undefined: this front end does not show it.
   */
  show(question: OpenQuestion, signal: AbortSignal): Promise<Answer | undefined> | undefined;
  /** It hides what the person types where that is secret. */
  readonly hides?: true;
  /** Called when another front end has answered a question that is shown here. */
  readonly elsewhere?: (by: string, question: OpenQuestion) => void;
  /** Called with the reason why a question cannot be shown; it is left without an answer. */
  readonly failed: (error: unknown) => void;
}

interface AskOptions {
  /** Withdraws the question. */
  readonly signal?: AbortSignal | undefined;
  readonly called?: boolean;
  readonly calls?: QuestionCalls;
}

interface Entry {
  readonly opened: OpenQuestion;
  readonly calls: QuestionCalls;
  readonly close: (answer: unknown) => void;
}

/** Closed questions that are remembered, to say who answered. */
const MAX_CLOSED = 1000;

/**
 * The questions of a session to its user. Every attached front end shows them.
 *
 * Contract: the first answer counts. An answer to a closed question is refused.
 */
export class Questions {
  readonly #open = new Map<string, Entry>();
  /** Who answered, by id; undefined: the question was withdrawn. */
  readonly #closed = new Map<string, string | undefined>();
  readonly #listeners = new Set<(event: QuestionEvent) => void>();
  /** Events that are not sent yet: a listener may answer what it learns of. */
  readonly #events: QuestionEvent[] = [];
  #sending = false;

  get open(): readonly OpenQuestion[] {
    return [...this.#open.values()].map(({ opened }) => opened);
  }

  /**
   * Resolves with the first answer; undefined: the person left without one. Rejects when the signal aborts,
   * which withdraws the question.
   */
  async ask<K extends QuestionKind>(
    kind: K,
    question: QuestionKinds[K]["question"],
    { signal, called = false, calls = {} }: AskOptions = {},
  ): Promise<Answer<K> | undefined> {
    signal?.throwIfAborted();
    const id = crypto.randomUUID();
    const opened = { id, kind, question, called } as OpenQuestion;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const withdraw = () => {
      this.#close(opened, { state: "withdrawn" });
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", withdraw, { once: true });
    const close = (answer: unknown) => {
      signal?.removeEventListener("abort", withdraw);
      resolve(answer);
    };
    this.#open.set(id, { opened, calls, close });
    this.#send({ id, kind, state: "opened", question: { ...question }, ...(called ? { called } : {}) });
    return await promise as Answer<K> | undefined;
  }

  /** Adds what was computed late; without effect on a closed question. */
  change<K extends QuestionKind>(id: string, fields: Partial<QuestionKinds[K]["question"]>): void {
    const entry = this.#open.get(id);
    if (!entry) return;
    const question = { ...entry.opened.question, ...fields };
    this.#open.set(id, { ...entry, opened: { ...entry.opened, question } as OpenQuestion });
    this.#send({ id, kind: entry.opened.kind, state: "changed", question });
  }

  /** Has the asking side compute something. Throws a ReasonixError when the question has no such call. */
  call<N extends keyof QuestionCalls>(
    id: string,
    name: N,
    argument: Parameters<Calls[N]>[0],
  ): ReturnType<Calls[N]> {
    const entry = this.#open.get(id);
    if (!entry) throw this.#refusal(id);
    const call = entry.calls[name] as ((given: typeof argument) => ReturnType<Calls[N]>) | undefined;
    if (call) return call(argument);
    throw new ReasonixError(message`Cannot execute "${name}": this question has no such call`);
  }

  /**
   * Answers a question in the name of a front end; undefined: the person left without an answer. Throws a
   * ReasonixError that says who answered when the question is closed.
   */
  answer(id: string, answer: Answer | undefined, by: string): void {
    const entry = this.#open.get(id);
    if (!entry) throw this.#refusal(id);
    const shown = isSecret(entry.opened) ? undefined : answer;
    this.#close(entry.opened, { state: "answered", by, ...defined({ answer: shown }) });
    entry.close(answer);
  }

  /** Withdraws every open question; it resolves without an answer. */
  withdraw(): void {
    for (const { opened, close } of [...this.#open.values()]) {
      this.#close(opened, { state: "withdrawn" });
      close(undefined);
    }
  }

  /** The listener gets the events after this moment, in order; what it throws is ignored. */
  subscribe(listener: (event: QuestionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Shows open and later questions at a front end, until the returned function is called. */
  attach(presenter: QuestionPresenter): () => void {
    const shown = new Map<string, { readonly question: OpenQuestion; readonly closed: AbortController }>();
    const show = (question: OpenQuestion) => {
      if (isSecret(question) && !presenter.hides) return;
      const closed = new AbortController();
      const { signal } = closed;
      const given = shownBy(presenter, question, signal);
      if (!given) return;
      shown.set(question.id, { question, closed });
      void given.catch((error) => {
        if (!signal.aborted) presenter.failed(error);
        return undefined;
      }).then((answer) => {
        if (!signal.aborted) this.answer(question.id, answer, presenter.name);
      });
    };
    const stop = this.subscribe(({ id, state, by }) => {
      const opened = this.#open.get(id)?.opened;
      if (state === "opened" && opened) return show(opened);
      const closing = shown.get(id);
      if (state === "changed" || !closing) return;
      shown.delete(id);
      closing.closed.abort();
      if (by !== undefined && by !== presenter.name) presenter.elsewhere?.(by, closing.question);
    });
    this.open.forEach(show);
    return () => {
      stop();
      for (const { closed } of shown.values()) closed.abort();
    };
  }

  #close({ id, kind }: OpenQuestion, end: Pick<QuestionEvent, "state" | "by" | "answer">): void {
    this.#open.delete(id);
    this.#closed.set(id, end.by);
    const [oldest] = this.#closed.keys();
    if (this.#closed.size > MAX_CLOSED && oldest !== undefined) this.#closed.delete(oldest);
    this.#send({ id, kind, ...end });
  }

  #refusal(id: string): ReasonixError {
    const by = this.#closed.get(id);
    return new ReasonixError(
      by !== undefined
        ? message`Cannot answer the question: it has an answer from the front end "${by}"`
        : this.#closed.has(id)
        ? message`Cannot answer the question: it was withdrawn`
        : message`Cannot answer the question "${id}": there is no such question`,
    );
  }

  #send(event: Omit<QuestionEvent, "type">): void {
    this.#events.push({ type: "question.state", ...event });
    if (this.#sending) return;
    this.#sending = true;
    for (let next = this.#events.shift(); next; next = this.#events.shift()) {
      for (const listener of [...this.#listeners]) {
        try {
          listener(next);
        } catch { /* the other front ends get it all the same */ }
      }
    }
    this.#sending = false;
  }
}

function isSecret({ kind, question }: OpenQuestion): boolean {
  return kind === "prompt" && question.secret === true;
}

/** The answer at a front end; one that throws at once fails as one that rejects. */
function shownBy(presenter: QuestionPresenter, question: OpenQuestion, signal: AbortSignal) {
  try {
    return presenter.show(question, signal);
  } catch (error) {
    return Promise.reject(error);
  }
}
