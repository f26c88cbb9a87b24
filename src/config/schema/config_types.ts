/** The types of the configuration, generated from keys.toml by `deno task gen`. */

/** The whole configuration, with every default filled in. Keys are those of the file. */
export type Config = {
  default_model: string;
  agent_model: string;
  vision_model: string;
  language: string;
  ui: {
    theme: "auto" | "dark" | "light" | "high-contrast" | "none";
    linear: boolean;
    reduced_motion: boolean;
    mouse: boolean;
    view: "scroll" | "full";
  };
  tui: {
    sidebar_width: number;
    show_reasoning: boolean;
    max_diff_lines: number;
    theme?: "auto" | "dark" | "light" | "high-contrast" | "none" | undefined;
  };
  instructions: string[];
  instructions_from: "repository" | "root";
  instructions_max_bytes: number;
  agent: {
    system_prompt: string;
    system_prompt_file: string;
    supplemental_prompt: string;
    turn_prompt: string;
    fallback: string[];
    max_steps: number;
    planner_max_steps: number;
    max_calls_per_step: number;
    submit: boolean;
    send_tool_choice: boolean;
    tool_list: boolean;
    environment: "message" | "system";
    time_limit_seconds: number;
    max_cost: number;
    large_input_tokens: number;
    temperature?: number | undefined;
    top_p?: number | undefined;
    reasoning_language: "auto" | "zh" | "en";
    planner_model: string;
    subagent_model: string;
    subagent_models: Record<string, string>;
    plan_mode_allowed_tools: string[];
    auto_plan: boolean;
    auto_todo: boolean;
    memory_compiler: {
      enabled: boolean;
    };
    compact_ratio?: number | undefined;
  };
  agents: {
    max_parallel: number;
    background_wait_seconds: number;
    max_depth: number;
  };
  agent_mode: {
    default_steps: number;
    output: "final" | "full" | "none";
    status: boolean;
  };
  goal: {
    max_turns: number;
    max_cost: number;
    time_limit_seconds: number;
    no_progress_turns: number;
    check_timeout_seconds: number;
    autoresearch: boolean;
  };
  tools: {
    enabled: string[];
    disabled: string[];
    bash_timeout_seconds: number;
    min_free_disk_mb: number;
    mcp_call_timeout_seconds: number;
    mcp_startup_wait_seconds: number;
    mcp_index_above_tokens: number;
    mcp_sampling_tokens: number;
    ensure_trailing_newline: boolean;
    writes: "deny" | "dry-run" | "allow";
    shell: {
      prefer: "auto" | "bash" | "powershell" | "pwsh";
      path?: string | undefined;
      pass_env: string[];
    };
    alias: Record<string, {
      tool: string;
      arguments: Record<string, string>;
      parameters: string[];
      description: string;
    }>;
  };
  skills: {
    paths: string[];
    excluded_paths: string[];
    disabled_skills: string[];
  };
  compaction: {
    auto: boolean;
    ratio: number;
    strategy: "summarize" | "prune";
    prune: boolean;
    summary_model: string;
    max_summary_tokens: number;
  };
  permissions: {
    mode: "deny" | "ask" | "allow";
    allow: string[];
    ask: string[];
    deny: string[];
    claude_settings: boolean;
  };
  sandbox: {
    bash: "enforce" | "auto" | "off";
    backend: "auto" | "podman" | "docker";
    image: string;
    container: "ephemeral" | "kept";
    workspace_root: string;
    allow_write: string[];
    forbid_read: string[];
    network: boolean;
    network_hosts: string[];
  };
  security: {
    env_keys: boolean;
  };
  safety: {
    confirm: "strict" | "normal";
    dangerous: string[];
  };
  lsp: {
    enabled: boolean;
    tools: boolean;
    servers: Record<string, {
      enabled: boolean;
      command: string;
      args: string[];
      env: Record<string, string>;
      extensions: string[];
      language_id: string;
      root_markers: string[];
      install_hint: string;
    }>;
  };
  workflow: {
    enabled: boolean;
    detect: boolean;
    lint_commands: Record<string, string[]>;
    verify_commands: Record<string, string[]>;
    test_timeout_ms: number;
    max_rounds: number;
  };
  git: {
    trailer: boolean;
  };
  log: {
    level: "off" | "error" | "warn" | "info" | "debug";
    file: string;
  };
  serve: {
    addr: string;
    auth_mode: "token" | "password" | "none";
    token: string;
    password_hash: string;
    session_hours: number;
    origin: string;
    behind_proxy: boolean;
  };
  telemetry: {
    otlp: string;
    headers: Record<string, string>;
    signals: string[];
    names: "gen_ai" | "claude_code";
    content: boolean;
  };
  providers: {
    [key: string]: unknown;
    name: string;
    kind: string;
    base_url: string;
    model?: string | undefined;
    models?: string[] | undefined;
    default?: string | undefined;
    api_key_env: string;
    api_key_command?: string | string[] | undefined;
    api_key_ttl_seconds: number;
    headers: Record<string, string>;
    proxy: string;
    ca_file: string;
    client_cert_file: string;
    client_key_file: string;
    context_window?: number | undefined;
    max_output_tokens?: number | undefined;
    price?: {
      input: number;
      output: number;
      cached_input?: number | undefined;
      cache_write?: number | undefined;
      cache_hit?: number | undefined;
      currency: string;
      date?: string | undefined;
      tiers?: {
        above: number;
        input: number;
        output: number;
        cached_input?: number | undefined;
        cache_write?: number | undefined;
      }[] | undefined;
    } | undefined;
    vision?: boolean | undefined;
    tool_mode?: "official" | "pseudo" | "none" | undefined;
    effort?: string | undefined;
    efforts?: string[] | undefined;
    temperature?: number | undefined;
    supplemental_prompt?: string | undefined;
    turn_prompt?: string | undefined;
    model_settings: Record<string, ModelSettings>;
    fallback?: string[] | undefined;
    facts: string;
    cache_ttl: "5m" | "1h";
    verbosity?: "low" | "medium" | "high" | undefined;
    reasoning_summary: "auto" | "concise" | "detailed" | "none";
    store: boolean;
    strict: boolean;
    top_p?: number | undefined;
    seed?: number | undefined;
    extra: Record<string, unknown>;
    extra_body?: Record<string, unknown> | undefined;
    first_byte_timeout_seconds: number;
    idle_timeout_seconds: number;
    max_attempts: number;
    max_wait_seconds: number;
    server?: {
      binary: string;
      model_path: string;
      draft_model_path: string;
      host: string;
      port_range: number[];
      startup_timeout_seconds: number;
      extra_flags: string[];
      log_path: string;
      cache_prompt: boolean;
      check_memory: boolean;
    } | undefined;
    cassette?: string | undefined;
    compat: {
      max_tokens_field: "max_tokens" | "max_completion_tokens";
      stream_usage: boolean;
      reasoning_field?: "reasoning_content" | "reasoning" | undefined;
      reasoning_scope: "tool_calls" | "all";
      think_tags: boolean;
      text_calls: boolean;
      system_role: "system" | "developer" | "user";
      alternate_roles: boolean;
      null_content: boolean;
      tool_name: boolean;
      parallel_tool_calls?: boolean | undefined;
      tool_choice: boolean;
      tool_images: boolean;
      effort_field: "reasoning_effort" | "reasoning.effort";
      key_header?: "x-api-key" | "authorization" | undefined;
      thinking_style?: "adaptive" | "budget" | undefined;
      thinking_field?: "thinking" | "enable_thinking" | undefined;
    };
  }[];
  plugins: {
    name: string;
    type: "stdio" | "http" | "streamable-http" | "sse";
    transport: "direct" | "provider";
    enabled: boolean;
    command: string;
    args: string[];
    env: Record<string, string>;
    cwd: string;
    url: string;
    headers: Record<string, string>;
    headers_helper: string;
    oauth?: {
      client_id: string;
      client_secret_env: string;
      scopes: string[];
      callback_port: number;
    } | undefined;
    startup_timeout_seconds: number;
    call_timeout_seconds: number;
    tool_timeout_seconds: Record<string, number>;
    enabled_tools: string[];
    disabled_tools: string[];
    aliases: Record<string, string>;
    trusted_read_only_tools: string[];
    settings: Record<string, unknown>;
    providers: string[];
  }[];
  bundles: Record<string, {
    source: string;
    ref: string;
    commit: string;
  }>;
  hooks: {
    event: string;
    matcher: string;
    command: string;
    timeout_seconds: number;
    failure: "open" | "closed";
  }[];
};

/** Settings of single models have the types of the entry. */
type ModelSettings = Partial<Pick<ProviderEntry, ModelKey>>;
type ModelKey =
  | "context_window"
  | "max_output_tokens"
  | "price"
  | "vision"
  | "tool_mode"
  | "effort"
  | "efforts"
  | "temperature"
  | "supplemental_prompt"
  | "turn_prompt"
  | "extra";

export type ProviderEntry = Config["providers"][number];
export type PluginEntry = Config["plugins"][number];
export type HookEntry = Config["hooks"][number];

/** The input of a file or of the command line: everything is optional except for names. */
export type ConfigInput = Input<Config>;

type Input<T> = T extends readonly (infer Item)[] ? Input<Item>[]
  : T extends { name: string } ? { name: string } & Partials<T>
  : T extends object ? Partials<T>
  : T;

type Partials<T> = { [Key in keyof T]?: Input<T[Key]> | undefined };
