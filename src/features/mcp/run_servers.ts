import {
  cacheDirectory,
  describesServer,
  type LoadedConfig,
  loadServerEdits,
  lookUpSecret,
  pluginsOf,
  userConfigFile,
} from "../../config/mod.ts";
import { appendIfChanged, changeTools } from "../../control/mod.ts";
import { errorMessage, message, type NewEvent, newNotice } from "../../core/mod.ts";
import { detectLocale, loadTexts, type Texts } from "../../i18n/mod.ts";
import {
  type AttachedContent,
  type ContentIntake,
  loadHttpAccess,
  loadMcp,
  loadPluginList,
  loadQuestions,
  type McpQuestions,
  type McpRoot,
  type McpServers,
  namePrefix,
  type PluginInfo,
  pluginNameOf,
  type ServerChange,
  serverSpecs,
} from "../../mcp/mod.ts";
import { matchPattern, RuleSet, toPattern } from "../../rule/mod.ts";
import { serverEnvironment } from "../../sandbox/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { openInBrowser } from "../../util/network/browser.ts";
import { after, atMost } from "../../util/timer.ts";
import {
  configuredRules,
  type PluginDeps,
  type RunPlugins as RunPluginsPort,
  secretsOf,
} from "../../run/mod.ts";

type QuestionTexts = Texts["mcp_questions"];

/** Time after which a front end has drawn itself, or has its answer. */
const SOON_MS = 250;

/** Opens the MCP servers of the configuration, not started; the caller closes them. */
export async function openServers(
  { paths, loaded, guard }: Pick<PluginDeps, "paths" | "loaded" | "guard">,
  questions: McpQuestions,
  onChange: (change: ServerChange) => void,
): Promise<McpServers> {
  const { config } = loaded;
  const { buildOfPlugins, McpServers } = await loadMcp();
  const hasPlugins = config.plugins.some(pluginNameOf);
  const specs = serverSpecs(config.plugins, {
    cwd: paths.cwd,
    callSeconds: config.tools.mcp_call_timeout_seconds,
    trustedNames: config.agent.plan_mode_allowed_tools,
    plugins: hasPlugins ? (await loadPluginList()).PLUGINS : [],
    build: hasPlugins ? buildOfPlugins() : "",
  });
  const { home } = paths;
  const spawn = {
    guard,
    environment: () => environmentOf(loaded),
    plugin: async (info: PluginInfo, name: string) => {
      const { pluginStart } = await import("./plugin_start.ts");
      const entry = config.plugins.find((each) => each.name === name);
      return await pluginStart({ paths, loaded }, info, entry ? { entry } : {});
    },
  };
  const secret = (name: string) => lookUpSecret(name, loaded.keys);
  return new McpServers({
    home,
    cacheDir: cacheDirectory(paths),
    specs,
    indexAboveTokens: config.tools.mcp_index_above_tokens,
    spawn,
    questions,
    connection: async (spec) => (await loadHttpAccess()).httpAccess(spec, { home, spawn, secret }),
    onChange,
    denial: denialsOf(loaded),
  });
}

/** Finds deny rules that cover a whole server, or a resource of it. */
function denialsOf(loaded: LoadedConfig): (server: string, uri?: string) => string | undefined {
  let rules: RuleSet | undefined;
  return (name, uri) => {
    rules ??= new RuleSet({ mode: "ask", allow: [], ask: [], deny: configuredRules(loaded, "deny") });
    const tool = uri === undefined ? "" : "mcp_resource";
    const { deny } = rules.for({ tool, family: "Mcp", server: namePrefix(name) });
    const address = `${name}:${uri ?? ""}`;
    const found = deny.find(({ spec }) =>
      !spec || (spec.kind === "literal" && spec.text === address) ||
      (spec.kind === "glob" && matchPattern(toPattern(spec.raw), address) === "yes")
    );
    return found && `deny ${found.text}`;
  };
}

function environmentOf(loaded: LoadedConfig): Promise<Record<string, string>> {
  const { keyNames, heldBack, values } = secretsOf(loaded);
  return serverEnvironment({ secretNames: [...keyNames, ...heldBack], secretValues: values });
}

/** The root that servers may ask for. */
export function workspaceRoot(cwd: string): McpRoot {
  const uri = `file://${cwd.split("/").map(encodeURIComponent).join("/")}`;
  return { name: cwd.slice(cwd.lastIndexOf("/") + 1), uri };
}

/** Decides when the MCP servers of a run start, and when changed lists reach the model. */
export class RunPlugins implements RunPluginsPort {
  readonly servers: McpServers;
  readonly #deps: PluginDeps;
  readonly #texts: () => Promise<QuestionTexts>;
  /** Changes that came before there was a session to record them in. */
  #early: NewEvent[] | undefined = [];
  /** The offered tools changed: apply between steps, or with the next turn. */
  #late: "step" | "turn" | undefined;
  #warmed = false;
  /** The first request has gone out. */
  #isUnderWay = false;

  private constructor(deps: PluginDeps, servers: McpServers, texts: () => Promise<QuestionTexts>) {
    this.#deps = deps;
    this.servers = servers;
    this.#texts = texts;
  }

  get trustedReadOnly(): Set<string> {
    return this.servers.trusted;
  }

  /** Writes into the user's configuration that a tool is trusted to be read-only, or reports why not. */
  readonly saveTrust = async (tool: string): Promise<void> => {
    const { paths, loaded, recorder } = this.#deps;
    const offer = this.servers.offers().find(({ name }) => name === tool);
    if (!offer) return;
    const { server, info: { name } } = offer;
    const { setTrustedTools } = await loadServerEdits();
    const file = userConfigFile(paths);
    let why = `trusted_read_only_tools = [${JSON.stringify(name)}]`;
    try {
      if (
        describesServer(loaded, file, server) &&
        await setTrustedTools(file, server, { tools: [name], trusted: true })
      ) return;
    } catch (error) {
      why = errorMessage(error);
    }
    const text = (await this.#texts()).trustNotSaved(tool, server, why);
    await recorder.record(newNotice("warning", "mcp", text));
  };

  /** Offers what is known of the configured servers. Nothing is started. */
  static async open(deps: PluginDeps): Promise<RunPlugins> {
    const { env } = deps.paths;
    const { language } = deps.loaded.config;
    const texts = lazy(() => loadTexts("mcp_questions", detectLocale({ env, language }).locale));
    const onChange = (change: ServerChange) => plugins.#changed(change);
    const servers = await openServers(deps, serverQuestions(deps, texts), onChange);
    const plugins: RunPlugins = new RunPlugins(deps, servers, texts);
    deps.registry.setPluginTools(plugins.servers.tools());
    if (deps.options.waitForPlugins !== undefined) after(SOON_MS, () => plugins.warm());
    return plugins;
  }

  /** Before the first request of a session: starts servers without a record, and waits for them a while. */
  async settle(): Promise<void> {
    const { recorder, registry, loaded: { config, layers }, options: { waitForPlugins = true } } = this.#deps;
    const given = layers.filter(({ source }) => source === "client").flatMap(pluginsOf);
    const early = this.#early ?? [];
    this.#early = undefined;
    if (given.length > 0) {
      await recorder.record(
        newNotice(
          "info",
          "mcp",
          message`MCP servers of the client: ${given.map(({ name }) => String(name))}`,
        ),
      );
    }
    for (const event of early) await recorder.record(event);
    const met = this.servers.unknown();
    const seconds = config.tools.mcp_startup_wait_seconds;
    if (waitForPlugins && met.length > 0 && seconds > 0) await this.#await(met, seconds);
    // Tools that arrived before the first request are no change.
    if (this.#late !== undefined) registry.setPluginTools(this.servers.tools());
    this.#late = undefined;
  }

  async #await(met: ReturnType<McpServers["unknown"]>, seconds: number): Promise<void> {
    const { recorder } = this.#deps;
    const names = met.map(({ spec }) => spec.name);
    await recorder.record(
      newNotice("info", "mcp", message`Starting ${names} for the first time (waiting at most ${seconds} s)`),
    );
    await atMost(seconds * 1000, this.servers.start(met));
    await Promise.all(met.map((server) => server.overdue(seconds)));
    const slow = met.filter(({ status }) => status.state === "starting").map(({ spec }) => spec.name);
    if (slow.length === 0) return;
    const text = message`MCP: ${slow} not ready after ${seconds} s: their tools are added once they are`;
    await recorder.record(newNotice("warning", "mcp", text));
  }

  warm(): void {
    this.#warmed = true;
    void this.servers.start();
  }

  /** Between two steps: adds the tools of new servers as one declared reset. */
  async betweenSteps(): Promise<void> {
    // A model that answered at once left no time for it; the first request waits for no start.
    if (this.#isUnderWay && !this.#warmed) this.warm();
    this.#isUnderWay = true;
    if (this.#late === "step") await this.#apply();
    await this.#deps.remote?.judge();
  }

  async beforeTurn(): Promise<void> {
    if (this.#late !== undefined) await this.#apply();
  }

  resourceReader(
    handler: ContentIntake,
  ): (server: string, uri: string) => Promise<AttachedContent> | undefined {
    return (server, uri) => this.servers.has(server) ? this.servers.read(server, uri, handler) : undefined;
  }

  async close(): Promise<void> {
    await this.servers.close();
  }

  async #apply(): Promise<void> {
    const { registry, recorder } = this.#deps;
    this.#late = undefined;
    registry.setPluginTools(this.servers.tools());
    await changeTools(recorder, registry.schemas());
    const message = this.servers.instructions();
    if (message !== undefined) await appendIfChanged(recorder, message);
  }

  #changed(change: ServerChange): void {
    const { server, state, detail, tools, durationMs, listed } = change;
    if (listed) this.#late = this.#late === "step" || durationMs !== undefined ? "step" : "turn";
    const event: NewEvent = {
      type: "mcp.server",
      server,
      state,
      ...(detail === undefined ? {} : { detail }),
      ...(tools === undefined ? {} : { tools }),
      ...(durationMs === undefined ? {} : { durationMs }),
    };
    if (this.#early) this.#early.push(event);
    else void this.#deps.recorder.record(event);
  }
}

/** Answers questions of servers: the directory of the run, the user, and the session's model. */
function serverQuestions(
  { paths, loaded, recorder, provider, asker }: PluginDeps,
  texts: () => Promise<QuestionTexts>,
): McpQuestions {
  const { mcp_sampling_tokens: budget } = loaded.config.tools;
  const answers = lazy(async () => {
    const { elicitation, sampling } = await loadQuestions();
    const context = {
      asker,
      texts,
      notify: (text: string, level: "info" | "warning" = "warning") =>
        void recorder.record(newNotice(level, "mcp", text)),
      open: (address: URL) => openInBrowser(address, [paths.cwd]),
      provider,
      budget,
      record: (event: NewEvent) => recorder.record(event),
    };
    return { elicit: elicitation(context), sample: sampling(context) };
  });
  return {
    roots: () => [workspaceRoot(paths.cwd)],
    elicit: async (...question) => await (await answers()).elicit(...question),
    ...(budget > 0 ? { sample: async (...question) => await (await answers()).sample(...question) } : {}),
  };
}
