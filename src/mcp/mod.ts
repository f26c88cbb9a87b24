/** MCP servers: what they offer becomes tools, prompts and resources of a run. */
import { lazy } from "../util/lazy.ts";

export {
  loadPluginList,
  type McpServerSpec,
  namePrefix,
  type PluginInfo,
  pluginNameOf,
  serverSpecs,
  type SpecContext,
  toolName,
} from "./server_spec.ts";
export type { PluginFacts } from "./plugin_process.ts";
export type { Listing, McpPromptInfo, McpResourceInfo, McpToolInfo } from "./listing.ts";
export type { McpQuestions, McpRoot } from "./connection.ts";
export type { McpServer, ServerChange, ServerStatus, ShownState } from "./server.ts";
export type { AttachedContent, ContentIntake } from "./content.ts";
export type { McpOptions, McpServers, OfferedTool, PromptEntry, ResourceEntry } from "./servers.ts";

/** The servers of a run; loaded only where one is configured. */
export const loadMcp = lazy(() => import("./servers.ts"));

/** The processes of plugins that come with the program; loaded when one starts. */
export const loadPluginProcess = lazy(() => import("./plugin_process.ts"));

/** Authenticates requests to a server; loaded when one starts. */
export const loadHttpAccess = lazy(() => import("./oauth/http_access.ts"));

export type { SignedIn, SignedInServer, SignedOut, SignInOptions } from "./oauth/sign_in.ts";

/** Signs users in at servers over HTTP, and out. */
export const loadSignIn = lazy(() => import("./oauth/sign_in.ts"));

/** Answers to questions of servers. */
export const loadQuestions = lazy(() => import("./questions.ts"));
