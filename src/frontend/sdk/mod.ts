/** The line protocol of the SDKs of Claude Code: messages and requests in, events and requests out. */
export { converse, type SdkHost, type SdkSettings } from "./conversation.ts";
