import * as z from "zod/mini";
import { amount, flag, key, text, textMap, texts } from "./schema_key.ts";

const price = () => z.number().check(z.nonnegative());

const rates = {
  input: key(price(), "Price of a million input tokens."),
  output: key(price(), "Price of a million output tokens."),
  cached_input: key(
    z.optional(price()),
    "Price of a million input tokens read from the cache; absent = `input`.",
  ),
  cache_write: key(
    z.optional(price()),
    "Price of a million input tokens written to the cache; absent = `input`.",
  ),
};

/** Price per million tokens. `cache_hit` is the older name of `cached_input`. */
const priceSchema = z.object({
  ...rates,
  cache_hit: key(z.optional(price()), "Older name of `cached_input`."),
  currency: key(text("USD"), "Currency of the prices."),
  date: key(z.optional(z.string()), "Day of these prices, shown with them."),
  tiers: key(
    z.optional(
      z.array(
        z.object({
          above: key(z.int().check(z.positive()), "Input tokens above which the whole request costs this."),
          ...rates,
        }),
      ),
    ),
    "Prices of requests with a long input.",
  ),
});

/** Departures of a vendor from the reference wire format. Data, so that no code knows vendor names. */
const compatSchema = z.object({
  max_tokens_field: key(
    z._default(z.enum(["max_tokens", "max_completion_tokens"]), "max_tokens"),
    "Name of the output limit field.",
  ),
  stream_usage: key(flag(true), "Ask for usage in the stream; off for servers that refuse `stream_options`."),
  reasoning_field: key(
    z.optional(z.enum(["reasoning_content", "reasoning"])),
    "Field under which earlier reasoning is sent back; absent = not sent back.",
  ),
  reasoning_scope: key(
    z._default(z.enum(["tool_calls", "all"]), "tool_calls"),
    "Send reasoning back for answers with tool calls only, or for all.",
  ),
  think_tags: key(flag(true), "Treat `<think>…</think>` in the text as reasoning."),
  text_calls: key(
    flag(false),
    'Older way of helping models without tool calls; `tool_mode = "pseudo"` teaches them.',
  ),
  system_role: key(
    z._default(z.enum(["system", "developer", "user"]), "system"),
    "Role of the system prompt.",
  ),
  alternate_roles: key(
    flag(false),
    "User and assistant must take turns: what the user says without an answer in between is one message.",
  ),
  null_content: key(flag(true), "Send `null` (true) or an empty text with tool calls that have no text."),
  tool_name: key(flag(false), "Send `name` in tool messages."),
  parallel_tool_calls: key(
    z.optional(z.boolean()),
    "Value of `parallel_tool_calls`; absent = not sent.",
  ),
  tool_choice: key(flag(true), "Whether `tool_choice` may be sent."),
  tool_images: key(flag(true), "Results of tools may hold images; else these follow in a user message."),
  effort_field: key(
    z._default(z.enum(["reasoning_effort", "reasoning.effort"]), "reasoning_effort"),
    "Where the effort level goes.",
  ),
  key_header: key(
    z.optional(z.enum(["x-api-key", "authorization"])),
    "Header for the key at kinds `anthropic` and `google`: the vendor's own when absent, `authorization` for some gateways.",
  ),
  thinking_style: key(
    z.optional(z.enum(["adaptive", "budget"])),
    "How kind `anthropic` asks for thoughts: `adaptive` by an effort, `budget` by tokens; absent: as facts say.",
  ),
  thinking_field: key(
    z.optional(z.enum(["thinking", "enable_thinking"])),
    "Switch of thinking that the effort sets too: `thinking.type`, or `enable_thinking` with a budget.",
  ),
});

/** A server of this machine that the program starts and stops. */
const serverSchema = z.object({
  binary: key(
    text("llama-server"),
    "The program: a full path, or a name that is looked for on PATH.",
    { expand: true },
  ),
  model_path: key(text(), "Model file (GGUF); of a split one the first part.", {
    expand: true,
    path: "file",
  }),
  draft_model_path: key(text(), "Smaller model file for speculative decoding; empty = none.", {
    expand: true,
    path: "file",
  }),
  host: key(text("127.0.0.1"), "Address to listen on; anything but this machine's own is warned about."),
  port_range: key(
    z._default(z.array(z.int().check(z.positive())), [18400, 18499]),
    "First and last port to choose from.",
  ),
  startup_timeout_seconds: key(amount(600), "Time limit for loading the model; 0 = no limit."),
  extra_flags: key(texts(), "More arguments for the program, such as `-ngl`, `99`."),
  log_path: key(text(), "File for what the server says; empty = a file in the Reasonix home.", {
    expand: true,
    path: "file",
  }),
  cache_prompt: key(flag(true), "Let the server keep what it has read of a conversation."),
  check_memory: key(flag(true), "Refuse a model file that is larger than the available memory."),
});

/*
 * The `project` note of each key below is its right in an entry of a project with a key and address of the
 * user's. A key without a note counts after trust, and fails a test.
 */

/** What can be said of all models of an entry and of one; absent = as the tables of models have it. */
const modelKeys = {
  context_window: key(
    z.optional(z.int().check(z.nonnegative())),
    "Tokens the model accepts; 0 turns compaction off.",
    { project: "lower" },
  ),
  max_output_tokens: key(z.optional(z.int().check(z.positive())), "Output limit sent with every request.", {
    project: "lower",
  }),
  price: key(z.optional(priceSchema), "Prices for cost figures and `agent.max_cost`.", { project: "own" }),
  vision: key(z.optional(z.boolean()), "Whether images may be sent.", { project: "trust" }),
  tool_mode: key(
    z.optional(z.enum(["official", "pseudo", "none"])),
    "How the model calls tools: `official` (default), `pseudo` (as text that the prompt teaches), `none` (it only talks).",
    { project: "trust" },
  ),
  effort: key(
    z.optional(z.string()),
    "How much the model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or one of `efforts`.",
    { project: "any" },
  ),
  efforts: key(
    z.optional(z.array(z.string().check(z.minLength(1)))),
    "Levels that the model takes, least first, the vendor's own words included; none = it does not think.",
    { project: "trust" },
  ),
  temperature: key(z.optional(z.number()), "Sampling temperature; sent only when set.", { project: "any" }),
  supplemental_prompt: key(
    z.optional(z.string()),
    "Text added to the system prompt; `agent`, entry and model each add their own.",
    { project: "trust" },
  ),
  turn_prompt: key(
    z.optional(z.string()),
    "Text sent behind every message of the user; `agent`, entry and model each add their own.",
    { project: "trust" },
  ),
};

const modelSettings = z.object({
  ...modelKeys,
  extra: key(
    z.optional(z.record(z.string(), z.unknown())),
    "Merged into every request body as it is, over that of the entry.",
    { project: "trust" },
  ),
});

/** One vendor endpoint with one or more models: an entry of `[[providers]]`. */
export const providerSchema = z.looseObject({
  name: key(z.string().check(z.minLength(1)), "Name used in model references.", { project: "any" }),
  kind: key(
    text("openai"),
    "Wire format: `openai` (chat completions), `responses` (OpenAI), `anthropic`, `google`, `llamacpp` (a " +
      "llama-server that is started), or `replay` (a cassette).",
    { project: "trust" },
  ),
  base_url: key(text(), "Address of the API, up to but not including `/chat/completions`.", {
    expand: true,
    project: "trust",
  }),
  model: key(z.optional(z.string()), "The only model of this entry.", { project: "any" }),
  models: key(z.optional(z.array(z.string())), "The models of this entry.", { project: "any" }),
  default: key(z.optional(z.string()), "Model meant by the bare provider name; the first one when absent.", {
    project: "any",
  }),
  api_key_env: key(text(), "Name of the variable that holds the key; empty = no key is sent.", {
    project: "trust",
  }),
  api_key_command: key(
    z.optional(z.union([z.string(), z.array(z.string())])),
    "Line of the shell, or program with arguments, that prints the key; it goes before `api_key_env`.",
    { project: "trust" },
  ),
  api_key_ttl_seconds: key(
    amount(0),
    "How long a printed key is used before the command runs again; 0 = until the server refuses it.",
    { project: "trust" },
  ),
  headers: key(textMap(), "Extra request headers.", { expand: true, secret: true, project: "trust" }),
  proxy: key(
    text(),
    "Address of its proxy; `none` = none at all; empty = as the environment says, on this machine none.",
    { expand: true, secret: true, project: "trust" },
  ),
  ca_file: key(text(), "File (PEM) of a certificate authority to trust beside the usual ones.", {
    expand: true,
    path: "file",
    project: "trust",
  }),
  client_cert_file: key(text(), "File (PEM) of the certificate that this provider is shown.", {
    expand: true,
    path: "file",
    project: "trust",
  }),
  client_key_file: key(text(), "File (PEM) of the key of that certificate, without a passphrase.", {
    expand: true,
    path: "file",
    project: "trust",
  }),
  ...modelKeys,
  model_settings: key(
    z._default(z.record(z.string(), modelSettings), {}),
    "Settings of single models, by identifier; they win over those of the entry.",
  ),
  fallback: key(
    z.optional(z.array(z.string())),
    "Models that answer in place of these when they fail; absent = `agent.fallback`.",
    { project: "trust" },
  ),
  facts: key(
    text(),
    "Vendor whose table of models counts here, such as `openai` behind a gateway; empty = found by the address.",
    { project: "trust" },
  ),
  cache_ttl: key(
    z._default(z.enum(["5m", "1h"]), "5m"),
    "How long the vendor keeps what it caches, where it lets one choose; decides the price of writing.",
    { project: "trust" },
  ),
  verbosity: key(z.optional(z.enum(["low", "medium", "high"])), "How much kind `responses` is to write.", {
    project: "any",
  }),
  reasoning_summary: key(
    z._default(z.enum(["auto", "concise", "detailed", "none"]), "auto"),
    "Summaries of the reasoning that kind `responses` asks for.",
    { project: "any" },
  ),
  store: key(
    flag(false),
    "Let the server of kind `responses` keep the conversation, and send only what is new.",
    { project: "trust" },
  ),
  strict: key(flag(false), "Let kind `responses` hold the model to the exact schemas of the tools.", {
    project: "trust",
  }),
  top_p: key(z.optional(z.number()), "Nucleus sampling; sent only when set.", { project: "any" }),
  seed: key(z.optional(z.int()), "Sampling seed; sent only when set.", { project: "any" }),
  extra: key(
    z._default(z.record(z.string(), z.unknown()), {}),
    "Merged into every request body as it is.",
    { project: "trust" },
  ),
  extra_body: key(z.optional(z.record(z.string(), z.unknown())), "Older name of `extra`.", {
    project: "trust",
  }),
  first_byte_timeout_seconds: key(amount(600), "Time limit for the first byte of a reply; 0 = no limit.", {
    project: "lower",
  }),
  idle_timeout_seconds: key(amount(300), "Time limit of a silence inside a stream; 0 = no limit.", {
    project: "lower",
  }),
  max_attempts: key(z._default(z.int().check(z.positive()), 6), "Attempts in all, the first included.", {
    project: "lower",
  }),
  max_wait_seconds: key(amount(120), "Time limit of all waits between attempts together.", {
    project: "lower",
  }),
  server: key(z.optional(serverSchema), "The server of kind `llamacpp`.", { project: "trust" }),
  cassette: key(z.optional(z.string()), "Cassette file of kind `replay`.", {
    expand: true,
    path: "file",
    project: "trust",
  }),
  compat: key(z.prefault(compatSchema, {}), "How the vendor departs from the reference wire format.", {
    project: "trust",
  }),
});

export type ProviderEntry = z.infer<typeof providerSchema>;
