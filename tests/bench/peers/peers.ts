/** Other agents for the terminal: the measured version, and the configuration of the scripted model. */
import { run } from "../../../scripts/process.ts";
import type { Program } from "../programs.ts";

export interface Peer {
  readonly name: string;
  /** The command, looked up in `PATH`. */
  readonly command: string;
  /** The package of npm that has it, and its version: figures of another one would be compared with these. */
  readonly npm: string;
  readonly version: string;
  /** The wire that it speaks to the model; absent: chat completions. */
  readonly kind?: "responses";
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The file of its home that names the model, and what is in it. */
  readonly config: readonly [path: string, text: (url: string) => string];
}

const TASK = "Do the task.";

const PEERS: readonly Peer[] = [
  {
    name: "pi",
    command: "pi",
    npm: "@earendil-works/pi-coding-agent",
    version: "0.74.2",
    args: ["-p", "--provider", "mock", "--model", "mock", TASK],
    env: { PI_OFFLINE: "1" },
    config: [".pi/agent/models.json", (baseUrl) => {
      const mock = { baseUrl, api: "openai-completions", apiKey: "none", models: [{ id: "mock" }] };
      return JSON.stringify({ providers: { mock } });
    }],
  },
  {
    name: "codex",
    command: "codex",
    npm: "@openai/codex",
    version: "0.169.0",
    kind: "responses",
    args: ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TASK],
    config: [
      ".codex/config.toml",
      (url) =>
        'model = "mock"\nmodel_provider = "mock"\n' +
        `[model_providers.mock]\nname = "mock"\nbase_url = "${url}"\nwire_api = "responses"\n`,
    ],
  },
  {
    name: "opencode",
    command: "opencode",
    npm: "opencode-ai",
    version: "1.18.33",
    args: ["run", "-m", "mock/mock", TASK],
    env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" },
    config: [".config/opencode/opencode.json", (baseURL) => {
      const options = { baseURL, apiKey: "none" };
      const mock = { npm: "@ai-sdk/openai-compatible", options, models: { mock: {} } };
      return JSON.stringify({ provider: { mock } });
    }],
  },
  {
    name: "Go Reasonix",
    command: "reasonix",
    npm: "reasonix",
    version: "1.38.11",
    args: ["run", TASK],
    config: [
      ".reasonix/config.toml",
      (url) =>
        'default_model = "mock"\n[[providers]]\nname = "mock"\nkind = "openai"\nmodel = "mock"\n' +
        `base_url = "${url}"\n`,
    ],
  },
];

/** The installed peers of the expected version. Reports the others to `log`. */
export async function installedPeers(log: (line: string) => void): Promise<Peer[]> {
  const found: Peer[] = [];
  for (const peer of PEERS) {
    const why = await missing(peer);
    if (why === undefined) found.push(peer);
    else log(`${peer.name} is left out: ${why}; npm install --prefix DIR ${peer.npm}@${peer.version}`);
  }
  return found;
}

async function missing({ command, version }: Peer): Promise<string | undefined> {
  const done = await run(command, { args: ["--version"] }).catch(() => undefined);
  if (done?.code !== 0) return `there is no command ${command}`;
  return done.output.includes(version) ? undefined : `${command} is another version`;
}

/** A peer as a program for a task, with its defaults except the model. */
export function peerProgram({ name, command, args, env = {}, config: [path, text] }: Peer): Program {
  return {
    name,
    command,
    task: () => ({ args, env }),
    async prepare(home, url) {
      const file = `${home}/${path}`;
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(file, text(url));
    },
  };
}
