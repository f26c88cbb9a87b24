import type { Assembly, PlanReviewer } from "../../assembly/mod.ts";
import type { OpenRequest } from "../../command/mod.ts";
import { type Event, ReasonixError } from "../../core/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import type { Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import { after } from "../../util/timer.ts";

/** Thrown instead of a session: the chat ends, since it goes on in another way. */
export class ChatLeft extends Error {}

/** The person in front of the chat, as those see them who have something to ask. */
export interface Person {
  /** Absent: nobody is there to be asked. */
  readonly approver?: Approver;
  readonly asker?: Asker;
  readonly planReviewer?: PlanReviewer;
  /** Asks whether what a project brings may be used as it is now; every line says one thing. */
  readonly trust?: (lines: readonly string[], details: string) => Promise<"trust" | "ignore">;
  /** Asks whether to go on in a copy of a session that another program has open. */
  readonly copy?: (busy: { readonly pid: number | undefined }) => Promise<boolean>;
  /** Lends the terminal to a program that asks by itself. */
  readonly lend?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Says something beside the conversation. */
  say(text: string): void;
  /** The language is known for sure once the configuration is. */
  speak(locale: Locale): Promise<void>;
}

/** Time for a session that is being opened when the chat ends, in ms. */
const OPENING_MS = 1000;

/** Opens an assembly, with the person of the chat as approver and asker. */
export type OpenSession = (request: OpenRequest) => Promise<Assembly>;

/** The session of a chat: one at a time, replaced when the user goes to another or changes its model. */
export class SessionHost {
  readonly #open: OpenSession;
  readonly #sink: (event: Event) => void;
  readonly #opened: (assembly: Assembly) => void;
  #current: Promise<Assembly> | undefined;
  /** The session to begin with. */
  #first: OpenRequest = {};
  /** What the user chose in the chat; it stays when the session changes. */
  #chosen: Pick<OpenRequest, "model" | "offered" | "effort"> = {};

  /** `opened` is told of each session before its first event. */
  constructor(
    open: OpenSession,
    sink: (event: Event) => void,
    opened: (assembly: Assembly) => void = () => {},
  ) {
    this.#open = open;
    this.#opened = opened;
    this.#sink = sink;
  }

  /**
   * The session that is open; it is opened with the first question for it, and tried again with the next one
   * when it cannot be opened.
   */
  current(request: OpenRequest = this.#first): Promise<Assembly> {
    this.#first = request;
    return this.#current ??= this.#start(request).catch((error) => {
      this.#current = undefined;
      throw error;
    });
  }

  /** The session for what may do without one: none is opened for it. */
  async ifOpen(): Promise<Assembly> {
    if (this.#current) return await this.#current;
    throw new ReasonixError("Cannot look into the session: none is open");
  }

  /** A session is open, or will be. */
  get opening(): boolean {
    return this.#current !== undefined;
  }

  /** Closes the session and opens another one; the old one stays when that fails. */
  async replace(request: OpenRequest): Promise<Assembly> {
    const old = await this.#current?.catch(() => undefined);
    const { model, offered, effort } = { ...this.#chosen, ...request };
    // The lock of a session is free only once it is closed.
    const same = old && request.resume === old.session.id;
    if (same) await old[Symbol.asyncDispose]();
    const approved = old ? { approvalMode: old.modes.approval } : {};
    const next = await this.#start({ ...request, ...approved }).catch((error) => {
      if (same) this.#reopenLater(old.session.id);
      throw error;
    });
    // How far the user let the agent go does not end with a session; one with a plan goes on with that.
    if (old && next.modes.collaboration !== "plan") await next.modes.setPermission(old.modes.permission);
    this.#chosen = {
      ...(model === undefined ? {} : { model }),
      ...(offered === undefined ? {} : { offered }),
      ...(effort === undefined ? {} : { effort }),
    };
    this.#current = Promise.resolve(next);
    await old?.[Symbol.asyncDispose]();
    return next;
  }

  /** One that is still being opened may wait for somebody whose terminal is gone: that would never end. */
  async close(): Promise<void> {
    const limit = Promise.withResolvers<undefined>();
    const cancel = after(OPENING_MS, () => limit.resolve(undefined));
    const assembly = await Promise.race([this.#current?.catch(() => undefined), limit.promise]);
    cancel();
    await assembly?.[Symbol.asyncDispose]();
  }

  /** A session that was closed for what could not be opened instead goes on as it was. */
  #reopenLater(resume: string): void {
    this.#current = undefined;
    this.#first = { resume };
  }

  async #start(request: OpenRequest): Promise<Assembly> {
    const assembly = await this.#open({ ...this.#chosen, ...request });
    this.#opened(assembly);
    assembly.controller.subscribe(this.#sink);
    return assembly;
  }
}
