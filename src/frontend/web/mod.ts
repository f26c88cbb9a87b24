/** The web server: its API and its page. */
export { LiveSessions } from "../session/live_session.ts";
export { SessionTexts } from "../session/texts.ts";
export { hashPassword } from "./access.ts";
export { ANSWERS } from "../session/answer_schemas.ts";
export { ROUTES } from "./schemas.ts";
export { serveWeb, type WebOptions, type WebServer } from "./server.ts";
