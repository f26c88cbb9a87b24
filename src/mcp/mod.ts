/** MCP servers: what they offer becomes tools, prompts and resources of a run. */
import { lazy } from "../util/lazy.ts";

export { type McpServerSpec, serverSpecs, type SpecContext } from "./server_spec.ts";
export { namePrefix, toolName } from "./listing/names.ts";
export type { Listing, McpPromptInfo, McpResourceInfo, McpToolInfo } from "./listing/listing.ts";
export type { McpQuestions, McpRoot } from "./connection/questions.ts";
export type { McpServer } from "./server.ts";
export type { ServerChange, ServerStatus, ShownState } from "./server_status.ts";
export type { AttachedContent, ContentDesk } from "./content/attached.ts";
export type { McpOptions, McpServers, OfferedTool, PromptEntry, ResourceEntry } from "./servers.ts";

/** The servers of a run; loaded only where one is configured. */
export const loadMcp = lazy(() => import("./servers.ts"));

/** What lets the program in at a server; loaded when one starts. */
export const loadHttpAccess = lazy(() => import("./oauth/http_access.ts"));

export type { SignedIn, SignInOptions } from "./oauth/sign_in.ts";
export type { SignedInServer, SignedOut } from "./oauth/sign_out.ts";

/** Signing a person in at a server over HTTP … */
export const loadSignIn = lazy(() => import("./oauth/sign_in.ts"));

/** … and out again. */
export const loadSignOut = lazy(() => import("./oauth/sign_out.ts"));

/** Questions of servers to the person, and to the session's model. */
export const loadElicitation = lazy(() => import("./questions/elicitation.ts"));
export const loadSampling = lazy(() => import("./questions/sampling.ts"));
