/** The web server: its API and its page. */
export { hashPassword } from "./access.ts";
export { ANSWERS, ROUTES } from "./schemas.ts";
export { serveWeb, type WebOptions, type WebServer } from "./server.ts";
