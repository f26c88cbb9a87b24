/** The Agent Client Protocol, version 1: editors start the program and drive sessions over its streams. */
export { LiveSessions } from "../session/live_session.ts";
export { SessionTexts } from "../session/texts.ts";
export { type AcpOptions, serveAcp } from "./server.ts";
