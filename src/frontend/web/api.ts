/** What the page and scripts ask of sessions. A GET never opens one. */
import { message, ReasonixError, type Text, usageError } from "../../core/mod.ts";
import { type CommandHost, allCommands } from "../../command/mod.ts";
import type { OpenRequest } from "../../command/mod.ts";
import { isAbsolute } from "../../path/lexical.ts";
import { isDirectory } from "../../path/probe.ts";
import { IMAGE_MIME_TYPES } from "../../path/reference_text.ts";
import { loadChanges, loadWorkspaceFile } from "../../reports/mod.ts";
import * as stored from "../../session/mod.ts";
import { attempt } from "../../util/lazy.ts";
import { imageInfo } from "../../util/image/image_info.ts";
import { atMost } from "../../util/timer.ts";
import { completionsOf, type CompletionSource } from "../session/completion.ts";
import { completionSources } from "../session/completion_sources.ts";
import type { SessionFact } from "../session/facts.ts";
import type { FrontEnd, LiveSession, LiveSessions } from "../session/live_session.ts";
import { changeSetting, sessionSettings } from "../session/settings.ts";
import type { SessionTexts } from "../session/texts.ts";
import { Refusal } from "./access.ts";
import { ANSWERS, type ApiRequest, type Handlers, IMAGES, refusedValue } from "./schemas.ts";
import { SessionList } from "./stored.ts";

/** The page as a front end of live sessions. */
export interface PageFrontEnds {
  /** The front end of a session; it attaches where it has not. */
  of(live: LiveSession): FrontEnd;
  detach(live: LiveSession): void;
  facts(live: LiveSession): readonly SessionFact[];
}

interface ApiOptions {
  readonly sessions: LiveSessions;
  /** Reasonix home. */
  readonly home: string;
  /** The directory of sessions that name none. */
  readonly directory: string;
  readonly texts: SessionTexts;
  readonly frontEnds: PageFrontEnds;
}

type Key = Exclude<keyof Handlers, `${string} /sign-${string}` | "POST /links" | "GET /server" | "GET /stream">;

/** Most time in ms that a request waits for work that continues without it. */
const SOON_MS = 1000;
const [WINDOW, MAX_WINDOW] = [200, 2000];

/** The session that a request names, as a text of the user sees it. */
interface Opening {
  readonly done: Promise<LiveSession>;
  live?: LiveSession;
}

export class Api {
  readonly list: SessionList;
  readonly #options: ApiOptions;
  /** Sessions that are being opened, which may have a question. */
  readonly #opening = new Map<string, Opening>();
  readonly #sources = new WeakMap<LiveSession, readonly CompletionSource[]>();

  constructor(options: ApiOptions) {
    this.#options = options;
    this.list = new SessionList(options);
  }

  readonly handlers: Pick<Handlers, Key> = {
    "GET /sessions": ({ query }) => this.list.page(query),
    "POST /sessions": ({ body }) => this.#create(body),
    "POST /sessions/:id/open": async ({ params: { id = "" } }) => {
      if (this.#live(id)) return { id };
      const { path } = this.list.found(id);
      return await this.#opened(id, { resume: id, directory: stored.sessionInfo(path).cwd });
    },
    "POST /sessions/:id/close": async ({ params: { id = "" } }) => {
      const live = this.#live(id);
      if (live) {
        this.#options.frontEnds.detach(live);
        await live.close();
      } else this.list.found(id);
      return { id };
    },
    "PATCH /sessions/:id": async ({ params: { id = "" }, body: { title } }) => {
      const live = this.#live(id);
      if (live) {
        const { recorder } = (await live.host.current()).controller;
        await recorder.record({ type: "session.rename", title });
        await recorder.sync();
      } else await this.#stored(id, async ({ path }) => (await stored.loadManage()).renameSession(path, title));
      return { id };
    },
    "DELETE /sessions/:id": async ({ params: { id = "" } }) => {
      const live = this.#live(id);
      if (live) {
        const other = live.frontEnds.find((each) => each !== this.#options.frontEnds.of(live));
        if (other) throw new Refusal(409, message`Cannot delete session ${id}: the ${other.name} has it open`);
        await live.end();
        if (!this.list.paths(id)) return {};
      }
      await this.#stored(id, async (paths) => (await stored.loadManage()).deleteSession(paths));
      return {};
    },
    "GET /sessions/:id/events": async ({ params: { id = "" }, query: { before, limit = WINDOW } }) => {
      const { eventWindow } = await stored.loadWindow();
      const live = this.#live(id);
      const path = live?.assembly?.session.paths.path ?? this.list.found(id).path;
      const window = { before, limit: Math.max(1, Math.min(limit, MAX_WINDOW)) };
      // A session that the disk refuses is in memory.
      if (live && (live.assembly?.session.problem !== undefined || !this.list.paths(id))) {
        return { events: live.history(0).filter(({ seq }) => seq < (before ?? Infinity)), first: true };
      }
      return eventWindow(path, window);
    },
    "GET /sessions/:id/snapshot": async ({ params: { id = "" } }) => {
      const live = this.#live(id);
      if (live) return { snapshot: live.snapshot(), facts: [...this.#options.frontEnds.facts(live)] };
      const { path } = this.list.found(id);
      const { eventWindow } = await stored.loadWindow();
      const seq = eventWindow(path, { limit: 1 }).events.at(-1)?.seq ?? 0;
      const { state = "idle", title = "", updated = "" } = this.list.entry(id) ?? {};
      const turnState = state === "working" ? "generating" : state === "waiting" ? "idle" : state;
      const empty = { calls: [], questions: [], waiting: [], steering: [] };
      return { snapshot: { seq, turnState, ...empty }, facts: [{ kind: "title", title, updated }] };
    },
    "POST /sessions/:id/messages": async ({ params: { id = "" }, body }) => {
      const { images = [], steer = false, ...rest } = body;
      requireImages(images);
      const live = await this.#open(id);
      const { attachments: { vision }, provider: { model } } = await live.host.current();
      const text = rest.text.trim() === "" ? images.map((_, at) => `[image ${at + 1}]`).join(" ") : rest.text;
      if (text === "") throw usageError(message`Cannot send an empty message`, message`write what to do`);
      if (rest.text.trim() === "" && !vision) {
        throw usageError(
          message`Cannot send images alone: ${model.id} takes none`,
          message`add a text, choose a model that takes images, or set vision_model to one that describes them`,
        );
      }
      const by = this.#options.frontEnds.of(live);
      const isNew = await live.submissions.submitOnce({ ...rest, text, images, steer, by });
      return { accepted: true, ...(isNew ? {} : { repeated: true as const }) };
    },
    "DELETE /sessions/:id/messages/:message": ({ params: { id = "", message: waiting = "" } }) => {
      const draft = this.#live(id)?.submissions.takeBack(waiting);
      if (draft) return { text: draft.text };
      throw new Refusal(409, message`Cannot take the message back: it does not wait`);
    },
    "POST /sessions/:id/interrupt": ({ params: { id = "" } }) => {
      const live = this.#live(id);
      if (live) live.submissions.stop("interrupted", this.#options.frontEnds.of(live));
      else this.list.found(id);
      return {};
    },
    "GET /sessions/:id/questions": ({ params: { id = "" } }) => {
      return { questions: [...this.#live(id)?.questions.open ?? []] };
    },
    "POST /sessions/:id/questions/:question": ({ params: { id = "", question = "" }, body: { answer } }) => {
      const live = this.#open_(id);
      const asked = live.questions.open.find((each) => each.id === question);
      if (asked && answer !== undefined) requireAnswer(asked, answer);
      const { name } = this.#options.frontEnds.of(live);
      conflict(() => live.questions.answer(question, answer as never, name));
      return {};
    },
    "POST /sessions/:id/questions/:question/:call": async ({ params, body: { argument } }) => {
      const { id = "", question = "", call = "" } = params;
      const { questions } = this.#open_(id);
      if (call === "checkRule" && typeof argument === "string") {
        const refusal = conflict(() => questions.call(question, call, argument));
        const { message: text } = refusal && "texts" in refusal ? refusal.texts : { message: undefined };
        return { result: text === undefined ? refusal : { ...refusal, message: this.#options.texts.of(text as Text) } };
      }
      if ((call === "preview" || call === "move") && typeof argument === "number") {
        return { result: await conflict(() => questions.call(question, call, argument)) };
      }
      throw new Refusal(400, message`Cannot call "${call}" with ${JSON.stringify(argument)}`);
    },
    "GET /sessions/:id/settings": async ({ params: { id = "" } }) => ({ settings: await this.#settings(id) }),
    "PATCH /sessions/:id/settings": async ({ params: { id = "" }, body }) => {
      const live = await this.#open(id);
      await this.#soon(live, changeSetting(live, body.id, body.value, "two"));
      return { settings: await this.#settings(id) };
    },
    "GET /sessions/:id/completions": async ({ params: { id = "" }, query: { text, cursor } }) => {
      const before = text.slice(0, cursor);
      const { from, items } = await completionsOf(this.#sourcesOf(id), before);
      const entries = items.map(({ insert, label, detail, more, sends }) => ({
        insert,
        label,
        ...(detail === undefined ? {} : { detail }),
        ...(more ? { more } : {}),
        ...(sends ? { sends } : {}),
      }));
      return { from, to: before.length, entries };
    },
    "GET /sessions/:id/files": async ({ params: { id = "" }, query: { path = "." } }) => {
      const { workspaceFile } = await loadWorkspaceFile();
      return await workspaceFile(this.#assembly(id), path);
    },
    "GET /sessions/:id/changes": async ({ params: { id = "" } }) => {
      const assembly = this.#assembly(id);
      const [{ sessionChanges }, { isPrivatePath }] = await Promise.all([loadChanges(), loadWorkspaceFile()]);
      const { parsePatch } = await import("diff");
      const changes = (await sessionChanges(assembly)).map(({ diff, ...change }) => {
        if (diff === undefined || isPrivatePath(change.path)) return change;
        return { ...change, hunks: parsePatch(assembly.redact(diff))[0]?.hunks ?? [] };
      });
      return { changes };
    },
    "GET /openapi.json": async () => {
      return (await import("./openapi.json", { with: { type: "json" } })).default;
    },
  };
}
