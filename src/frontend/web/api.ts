/** The work of the routes about sessions. A GET opens none. */
import type { OpenRequest } from "../../command/mod.ts";
import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { readEnv } from "../../path/read_env.ts";
import { loadChanges, loadWorkspaceFile } from "../../reports/mod.ts";
import type { Assembly } from "../../run/mod.ts";
import * as stored from "../../session/mod.ts";
import { imageProblem } from "../../util/image/image_info.ts";
import { defined } from "../../util/json.ts";
import { atMost } from "../../util/timer.ts";
import { answerTo } from "../session/answer_schemas.ts";
import { completionsOf, type CompletionSource } from "../session/completion.ts";
import { closedSources, completionSources } from "../session/completion_sources.ts";
import type { LiveSession } from "../session/live_session.ts";
import type { SessionList } from "../session/session_list.ts";
import { changeSetting, sessionSettings } from "../session/settings.ts";
import { imagesAlone } from "../session/submissions.ts";
import { Refusal } from "./access.ts";
import { type Handlers, IMAGES } from "./schemas.ts";
import type { StreamOptions, Streams } from "./stream.ts";

interface ApiOptions extends Pick<StreamOptions, "sessions" | "texts"> {
  readonly list: SessionList;
  readonly streams: Pick<Streams, "changed" | "frontEnd" | "snapshot">;
  /** The directory of sessions that name none. */
  readonly directory: string;
}

/** Most time in ms that a request waits for work that continues without it. */
const SOON_MS = 1000;
const [WINDOW, MAX_WINDOW] = [200, 2000];

/** Returns the handlers. */
export function apiHandlers({ sessions, list, streams, directory: base, texts }: ApiOptions) {
  const knownSources = new WeakMap<LiveSession, readonly CompletionSource[]>();

  /** A session that is open here, or being opened. */
  function liveOf(id: string): LiveSession | undefined {
    return streams.frontEnd(id)?.live;
  }

  /** The name of another front end that has the session open. */
  function otherOf(id: string): string | undefined {
    const ours = streams.frontEnd(id);
    return ours?.live.frontEnds.find((each) => each !== ours)?.name;
  }

  /** A session that is open here; undefined: it is not. Throws a Refusal where there is none. */
  function liveOrStored(id: string): LiveSession | undefined {
    const live = liveOf(id);
    if (!live) pathsOf(id);
    return live;
  }

  function requireLive(id: string): LiveSession {
    const live = liveOrStored(id);
    if (live) return live;
    throw new Refusal(409, message`Cannot do that: session ${id} is not open`, message`open it first`);
  }

  function assemblyOf(id: string): Assembly {
    const { assembly } = requireLive(id);
    if (assembly) return assembly;
    throw new Refusal(409, message`Cannot do that: session ${id} is being opened`);
  }

  function pathsOf(id: string): stored.SessionPaths {
    const paths = list.paths(id);
    if (paths) return paths;
    throw missing(id);
  }

  /** The files of a session that no other program writes. */
  function freePathsOf(id: string): stored.SessionPaths {
    const paths = pathsOf(id);
    const owner = stored.sessionOwner(paths.path);
    if (!owner) return paths;
    const { texts } = new stored.SessionBusyError(id, owner);
    throw new Refusal(409, texts.message, message`end that program, or continue in a copy`);
  }

  function requestFor(id: string): OpenRequest {
    return { resume: id, directory: stored.sessionInfo(freePathsOf(id)).cwd };
  }

  /** Opens a session where it is not. */
  async function opened(id: string): Promise<LiveSession> {
    const live = liveOf(id) ?? await sessions.open(requestFor(id));
    await live.host.current();
    return live;
  }

  /** Opens a session; a question may be open then, such as whether the project is trusted. */
  async function begun(id: string, request?: OpenRequest): Promise<{ id: string }> {
    const attached = Promise.withResolvers<LiveSession>();
    const known = liveOf(id);
    if (known) attached.resolve(known);
    const opening = known?.host.current() ?? sessions.open(request ?? requestFor(id), attached.resolve);
    opening.catch(attached.reject);
    const live = await attached.promise;
    await soon(live, opening);
    return { id: live.id ?? id };
  }

  /** Waits until the work is done or asks something, but not long; its error is then shown in the session. */
  async function soon(live: LiveSession, work: Promise<unknown>): Promise<void> {
    const asked = Promise.withResolvers<void>();
    const stop = live.questions.subscribe(({ state }) => state === "opened" && asked.resolve());
    if (!live.assembly && live.questions.open.length > 0) asked.resolve();
    let isLate = false;
    work.catch((error) => {
      if (isLate) { for (const frontEnd of live.frontEnds) frontEnd.failed?.(error); }
    });
    await atMost(SOON_MS, Promise.race([work, asked.promise])).finally(stop);
    isLate = true;
  }

  async function settingsOf(id: string) {
    const { assembly } = liveOrStored(id) ?? {};
    return { settings: assembly ? await sessionSettings(assembly, texts.locale, "two") : [] };
  }

  /** The sources of the chat; those of a session that is not open need none. */
  function sourcesOf(id: string): readonly CompletionSource[] {
    const home = readEnv("HOME") ?? readEnv("USERPROFILE");
    const live = liveOf(id);
    if (!live) return closedSources({ cwd: stored.sessionInfo(pathsOf(id)).cwd, home, locale: texts.locale });
    const known = knownSources.get(live);
    if (known) return known;
    const { cwd } = assemblyOf(id);
    const commands = live.commandsOf(streams.frontEnd(id));
    const sources = completionSources({ cwd, home, commands, session: () => live.host.current() });
    knownSources.set(live, sources);
    return sources;
  }

  return {
    "GET /sessions": ({ query }) => list.page(query),
    "POST /sessions": async ({ body }) => {
      const { id = stored.newSessionId(new Date()), directory = base, copyOf, model } = body;
      if (liveOf(id) || list.paths(id)) return { id };
      const source = copyOf === undefined ? undefined : stored.sessionInfo(pathsOf(copyOf));
      const copy = source ? { resume: source.id, copy: true, directory: source.cwd } : {};
      return await begun(id, { sessionId: id, directory, ...copy, ...defined({ model }) });
    },
    "POST /sessions/:id/open": ({ params: { id = "" } }) => begun(id),
    "POST /sessions/:id/close": async ({ params: { id = "" } }) => {
      const live = liveOrStored(id);
      if (!otherOf(id)) await live?.end();
      return { id };
    },
    "PATCH /sessions/:id": async ({ params: { id = "" }, body: { title } }) => {
      const live = liveOf(id);
      if (live) {
        const { recorder } = (await live.host.current()).controller;
        await recorder.record({ type: "session.rename", title });
        await recorder.sync();
      } else (await stored.loadManage()).renameSession(freePathsOf(id).path, title);
      streams.changed(id);
      return { id };
    },
    "DELETE /sessions/:id": async ({ params: { id = "" } }) => {
      const other = otherOf(id);
      if (other) throw new Refusal(409, message`Cannot delete session ${id}: the ${other} has it open`);
      const live = liveOf(id);
      await live?.end();
      if (live && !list.paths(id)) return {};
      (await stored.loadManage()).deleteSession(freePathsOf(id));
      return {};
    },
    "GET /sessions/:id/events": async ({ params: { id = "" }, query: { before, limit = WINDOW } }) => {
      const live = liveOf(id);
      const { path } = list.paths(id) ?? {};
      // It has no file yet, or not all of it is there.
      if (live && (path === undefined || live.assembly?.session.problem !== undefined)) {
        return { events: live.history(0).filter(({ seq }) => seq < (before ?? Infinity)), first: true };
      }
      const { eventWindow } = await stored.loadWindow();
      const most = Math.max(1, Math.min(limit, MAX_WINDOW));
      const { events, first } = eventWindow(path ?? pathsOf(id).path, { before, limit: most });
      return { events: [...events], first };
    },
    "GET /sessions/:id/snapshot": async ({ params: { id = "" } }) => {
      const now = await streams.snapshot(id);
      if (now) return now;
      throw missing(id);
    },
    "POST /sessions/:id/messages": async ({ params: { id = "" }, body }) => {
      const { images = [], steer = false, text: typed, ...rest } = body;
      const isText = typed.trim() !== "";
      if (!isText && images.length === 0) {
        throw usageError(message`Cannot send an empty message`, message`write what to do`);
      }
      if (images.length > IMAGES.number) {
        throw usageError(message`Cannot send ${images.length} images: at most ${IMAGES.number} are taken`);
      }
      for (const [index, image] of images.entries()) {
        const problem = imageProblem(image, IMAGES.bytes);
        if (problem) throw usageError(message`Cannot send image ${index + 1}: ${problem}`);
      }
      const live = await opened(id);
      const { attachments: { vision }, provider: { model } } = await live.host.current();
      if (!isText && !vision) {
        throw imagesAlone(model.id);
      }
      const text = isText ? typed : images.map((_, at) => `[image ${at + 1}]`).join(" ");
      const draft = { ...defined({ ...rest, by: streams.frontEnd(id) }), text, steer, images };
      const isNew = await live.submissions.submitOnce(draft);
      return { accepted: true, ...(isNew ? {} : { repeated: true }) };
    },
    "DELETE /sessions/:id/messages/:message": ({ params: { id = "", message: sent = "" } }) => {
      const draft = liveOf(id)?.submissions.takeBack(sent);
      if (draft) return { text: draft.text };
      throw new Refusal(409, message`Cannot take the message back: it does not wait`);
    },
    "POST /sessions/:id/interrupt": ({ params: { id = "" } }) => {
      liveOrStored(id)?.submissions.stop("interrupted", streams.frontEnd(id));
      return {};
    },
    "GET /sessions/:id/questions": ({ params: { id = "" } }) => {
      return { questions: [...liveOrStored(id)?.questions.open ?? []] };
    },
    "POST /sessions/:id/questions/:question": ({ params: { id = "", question = "" }, body }) => {
      const { questions } = requireLive(id);
      const asked = questions.open.find((each) => each.id === question);
      const answer = asked && body.answer !== undefined ? answerTo(asked, body.answer) : undefined;
      refusedAs409(() => questions.answer(question, answer as never, streams.frontEnd(id)?.name ?? ""));
      return {};
    },
    "POST /sessions/:id/questions/:question/:call": async ({ params, body: { argument } }) => {
      const { id = "", question = "", call = "" } = params;
      const { questions } = requireLive(id);
      if (call === "checkRule" && typeof argument === "string") {
        const refusal = refusedAs409(() => questions.call(question, call, argument));
        if (refusal?.code !== "unreadable") return { result: refusal };
        return { result: { code: refusal.code, message: texts.of(refusal.texts.message) } };
      }
      if ((call === "preview" || call === "move") && typeof argument === "number") {
        // It may have been answered meanwhile.
        if (!questions.open.some((each) => each.id === question)) return {};
        return { result: await refusedAs409(() => questions.call(question, call, argument)) };
      }
      throw usageError(message`Cannot call "${call}" of a question with ${JSON.stringify(argument)}`);
    },
    "GET /sessions/:id/settings": ({ params: { id = "" } }) => settingsOf(id),
    "PATCH /sessions/:id/settings": async ({ params: { id = "" }, body }) => {
      const live = await opened(id);
      await soon(live, changeSetting(live, body.id, body.value, "two"));
      return await settingsOf(id);
    },
    "GET /sessions/:id/completions": async ({ params: { id = "" }, query: { text, cursor } }) => {
      const before = text.slice(0, cursor);
      const { from, items } = await completionsOf(sourcesOf(id), before);
      const entries = items.map(({ also: _, last: __, ...entry }) => entry);
      return { from, to: before.length, entries };
    },
    "GET /sessions/:id/files": async ({ params: { id = "" }, query: { path = "." } }) => {
      return await (await loadWorkspaceFile()).workspaceFile(assemblyOf(id), path);
    },
    "GET /sessions/:id/changes": async ({ params: { id = "" } }) => {
      const assembly = assemblyOf(id);
      const { isShown } = await loadWorkspaceFile();
      const { parsePatch } = await import("diff");
      const changes = await (await loadChanges()).sessionChanges(assembly);
      return {
        changes: await Promise.all(changes.map(async ({ diff, ...change }) => {
          if (diff === undefined || !await isShown(assembly, change.path)) return change;
          return { ...change, hunks: parsePatch(assembly.redact(diff))[0]?.hunks ?? [] };
        })),
      };
    },
    "GET /openapi.json": async () => {
      return (await import("./openapi.json", { with: { type: "json" } })).default;
    },
  } satisfies Partial<Handlers>;
}

function missing(id: string): Refusal {
  return new Refusal(404, message`Cannot find session "${id}"`);
}

/** A closed question refuses answers and calls. */
function refusedAs409<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ReasonixError ? new Refusal(409, error.texts.message) : error;
  }
}
