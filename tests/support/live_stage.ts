/** Live sessions with a scripted model, and front ends in the same process. */
import type { OpenRequest } from "../../src/command/mod.ts";
import type { ConfigInput } from "../../src/config/mod.ts";
import type { Event } from "../../src/core/mod.ts";
import { assemble } from "../../src/features/mod.ts";
import { type FrontEnd, LiveSessions, type OpenFor } from "../../src/frontend/session/live_session.ts";
import type { Person } from "../../src/frontend/session/person.ts";
import type { QuestionEvent } from "../../src/frontend/session/questions.ts";
import { SessionTexts } from "../../src/frontend/session/texts.ts";
import { realDirectory } from "../../src/path/real_path.ts";
import { loadTrustedConfig } from "../../src/run/mod.ts";
import { SessionBusyError } from "../../src/session/mod.ts";
import { type Reply, scriptedProvider } from "./agent_fixture.ts";
import { removeTree } from "./remove_tree.ts";

export interface LiveStageOptions {
  readonly replies?: readonly Reply[];
  readonly config?: ConfigInput;
  /** Called before a session is opened. */
  readonly beforeOpen?: (request: OpenRequest, person: Person) => void | Promise<void>;
}

export interface LiveStage extends AsyncDisposable {
  readonly cwd: string;
  readonly home: string;
  readonly open: OpenFor;
  readonly texts: SessionTexts;
  /** The sessions of the process; they are closed at the end. */
  readonly sessions: LiveSessions;
}

/** Sessions are files; as on the command line a busy one is a question for a copy. */
export async function liveStage(options: LiveStageOptions = {}): Promise<LiveStage> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-live-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: (name: string) => Deno.env.get(name) };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const provider = scriptedProvider(options.replies ?? []);
  const open: OpenFor = async (request, person) => {
    await options.beforeOpen?.(request, person);
    const { model: _model, effort: _effort, directory = paths.cwd, ...rest } = request;
    const cwd = realDirectory(directory, `work in ${directory}`);
    const loaded = await loadTrustedConfig({ ...paths, cwd, flags: options.config ?? {}, noFiles: true }, {});
    const { approver, asker, planReviewer } = person;
    const all = { ...rest, paths: { ...paths, cwd }, loaded, provider, waitForPlugins: false };
    const asks = {
      ...(approver ? { approver } : {}),
      ...(asker ? { asker } : {}),
      ...(planReviewer ? { planReviewer } : {}),
    };
    return await assemble({ ...all, ...asks }).catch(async (error) => {
      if (!(error instanceof SessionBusyError) || !await person.copy?.(error)) throw error;
      return await assemble({ ...all, ...asks, copy: true });
    });
  };
  const texts = await SessionTexts.load("en");
  const sessions = new LiveSessions({ open, texts });
  return {
    ...paths,
    open,
    texts,
    sessions,
    async [Symbol.asyncDispose]() {
      await sessions.close();
      await removeTree(root);
    },
  };
}

/** A front end that keeps what it is given. */
export class RecordingFrontEnd implements FrontEnd {
  readonly name: string;
  readonly events: (Event | QuestionEvent)[] = [];
  readonly said: (text: string) => void = (text) => void this.texts.push(text);
  readonly texts: string[] = [];
  readonly errors: unknown[] = [];
  readonly returnedTexts: string[] = [];
  readonly calls: string[] = [];
  readonly commands = {
    quit: () => void this.calls.push("quit"),
    draft: (text: string) => void this.calls.push(`draft ${text}`),
  };
  /** Called with each event after it is kept. */
  onEvent: (event: Event | QuestionEvent) => void = () => {};

  constructor(name: string) {
    this.name = name;
  }

  event(event: Event | QuestionEvent): void {
    this.events.push(event);
    this.onEvent(event);
  }

  opened(): void {
    this.calls.push("opened");
  }

  failed(error: unknown): void {
    this.errors.push(error);
  }

  returned(drafts: readonly { readonly text: string }[]): void {
    this.returnedTexts.push(...drafts.map(({ text }) => text));
  }
}
