import { loadRunConfig, runOptions } from "./config.ts";
import type { ChatFlags, RunFlags } from "../../run_flags.ts";
import { languageNotice, languageOf, textsFor } from "../../terminal/language.ts";
import { type CliContext, runPaths } from "../../terminal/process.ts";
import { assemble } from "../../../src/features/mod.ts";
import type { Assembly, AssemblyOptions, TrustOptions } from "../../../src/run/mod.ts";
import type { OpenRequest } from "../../../src/command/mod.ts";
import { type LoadedConfig, requireProvider, unnamedProvider } from "../../../src/config/mod.ts";
import { message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import { isClaudeMode, type Person } from "../../../src/frontend/mod.ts";
import { isAbsolute } from "../../../src/path/lexical.ts";
import { trustDetails, trustLines } from "../../../src/trust/mod.ts";
import { defined } from "../../../src/util/json.ts";

export type OpenChat = (request: OpenRequest, person: Person) => Promise<Assembly>;

/**
 * Opens sessions, in the directory of the request or else that of the flags. The configuration is read again
 * for each, so that corrections count; notices and questions are shown once for each directory.
 * `configured` receives the configuration before it is used; what it throws ends that.
 */
export function chatOpener(
  context: CliContext,
  flags: ChatFlags & { readonly program?: "acp" | "web" },
  configured: (loaded: LoadedConfig) => unknown = () => {},
): OpenChat {
  const shown = new Set<string>();
  const ignored = new Set<string>();
  return async (request, person) => {
    const { model, offered, effort, approvalMode = approvalModeOf(flags), ...rest } = request;
    const { directory, roots = [], servers, waitForServers = !Deno.stdin.isTerminal(), ...session } = rest;
    for (const path of [...directory === undefined ? [] : [directory], ...roots]) requireAbsolute(path);
    const paths = runPaths(context, directory ?? flags.dir);
    const notify = (text: string | undefined) => {
      const id = `${paths.cwd}\n${text}`;
      if (text === undefined || shown.has(id)) return;
      shown.add(id);
      person.say(`· ${text}`);
    };
    const given: RunFlags = {
      ...flags,
      outputFormat: "text",
      ignoreUntrusted: flags.ignoreUntrusted || ignored.has(paths.cwd),
      ...(roots.length > 0 ? { addDir: [...flags.addDir ?? [], ...roots] } : {}),
      ...defined({ model, effort }),
    };
    const decide: TrustOptions["decide"] = person.trust && (async (items) => {
      const { trust } = await textsFor("overlay", context);
      const answer = await person.trust?.(trustLines(items, trust), trustDetails(items)) ?? "ignore";
      if (answer === "ignore") ignored.add(paths.cwd);
      return answer;
    });
    const load = async () => {
      const loaded = await loadRunConfig(paths, { ...given, decide, offered, servers });
      await person.speak(languageOf(context, loaded).locale);
      await configured(loaded);
      return loaded;
    };
    const loaded = await withProvider(await load(), { context, person, load });
    notify(await languageNotice(context, loaded));
    notify(await requireProvider(loaded, languageOf(context, loaded).locale));
    const { continue: _continue, resume: _resume, copy: _copy, ...options } = runOptions(given);
    const open = (request: typeof session) =>
      planningAgain(flags, {
        program: "chat",
        ...options,
        ...request,
        ...(flags.permissionMode === "dontAsk" || !person.approver ? {} : { approver: person.approver }),
        ...defined({ asker: person.asker, planReviewer: person.planReviewer, approvalMode }),
        // A person who types waits for no server; lines of a script would go without its tools.
        waitForPlugins: waitForServers,
        messagesLater: true,
        paths,
        loaded,
      });
    return await open(session).catch(async (error) => {
      const { SessionBusyError } = await import("../../../src/session/mod.ts");
      if (!(error instanceof SessionBusyError) || !person.copy) throw error;
      if (await person.copy(error)) return await open({ ...session, copy: true });
      // Where the person was asked there may be no flag.
      const remedy = message`end that process, or continue in a copy`;
      throw new ReasonixError(error.texts.message, { remedy, cause: error });
    });
  };
}

function requireAbsolute(path: string): void {
  if (isAbsolute(path)) return;
  throw usageError(
    message`Cannot open a session in "${path}": the path is relative`,
    message`name the directory with its absolute path`,
  );
}

/** Assembles a session; one that was left in plan mode is in it again, unless the flags say otherwise. */
async function planningAgain({ permissionMode }: ChatFlags, options: AssemblyOptions): Promise<Assembly> {
  const assembly = await assemble(options);
  const isLeft = assembly.session.state.collaboration === "plan" && permissionMode === undefined;
  if (isLeft) await assembly.modes.setCollaboration("plan");
  return assembly;
}

interface SetupDeps {
  readonly context: CliContext;
  readonly person: Person;
  readonly load: () => Promise<LoadedConfig>;
}

/** Without a configured provider, runs the setup wizard first. */
async function withProvider(
  loaded: LoadedConfig,
  { context, person, load }: SetupDeps,
): Promise<LoadedConfig> {
  const unnamed = unnamedProvider(loaded);
  if (!unnamed || unnamed.key === "environment") return loaded;
  return await setUpAt(context, person) ? await load() : loaded;
}

/** Runs the setup wizard where a person is; false: nothing was saved. */
export async function setUpAt(
  context: CliContext,
  { lend, questions, say }: Pick<Person, "lend" | "questions" | "say">,
): Promise<boolean> {
  if (!lend && !questions) return false;
  const { setUp } = await import("../../setup/wizard.ts");
  if (lend) return await lend(() => setUp(context, { inChat: true }));
  return questions !== undefined && await setUp(context, { inChat: true, person: { questions, say } });
}

/** Claude Code's names of permission modes say who approves as well. */
function approvalModeOf({ approvalMode, permissionMode }: ChatFlags): ChatFlags["approvalMode"] {
  if (approvalMode !== undefined || permissionMode === undefined || !isClaudeMode(permissionMode)) {
    return approvalMode;
  }
  return ({ auto: "auto", bypassPermissions: "yolo" } as const)[permissionMode as "auto"];
}
