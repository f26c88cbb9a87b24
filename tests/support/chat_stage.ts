/** A chat with a scripted model and a terminal without a window. */
import { handOver } from "../../cli/commands/run/hand_over.ts";
import { assemble } from "../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig } from "../../src/run/mod.ts";
import type { OpenRequest } from "../../src/command/mod.ts";
import type { ConfigInput } from "../../src/config/mod.ts";
import type { Event } from "../../src/core/mod.ts";
import type { Locale } from "../../src/i18n/mod.ts";
import { Chat } from "../../src/frontend/repl/chat.ts";
import { ChatTexts } from "../../src/frontend/repl/chat_texts.ts";
import { type LiveSession, LiveSessions } from "../../src/frontend/session/live_session.ts";
import { Looks } from "../../src/frontend/repl/looks.ts";
import type { Person } from "../../src/frontend/session/person.ts";
import { type Reply, type ScriptedProvider, scriptedProvider } from "./agent_fixture.ts";
import { VirtualTerminal } from "./virtual_terminal.ts";
import { removeTree } from "./remove_tree.ts";

const LIMIT_MS = 120_000;

export interface ChatStageOptions {
  readonly replies?: readonly Reply[];
  readonly config?: ConfigInput;
  readonly first?: readonly string[];
  readonly start?: OpenRequest;
  /** The view that the flags name. */
  readonly view?: "full" | "scroll";
  readonly locale?: Locale;
  /** Colors of the theme that the configuration names. */
  readonly colors?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** The terminal joins characters to one where they are one. */
  readonly graphemes?: boolean;
  /** Can break the texts that the chat draws with each frame. */
  readonly texts?: (texts: ChatTexts) => void;
  /** Sessions and the user's configuration are files; without, nothing is kept and nothing can be saved. */
  readonly onDisk?: boolean;
  /** Variables of the environment; those of the tests when absent. */
  readonly env?: (name: string) => string | undefined;
  /** Awaited with the session before the chat attaches to it. */
  readonly beforeChat?: (live: LiveSession) => Promise<void>;
  /** Awaited before a session opens; throws the reason of a failure. */
  readonly beforeOpen?: (request: OpenRequest, person: Person) => void | Promise<void>;
}

export interface ChatStage extends AsyncDisposable {
  readonly live: LiveSession;
  /** The sessions of the program, with the one of the chat. */
  readonly sessions: LiveSessions;
  readonly terminal: VirtualTerminal;
  readonly provider: ScriptedProvider;
  readonly cwd: string;
  readonly home: string;
  /** Recorded and live events. */
  readonly events: Event[];
  /** Requests to open a session, in order. */
  readonly opened: OpenRequest[];
  /** The session that was opened last. */
  readonly assembly: () => Assembly;
  /** Sessions to resume in another front end, since drawing failed. */
  readonly gaveUp: (string | undefined)[];
  /** The exit code after the chat has ended. */
  readonly left: Promise<number>;
  /** Resolves when a condition is true; fails with the screen otherwise. */
  until(holds: () => boolean): Promise<void>;
  /** Resolves when the screen shows a text. */
  shows(text: string): Promise<void>;
  /** Lets as much time pass for overlays as one takes to accept a key, or Enter again; no other does. */
  pause(): Promise<void>;
  /** Types a text and sends it. */
  say(text: string): void;
}

export async function openChat(options: ChatStageOptions = {}): Promise<ChatStage> {
  const { replies = [], config = {}, locale = "en", columns, rows } = options;
  const { colors = false, graphemes = true, onDisk = false } = options;
  const { env = (name: string) => Deno.env.get(name) } = options;
  const made = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-chat-" }));
  // Screens show the path: it is always as long.
  const root = made.padEnd(made.lastIndexOf("-") + 17, "0");
  await Deno.rename(made, root);
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const size = { ...(columns === undefined ? {} : { columns }), ...(rows === undefined ? {} : { rows }) };
  const terminal = new VirtualTerminal({ ...size, graphemes });
  const provider = scriptedProvider(replies);
  const events: Event[] = [];
  const opened: OpenRequest[] = [];
  const assemblies: Assembly[] = [];
  const chats: Chat[] = [];
  const open = async (request: OpenRequest, person: Person): Promise<Assembly> => {
    opened.push(request);
    await options.beforeOpen?.(request, person);
    const { model: _model, effort: _effort, resume, ...rest } = request;
    const assembly = await assemble({
      ...rest,
      paths,
      ...(onDisk && resume !== undefined ? { resume } : {}),
      loaded: await loadTrustedConfig({ ...paths, flags: config, ...(onDisk ? {} : { noFiles: true }) }, {}),
      ...(onDisk ? {} : { inMemory: true }),
      provider,
      waitForPlugins: false,
      ...(person.approver ? { approver: person.approver } : {}),
      ...(person.asker ? { asker: person.asker } : {}),
    });
    assembly.controller.subscribe((event) => void events.push(event));
    assemblies.push(assembly);
    // A session may be open before there is a chat.
    await chats[0]?.configure(assembly.loaded.config.ui);
    return assembly;
  };
  const texts = await ChatTexts.load(locale);
  options.texts?.(texts);
  const gaveUp: (string | undefined)[] = [];
  const sessions = new LiveSessions({ open, texts });
  const live = sessions.begin();
  await options.beforeChat?.(live);
  let now = 0;
  const chat: Chat = new Chat({
    now: () => now,
    live,
    sessions,
    terminal,
    gaveUp: (session) => gaveUp.push(session),
    web: (options) => handOver(options, paths),
    looks: new Looks({ colors, links: false, still: true }),
    texts,
    paths,
    start: options.start ?? {},
    ...(options.view ? { view: options.view } : {}),
    first: options.first ?? [],
  });
  chats.push(chat);
  const left = chat.run().finally(() => sessions.close());
  const until = async (holds: () => boolean) => {
    const end = performance.now() + LIMIT_MS;
    while (!holds()) {
      if (performance.now() > end) throw new Error(`It never came to that:\n${terminal.text().join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  return {
    live,
    sessions,
    terminal,
    provider,
    ...paths,
    events,
    opened,
    gaveUp,
    assembly() {
      const last = assemblies.at(-1);
      if (!last) throw new Error("No session was opened");
      return last;
    },
    left,
    until,
    shows: (text) => until(() => terminal.text().some((line) => line.includes(text))),
    async pause() {
      now += 350;
      await new Promise((resolve) => setTimeout(resolve));
    },
    say(text) {
      terminal.type(text);
      terminal.press("enter");
    },
    async [Symbol.asyncDispose]() {
      terminal.hangUp("SIGTERM");
      await left;
      await removeTree(root);
    },
  };
}

/** A reply that begins, and ends only when it is stopped or released. */
export function heldReply(text: string, release: Promise<void> = new Promise(() => {})): Reply {
  return async function* (signal) {
    yield { type: "text", text };
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await Promise.race([stopped, release]);
    if (signal.aborted) yield { type: "error", error: { kind: "aborted", message: "stopped" } };
    else yield { type: "done", reason: "stop" };
  };
}
