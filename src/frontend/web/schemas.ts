/** The API: one list of routes that checks requests and makes OpenAPI and docs/web-api.md. */
import { boolean, literal, number, object, optional, strictObject, string, union } from "zod/mini";
import * as z from "zod/mini";
import type { Event } from "../../core/mod.ts";
import type { Snapshot } from "../session/live_session.ts";
import type { WorkspaceFile } from "../../reports/mod.ts";
import type { OpenQuestion } from "../session/questions.ts";
import type { SessionEntry } from "../session/session_list.ts";
import type { SessionFact } from "../session/facts.ts";
import type { SessionSetting } from "../session/settings.ts";

export type { SessionEntry } from "../session/session_list.ts";
export type Role = "owner" | "viewer";

/** The request and the answer of one path. */
export interface Route {
  /** The least role that may send it; "none": without sign-in. */
  readonly role: Role | "none";
  readonly summary: string;
  readonly query?: z.ZodMiniType;
  readonly body?: z.ZodMiniType;
  /** Maximum size of the body; absent: `BODY_BYTES`. */
  readonly bytes?: number;
  /** JSON; absent: a stream of events. */
  readonly answer?: z.ZodMiniType;
  readonly status?: 201 | 202;
}

export const BODY_BYTES = 1024 * 1024;
export const IMAGES = { number: 20, bytes: 10 * 1024 * 1024 } as const;

const list = z.array;
const oneOf = z.enum;
const text = (most: number) => string().check(z.maxLength(most));
const line = (most: number) => text(most).check(z.regex(/\S/));
const open = (fields: z.core.$ZodLooseShape = {}) => z.looseObject(fields);
const isTrue = optional(literal(true));
const [maybe, maybeTrue] = [optional(string()), optional(boolean())];

/** Adds an explanation to a schema. */
function about<T extends z.ZodMiniType>(schema: T, words: string): T {
  return schema.check(z.describe(words)) as T;
}

/** A shape that other code has the type of. */
function typed<T>(schema: z.ZodMiniType, words: string): z.ZodMiniType<T> {
  return about(schema, words) as z.ZodMiniType<T>;
}

/** A number in a query. */
const count = (words: string) => about(optional(z.coerce.number().check(z.nonnegative(), z.int())), words);

type Names<T extends string> = T extends `${infer First} ${infer Rest}` ? First | Names<Rest> : T;
/** Fields of one type, named in one text. */
const all = <T extends string, S extends z.ZodMiniType>(names: T, schema: S) =>
  Object.fromEntries(names.split(" ").map((name) => [name, schema])) as Record<Names<T>, S>;

const none = object({});
const id = object({ id: string() });
const role = oneOf(["owner", "viewer"]);
const clientId = about(
  string().check(z.regex(/^[0-9A-Za-z][\w-]{7,63}$/)),
  "Made by the client: 8 to 64 letters, digits, _ and -. A request that is sent again with it counts once.",
);

const event = typed<Event>(
  open({ ...all("v seq", number()), ...all("time type", string()) }),
  "docs/events.md",
);
const question = typed<OpenQuestion>(
  open({ ...all("id kind", string()), question: open(), called: boolean() }),
  "A question that waits for its answer; `called`: a command of the user asks it.",
);
const snapshot = typed<Snapshot>(
  open({
    seq: number(),
    turnState: string(),
    message: optional(open({ step: number(), text: string() })),
    calls: list(open(all("callId name tail", string()))),
    questions: list(question),
    ...all("waiting steering", list(z.unknown())),
  }),
  "The part of a session that no stored event holds yet; it includes the events up to `seq`.",
);
const fact = typed<SessionFact>(open({ kind: string() }), "Settings, commands, usage, title or details.");
const sessionEntry = typed<SessionEntry>(
  object({
    ...all("id title directory updated", string()),
    state: oneOf(["working", "waiting", "done", "failed", "idle"]),
    ...all("live elsewhere", boolean()),
    cost: optional(object({ amount: number(), currency: string() })),
  }),
  "`live`: this server has it open; `elsewhere`: another program has, so that it can only be read here.",
);
const setting = typed<SessionSetting>(
  object({
    ...all("id name current", string()),
    choices: list(object({ ...all("value name", string()), ...all("description group", maybe) })),
  }),
  "A setting and its values.",
);
const settings = object({ settings: list(setting) });
const marks = all("more sends", maybeTrue);
const completion = object({ ...all("insert label", string()), detail: maybe, ...marks });
const namedKind = object(all("name kind", string()));
const file = typed<WorkspaceFile>(
  union([
    object({ kind: literal("file"), text: string(), language: optional(string()), truncated: isTrue }),
    object({ kind: literal("image"), mime: string(), data: about(string(), "Base64.") }),
    object({ kind: literal("directory"), entries: list(namedKind), truncated: isTrue }),
  ]),
  "A text, an image or a directory.",
);
const lines = about(list(string()), "Each begins with a blank, + or -.");
const hunk = object({ ...all("oldStart oldLines newStart newLines", number()), lines });
const change = object({
  path: string(),
  action: oneOf(["create", "update", "delete"]),
  ...all("added removed", number()),
  hunks: about(optional(list(hunk)), "Absent where there is no text, or the earlier content was not kept."),
});

const by =
  <R extends Route["role"]>(role: R) =>
  <const T extends Omit<Route, "role" | "summary">>(summary: string, rest: T) => ({ role, summary, ...rest });
const [anyone, viewer, owner] = [by("none"), by("viewer"), by("owner")];

/** The routes, by method and path below /api/v1. */
export const ROUTES = {
  "GET /server": anyone("Describes the server; without sign-in only `build` and `auth`.", {
    answer: object({
      build: string(),
      auth: oneOf(["token", "none", "password"]),
      role: optional(role),
      ...all("version locale directory", maybe),
      configured: maybeTrue,
    }),
  }),
  "POST /sign-in": anyone("Exchanges the token of a link, or the password, for a secret that expires.", {
    body: strictObject(all("token password", optional(text(1_000)))),
    bytes: 8 * 1024,
    answer: object({ secret: string(), role, expires: string() }),
  }),
  "POST /sign-out": viewer("Revokes the secret of this browser.", { answer: none }),
  "POST /links": owner("Makes a link that signs in one browser.", {
    body: strictObject({ role, session: optional(text(100)) }),
    answer: object({ url: string(), qr: about(list(string()), "Rows of a QR code, dark modules as 1.") }),
  }),
  "GET /sessions": viewer("Lists the sessions of all projects, latest change first.", {
    query: strictObject({
      query: about(optional(text(200)), "A part of the title or of the first message."),
      directory: about(optional(text(4_096)), "Only sessions of this directory."),
      cursor: about(optional(text(100)), "`next` of the answer before."),
    }),
    answer: object({ sessions: list(sessionEntry), next: maybe }),
  }),
  "POST /sessions": owner("Begins a session, or continues in a copy of one.", {
    body: strictObject({
      id: optional(clientId),
      directory: about(optional(text(4_096)), "An absolute path; absent: the directory of the server."),
      copyOf: about(optional(text(100)), "The session to copy."),
      model: optional(line(200)),
    }),
    answer: id,
    status: 201,
  }),
  "POST /sessions/:id/open": owner("Opens a session.", { answer: id }),
  "POST /sessions/:id/close": owner("Closes a session unless another front end has it open.", { answer: id }),
  "PATCH /sessions/:id": owner("Names a session.", { body: strictObject({ title: line(200) }), answer: id }),
  "DELETE /sessions/:id": owner("Deletes a session and everything kept for it.", { answer: none }),
  "GET /sessions/:id/events": viewer("Returns a part of the history that begins with a whole message.", {
    query: strictObject({
      before: count("It ends before the event with this seq; absent: with the newest."),
      limit: count("Most events, unless a message has more: 200 when absent, at most 2000."),
    }),
    answer: object({ events: list(event), first: about(boolean(), "Nothing comes before it.") }),
  }),
  "GET /sessions/:id/snapshot": viewer("Returns what happens now, and facts about the session.", {
    answer: object({ snapshot, facts: list(fact) }),
  }),
  "POST /sessions/:id/messages": owner("Sends a message.", {
    body: strictObject({
      id: clientId,
      text: about(text(1_000_000), "`/name` is a command, `!line` a shell command, `# fact` a fact to save."),
      images: optional(list(strictObject({ mime: string(), data: about(string(), "Base64.") }))),
      references: about(optional(list(text(1_000_000))), "Texts that go before the message."),
      steer: about(maybeTrue, "Into the running turn instead of after it."),
      pasted: about(maybeTrue, "It begins with pasted text: a /, ! or # there is text."),
    }),
    bytes: 64 * 1024 * 1024,
    answer: object({ accepted: literal(true), repeated: about(isTrue, "It was accepted before.") }),
    status: 202,
  }),
  "DELETE /sessions/:id/messages/:message": owner("Takes back a message that waits.", {
    answer: object({ text: string() }),
  }),
  "POST /sessions/:id/interrupt": owner("Stops the turn.", { answer: none }),
  "GET /sessions/:id/questions": viewer("Lists the open questions.", {
    answer: object({ questions: list(question) }),
  }),
  "POST /sessions/:id/questions/:question": owner("Answers a question; 409 says who answered it before.", {
    body: strictObject({ answer: about(optional(z.unknown()), "By kind; absent: leaves it unanswered.") }),
    answer: none,
  }),
  "POST /sessions/:id/questions/:question/:call": owner("Calls checkRule, preview or move of a question.", {
    body: strictObject({ argument: union([text(2_000), number()]) }),
    answer: object({ result: optional(z.unknown()) }),
  }),
  "GET /sessions/:id/settings": viewer("Returns the settings and their values.", { answer: settings }),
  "PATCH /sessions/:id/settings": owner("Changes a setting; model and effort after the running turn.", {
    body: strictObject({ id: text(100), value: text(1_000) }),
    answer: settings,
  }),
  "GET /sessions/:id/completions": owner("Completes a message at the cursor, as the chat does.", {
    query: strictObject({ text: text(100_000), cursor: count("Absent: the end of the text.") }),
    answer: object({
      ...all("from to", number()),
      entries: about(list(completion), "Each replaces that part."),
    }),
  }),
  "GET /sessions/:id/files": viewer("Returns a file or directory that the session may read.", {
    query: strictObject({ path: about(optional(text(4_096)), "Relative to the session's directory.") }),
    answer: file,
  }),
  "GET /sessions/:id/changes": viewer("Returns the files that the session has changed.", {
    answer: object({ changes: list(change) }),
  }),
  "GET /stream": viewer("Streams stored events after those given, a snapshot, then live events.", {
    query: strictObject({ session: about(optional(list(text(200))), "`ID@SEQ` for each session.") }),
  }),
  "GET /openapi.json": viewer("Describes this API by OpenAPI 3.1.", { answer: open({ openapi: string() }) }),
} satisfies Record<string, Route>;

export type RouteKey = keyof typeof ROUTES;
type Of<K extends RouteKey, F extends "query" | "body" | "answer"> = (typeof ROUTES)[K] extends
  Readonly<Record<F, infer S extends z.ZodMiniType>> ? z.infer<S> : undefined;

/** A request whose query and body were checked. */
export interface ApiRequest<K extends RouteKey = RouteKey> {
  /** The parts of the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Of<K, "query">;
  readonly body: Of<K, "body">;
}
export type ApiAnswer<K extends RouteKey> = Of<K, "answer">;
type Awaitable<T> = T | Promise<T>;
export type Handlers<Caller = unknown, K extends RouteKey = RouteKey> = {
  readonly [P in K]: (request: ApiRequest<P> & Caller) => Awaitable<ApiAnswer<P> | Response>;
};
