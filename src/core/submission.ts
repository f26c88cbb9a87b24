import type { ImagePart } from "./message.ts";

/** The user's input for one turn, after references are resolved. */
export interface UserInput {
  readonly text: string;
  /** The author: the user, or the harness that goes on by itself. Default: the user. */
  readonly origin?: "user" | "continue";
  readonly images?: readonly ImagePart[];
  /** What the harness adds behind the message. */
  readonly reminder?: string;
  /** Blocks that precede the text in the same message (file references, piped input). */
  readonly references?: readonly string[];
}

/** Answer to an approval request. */
export interface ApprovalAnswer {
  readonly allow: boolean;
  /** `project` lasts as `always` does, in this project alone. */
  readonly scope: "once" | "session" | "project" | "always";
  /** The rule that the scope covers, a proposed one or one that `checkRule` takes; absent: the exact one. */
  readonly rule?: string;
  /** Opens the network that the request names: for this call, until the session ends, or for the project. */
  readonly network?: "once" | "session" | "project";
  /** Passed on to the model with a refusal. */
  readonly note?: string;
  /** Answered in place of the user. */
  readonly by?: "hook";
  /** The turn ends with the refusal. */
  readonly stop?: true;
}

/** Everything a front end can ask of the controller. */
export type Submission =
  | { readonly type: "turn"; readonly input: UserInput }
  /** A command line of the user's own, without the model. */
  | { readonly type: "shell"; readonly command: string }
  | { readonly type: "steer"; readonly text: string }
  | { readonly type: "interrupt"; readonly reason: "interrupted" | "terminated" };
