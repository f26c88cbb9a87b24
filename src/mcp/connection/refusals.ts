/**
 * Errors of a connection that decide what a server does next, apart from the connection itself, which is
 * loaded with the first server that starts.
 */
import { ReasonixError } from "../../core/mod.ts";

/** The server wants to know who is there, and only a person can say so. */
export class SignInNeeded extends ReasonixError {
  override readonly name = "SignInNeeded";
}

/** Why a server that lets nobody in cannot be used. */
export const SIGN_IN = "it wants you to sign in";

/** The server was gone before a message reached it, so the message had no effect. */
export class UndeliveredError extends ReasonixError {
  constructor() {
    super("The server has ended");
  }
}

/** The server speaks the newer era, as it said only after it had been greeted in the older way. */
export class AnsweredLate extends ReasonixError {}

/** An answer over HTTP that is no success, as the SDK reports it. */
export interface HttpRefusal extends Error {
  readonly status: number;
  readonly statusText?: string;
  readonly data?: { readonly text?: unknown };
}

/** The status of the answer that an explained error is about. */
export function statusOf(error: unknown): number | undefined {
  return causes(error).find(isRefusal)?.status;
}

/** An error and what caused it, the outermost first. */
export function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < 8; one = one.cause) chain.push(one);
  return chain;
}

export function isRefusal(error: Error): error is HttpRefusal {
  return "status" in error && typeof error.status === "number";
}

/** The program of a server is not installed: only the user can change that, so it is not started again. */
export class MissingProgramError extends ReasonixError {}
