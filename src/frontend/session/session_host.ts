import type { Assembly } from "../../run/mod.ts";
import type { OpenRequest } from "../../command/mod.ts";
import { type Event, type EventSink, message, ReasonixError } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import { after } from "../../util/timer.ts";

/** Thrown instead of opening a session when the chat ends and the program continues in another way. */
export class ChatLeft extends Error {}

/** Maximum wait, in ms, for a session that is being opened when the chat ends. */
const OPENING_MS = 1000;

export type OpenSession = (request: OpenRequest) => Promise<Assembly>;

/** The session of a chat: one at a time, replaced when the user switches session or model. */
export class SessionHost {
  readonly #open: OpenSession;
  readonly #sink: (event: Event, assembly: Assembly) => ReturnType<EventSink>;
  readonly #opened: (assembly: Assembly) => void;
  #current: Promise<Assembly> | undefined;
  #first: OpenRequest = {};
  /** The user's choices in the chat; they stay when the session changes. */
  #chosen: Pick<OpenRequest, "model" | "offered" | "effort"> = {};
  /** The parts of a request that belong to the client; they stay as well. */
  #client: Pick<OpenRequest, "directory" | "roots" | "servers" | "waitForServers" | "files"> = {};

  /** `opened` is called with each session before its first event. */
  constructor(
    open: OpenSession,
    sink: (event: Event, assembly: Assembly) => ReturnType<EventSink>,
    opened: (assembly: Assembly) => void = () => {},
  ) {
    this.#open = open;
    this.#opened = opened;
    this.#sink = sink;
  }

  /** The open session; the first call opens it, and a call after a failure tries again. */
  current(request: OpenRequest = this.#first): Promise<Assembly> {
    this.#first = request;
    return this.#current ??= this.#start(request).catch((error) => {
      this.#current = undefined;
      throw error;
    });
  }

  /** The session, if it is open or being opened; rejects otherwise. */
  async ifOpen(): Promise<Assembly> {
    if (this.#current) return await this.#current;
    throw new ReasonixError(message`Cannot look into the session: none is open`);
  }

  get opening(): boolean {
    return this.#current !== undefined;
  }

  /** Replaces the session; the old one stays when the new one cannot be opened. */
  async replace(request: OpenRequest): Promise<Assembly> {
    const old = await this.#current?.catch(() => undefined);
    const { model, offered, effort } = { ...this.#chosen, ...request };
    // The lock of a session is free only once it is closed.
    const same = old && [request.resume, request.sessionId].includes(old.session.id);
    if (same) await old[Symbol.asyncDispose]();
    const approved = old ? { approvalMode: old.modes.approval } : {};
    const next = await this.#start({ ...request, ...approved }).catch((error) => {
      if (same) this.#reopenLater(request);
      throw error;
    });
    // The permission mode outlives a session; one in plan mode stays in it.
    if (old && next.modes.collaboration !== "plan") await next.modes.setPermission(old.modes.permission);
    this.#chosen = defined({ model, offered, effort });
    this.#current = Promise.resolve(next);
    await old?.[Symbol.asyncDispose]();
    return next;
  }

  /** Closes the session and opens another one, which takes nothing over. */
  async renew(request: OpenRequest): Promise<Assembly> {
    const old = await this.#current?.catch(() => undefined);
    this.#current = undefined;
    await old?.[Symbol.asyncDispose]();
    return await this.current(request);
  }

  /** Opening may wait for an answer that never comes when the terminal is gone, so the wait has a limit. */
  async close(): Promise<void> {
    const limit = Promise.withResolvers<undefined>();
    const cancel = after(OPENING_MS, () => limit.resolve(undefined));
    const assembly = await Promise.race([this.#current?.catch(() => undefined), limit.promise]);
    cancel();
    await assembly?.[Symbol.asyncDispose]();
  }

  /** The session that was closed for a failed replacement is opened again when needed. */
  #reopenLater({ resume, sessionId }: OpenRequest): void {
    this.#current = undefined;
    this.#first = defined({ resume, sessionId });
  }

  async #start(request: OpenRequest): Promise<Assembly> {
    const given = { ...this.#client, ...this.#chosen, ...request };
    const assembly = await this.#open(given);
    const { directory, roots, servers, waitForServers, files } = given;
    this.#client = defined({ directory, roots, servers, waitForServers, files });
    this.#opened(assembly);
    assembly.controller.subscribe((event) => this.#sink(event, assembly));
    return assembly;
  }
}
