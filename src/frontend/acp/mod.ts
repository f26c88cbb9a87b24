/** The Agent Client Protocol, version 1: editors start the program and drive sessions over its streams. */
export { type AcpOptions, serveAcp } from "./server.ts";
export { clientFiles } from "./files.ts";
export { Updates } from "./updates.ts";
