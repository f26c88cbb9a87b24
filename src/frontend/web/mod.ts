/** The web server: its API and its page. */
export { ANSWERS, ROUTES } from "./schemas.ts";
