/** A session with the people at its front ends: what needs no terminal. */
export type { Person } from "./person.ts";
export { type OpenSession, SessionHost } from "./session_host.ts";
export { executeMessage } from "./submissions.ts";
export { SessionTexts } from "./texts.ts";
