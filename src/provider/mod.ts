/** Providers of models: the interface, the kinds, retries, and cassettes. */
import { lazy } from "../util/lazy.ts";

export { type CreateOptions, createProvider } from "./create_provider.ts";
export { askOneWord, type CheckFailure, checkProvider } from "./check_provider.ts";
export type { LocalServer } from "./local/local_servers.ts";
export type { WindowFound } from "./local/local_servers.ts";
export type { RecordOptions } from "./cassette/record.ts";
export { protocolFailure } from "./errors.ts";
export type { Clock, KindOptions, ProviderDeps, ProviderKind } from "./kind.ts";
export {
  type CollectedReply,
  collectReply,
  type Embeddings,
  type ModelInfo,
  type ModelRequest,
  optionalMembers,
  type Provider,
  type ToolMode,
} from "./provider.ts";
export { effortsOf } from "./model/model_info.ts";
export { APPROVED, type RemoteServer, type RemoteServers } from "./remote/remote_server.ts";
export { factsOf, type FoundFacts, tableModels } from "./model/model_info.ts";
export { modelInfo } from "./model/model_info.ts";
export const loadModelList = lazy(() => import("./model/models_dev.ts"));
export { endpointOf, endpointUrl, networkFetch, requestHeaders } from "./wire/endpoint.ts";
export { type ReplyReader, retryAfter } from "./wire/http_stream.ts";
export { type MessageWriter, RequestBuffer } from "./wire/request_buffer.ts";
export { streamingProvider, type Wire } from "./wire/streaming_provider.ts";
export { otherVendorSources, partsFor, sendsReasoning } from "./wire/message_parts.ts";
/** The prefix of a conversation whose tools are taught in the system prompt. */
export const loadTaughtPrefix = lazy(() => import("./tool_modes/taught_form.ts"));
/** Keys that commands print; loaded where an entry has one. */
export const loadCommandKey = lazy(() => import("./network/command_key.ts"));
export const loadTextCalls = lazy(() => import("./tool_modes/call_scanner.ts"));
export const loadServerState = lazy(() => import("./managed/server_plan.ts"));
export const loadWindow = lazy(() => import("./local/local_servers.ts"));
export const loadLocalServers = lazy(() => import("./local/local_servers.ts"));
