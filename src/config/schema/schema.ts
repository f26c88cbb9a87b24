/**
 * Every key of reasonix.toml. This file is the source of the types, of schema.json (what is checked at start,
 * without loading zod), of docs/config.schema.json and of the table in docs/config.md: run `deno task gen`
 * after a change.
 */
import * as z from "zod/mini";
import { agentSchema, goalSchema } from "./agent_schema.ts";
import { hookSchema } from "./hook_schema.ts";
import { lspSchema } from "./lsp_schema.ts";
import { pluginSchema } from "./plugin_schema.ts";
import { providerSchema } from "./provider_schema.ts";
import { count, flag, key, text, texts } from "./schema_key.ts";
import { toolsSchema } from "./tools_schema.ts";
import { workflowSchema } from "./workflow_schema.ts";

/** `[agent_mode]`: several turns without a person, for runs that nobody attends. */
const agentMode = z.object({
  default_steps: key(
    count(1),
    "Turns that a run has for a task, one after the other, until the model says that it has finished.",
    { project: "ignored" },
  ),
  output: key(
    z._default(z.enum(["final", "full", "none"]), "final"),
    "What of several turns goes to standard output: the last answer, every text as it comes, or nothing.",
    { project: "ignored" },
  ),
  status: key(flag(true), "Tell the model which of its turns it is.", { project: "ignored" }),
});

const skills = z.object({
  paths: key(texts(), "Further directories with skills.", {
    expand: true,
    path: "file",
    merge: "concat",
    project: "inside",
  }),
  excluded_paths: key(texts(), "Usual skill directories to leave out.", {
    expand: true,
    path: "file",
    merge: "concat",
    project: "adds",
  }),
  disabled_skills: key(texts(), "Skills hidden by name.", { merge: "concat", project: "adds" }),
});

const compaction = z.object({
  auto: key(flag(true), "Compact when the context fills up."),
  ratio: key(
    z._default(z.number().check(z.minimum(0.1), z.maximum(0.99)), 0.8),
    "Part of the context window that triggers it.",
  ),
  strategy: key(
    z._default(z.enum(["summarize", "prune"]), "summarize"),
    "Replace old work by a summary, or drop the oldest part.",
  ),
  prune: key(flag(true), "Shorten old tool outputs first."),
  summary_model: key(text(), "Model that writes the summary; empty = the main model."),
  max_summary_tokens: key(count(0), "Maximum tokens of a summary; 0 = chosen from the context window."),
});

const permissions = z.object({
  mode: key(
    z._default(z.enum(["deny", "ask", "allow"]), "ask"),
    "Answer for writers when no rule matches.",
    { project: "stricter" },
  ),
  allow: key(texts(), "Rules of calls that are never asked about.", { merge: "concat", project: "widens" }),
  ask: key(texts(), "Rules of calls that are always asked about.", { merge: "concat", project: "adds" }),
  deny: key(texts(), "Rules of calls that never run.", { merge: "concat", project: "adds" }),
  claude_settings: key(flag(true), "Read the permission rules of a project's `.claude/settings.json` too.", {
    project: "ignored",
  }),
});

const sandbox = z.object({
  bash: key(
    z._default(z.enum(["enforce", "auto", "off"]), "auto"),
    "Jail of shell commands: refuse to run without one, use the strongest there is, or none.",
    { project: "stricter" },
  ),
  backend: key(
    z._default(z.enum(["auto", "podman", "docker"]), "auto"),
    "Jail of shell commands: the system's own, or a container. Without the container no command runs.",
    { project: "ignored" },
  ),
  image: key(text(), "Image of the container, which must be on the machine; it is never pulled.", {
    project: "ignored",
  }),
  container: key(
    z._default(z.enum(["ephemeral", "kept"]), "ephemeral"),
    "A new container for each command, or one per project that stays.",
    { project: "ignored" },
  ),
  workspace_root: key(text(), "Directory that file tools may write to; empty = the working directory.", {
    expand: true,
    path: "cwd",
    project: "inside",
  }),
  allow_write: key(texts(), "Further directories that may be written to.", {
    expand: true,
    path: "cwd",
    merge: "concat",
    project: "widens",
  }),
  forbid_read: key(texts(), "Files and directories that may not be read, listed or searched.", {
    expand: true,
    path: "cwd",
    merge: "concat",
    project: "adds",
  }),
  network: key(flag(false), "Whether jailed commands may use the network.", { project: "off" }),
  network_hosts: key(
    texts(),
    "Hosts jailed commands may reach while `network` is off; `package-registries`: those of package managers.",
    {
      merge: "concat",
      project: "widens",
    },
  ),
});

const serve = z.object({
  auth_mode: key(
    z._default(z.enum(["none", "token", "password"]), "none"),
    "Sign-in of the web page; `none` only on loopback.",
    { project: "ignored" },
  ),
  token: key(text(), "Fixed token; empty = a new one at every start.", { project: "ignored", secret: true }),
  password_hash: key(text(), "bcrypt hash of the password.", { project: "ignored", secret: true }),
  behind_proxy: key(flag(false), "Believe `X-Forwarded-*` headers of a trusted proxy.", {
    project: "ignored",
  }),
});

const ui = z.object({
  theme: key(
    z._default(z.enum(["auto", "dark", "light", "high-contrast", "none"]), "auto"),
    "Colours of the chat; `auto` asks the terminal for its background, `none` has none.",
    { project: "ignored" },
  ),
  linear: key(
    flag(false),
    "The chat for screen readers: every line is written once and nothing is written over.",
    { project: "ignored" },
  ),
  reduced_motion: key(flag(false), "Nothing on the screen moves by itself: no spinner.", {
    project: "ignored",
  }),
});

const atLeastOne = (value: number) => z._default(z.int().check(z.minimum(1)), value);

const agents = z.object({
  max_parallel: key(atLeastOne(4), "Agents that work at the same time; further ones wait.", {
    project: "lower",
  }),
  background_wait_seconds: key(
    count(600),
    "Longest wait of a run that nobody attends for agents in the background at its end; 0 = none.",
    { project: "lower" },
  ),
  max_depth: key(atLeastOne(1), "Agents below agents; 1: an agent cannot call another one.", {
    project: "lower",
  }),
});

export const configSchema = z.object({
  default_model: key(text(), "Provider name, model, or `provider/model`; empty = the first provider."),
  agent_model: key(text(), "The same for runs that nobody attends (`run`, SDKs); empty = `default_model`."),
  vision_model: key(
    text(),
    "Model, as `provider/model`, that describes images for a model that takes none; empty = nobody does.",
  ),
  language: key(text(), "Language of the interface: `en` or `zh-CN`; empty = from the environment."),
  ui: key(z.prefault(ui, {}), "How the chat looks."),
  instructions: key(texts(), "Further instruction files, globs allowed.", {
    path: "file",
    merge: "concat",
    project: "inside",
  }),
  instructions_from: key(
    z._default(z.enum(["repository", "root"]), "repository"),
    "Where the chain of instruction files begins: at the root of the repository or of the file system.",
    { project: "ignored" },
  ),
  instructions_max_bytes: key(
    count(65536),
    "Maximum bytes of all instruction files together; 0 = no limit.",
    {
      project: "lower",
    },
  ),
  agent: key(z.prefault(agentSchema, {}), "How the agent works."),
  agents: key(z.prefault(agents, {}), "Agents that work on parts of a task."),
  agent_mode: key(z.prefault(agentMode, {}), "Several turns of a run without a person in between."),
  goal: key(z.prefault(goalSchema, {}), "How long a goal is worked towards."),
  tools: key(z.prefault(toolsSchema, {}), "The built-in tools."),
  skills: key(z.prefault(skills, {}), "Where skills are found."),
  compaction: key(z.prefault(compaction, {}), "What happens when the context fills up."),
  permissions: key(z.prefault(permissions, {}), "Which calls run, ask or are refused."),
  sandbox: key(z.prefault(sandbox, {}), "What file tools and commands can reach at all."),
  security: key(
    z.prefault(
      z.object({
        env_keys: key(flag(true), "Take provider keys from the process environment too.", { project: "off" }),
      }),
      {},
    ),
    "Handling of secrets.",
  ),
  safety: key(
    z.prefault(
      z.object({
        confirm: key(
          z._default(z.enum(["strict", "normal"]), "normal"),
          "Which dangerous commands are always asked about.",
          { project: "stricter" },
        ),
        dangerous: key(
          texts(),
          "Further commands that are always asked about, as rules such as `Bash(kubectl delete:*)`.",
          { merge: "concat", project: "adds" },
        ),
      }),
      {},
    ),
    "The check for destructive commands, which no approval mode lifts.",
  ),
  lsp: key(z.prefault(lspSchema, {}), "Language servers that are installed."),
  workflow: key(z.prefault(workflowSchema, {}), "Commands that test what the agent changed."),
  serve: key(z.prefault(serve, {}), "The web page of `reasonix serve`.", { idle: "yet" }),
  providers: key(
    z._default(z.array(providerSchema), []),
    "Vendor endpoints; any entry replaces the built-in one.",
    { project: "trust" },
  ),
  plugins: key(z._default(z.array(pluginSchema), []), "MCP servers.", { project: "trust" }),
  hooks: key(z._default(z.array(hookSchema), []), "Programs run at events, those of all files.", {
    merge: "concat",
    project: "trust",
  }),
});

/** The whole configuration, with every default filled in. Keys are those of the file. */
export type Config = z.infer<typeof configSchema>;

/** The input of a file or of the command line: everything is optional. */
export type ConfigInput = z.input<typeof configSchema>;
