import { message, ReasonixError, type Text } from "../core/mod.ts";
import { processEnvironment } from "../path/read_env.ts";
import { parseJson, recordOf } from "../util/json.ts";
import { findProgram, runProgram } from "../util/process.ts";
import { oneLine } from "../util/terminal_text.ts";

/**
 * Variables that reach `gh` and a git that fetches: the user's login, network, keyring and files, none of the
 * keys of models and none that names another repository.
 */
const PASSED =
  /^(?:HOME|PATH|USER|LOGNAME|USERPROFILE|SYSTEMROOT|TMPDIR|TEMP|TMP|(?:LOCAL)?APPDATA|XDG_\w+|(?:https?|all|no)_proxy|SSL_CERT_\w+|DBUS_SESSION_BUS_ADDRESS|(?:GH|GITHUB)_(?:ENTERPRISE_)?TOKEN|GH_(?:HOST|REPO|CONFIG_DIR)|SSH_(?:AUTH_SOCK|AGENT_PID|ASKPASS)|DISPLAY|WAYLAND_DISPLAY|GIT_(?:ASKPASS|SSH|SSH_COMMAND|SSL_\w+|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)))$/i;

/** Variables of the user; absent: those of this process. */
export type Environment = Readonly<Record<string, string>>;

/** A request that the service refused, with the status of the answer. */
export class GitHubError extends ReasonixError {
  readonly status: number;
  /** Milliseconds after which the request may succeed; absent: it is useless to repeat it. */
  readonly retryAfterMs?: number;

  constructor(text: Text, remedy: Text, status: number, retryAfterMs?: number) {
    super(text, { remedy });
    this.status = status;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

interface GitHubOptions {
  readonly env?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** GitHub through the installed `gh`, with the login of the user. */
export class GitHub {
  /** Environment of `gh`, and of a git with the login of the user. */
  readonly environment: Environment;
  readonly #program: string;
  readonly #cwd: string;
  readonly #signal: AbortSignal | undefined;

  /** Throws a ReasonixError when `gh` is not installed. */
  constructor(cwd: string, { env = processEnvironment(), signal }: GitHubOptions) {
    const passed = Object.entries(env).filter(([name]) => PASSED.test(name));
    const [, path = ""] = passed.find(([name]) => name.toUpperCase() === "PATH") ?? [];
    const program = findProgram("gh", path, [cwd]);
    if (program === undefined) {
      throw new ReasonixError(message`Cannot find the program gh, through which pull requests are read`, {
        remedy:
          message`install it from https://cli.github.com and run \`gh auth login\`, or use --base and --head`,
      });
    }
    [this.#program, this.#cwd, this.#signal] = [program, cwd, signal];
    this.environment = Object.fromEntries(passed);
  }

  /** Returns the address of a pull request of the repository that `gh` takes the directory for. */
  async addressOf(number: number): Promise<string> {
    const { code, text, errors } = await this.#run(["pr", "view", String(number), "--json", "url"]);
    const { url } = recordOf(code === 0 ? parseJson(text) : undefined);
    if (typeof url === "string") return url;
    throw failure(message`Cannot read pull request ${number}`, { text: errors });
  }

  /** Sends a request and returns the answer where it succeeded. `purpose`: "Cannot …". */
  async post(purpose: Text, host: string, path: string, body: object): Promise<Record<string, unknown>> {
    const args = ["api", "--include", "--hostname", host, "--method", "POST", "--input", "-", path];
    const { text, errors } = await this.#run(args, JSON.stringify(body));
    const [, code, headers = "", rest = ""] =
      /^HTTP\/\S+ (\d{3})[^\n]*\n([^]*?)\r?\n\r?\n([^]*)$/.exec(text) ?? [];
    if (code === undefined) throw failure(message`Cannot reach ${host}`, { text: errors });
    const status = Number(code);
    const answer = recordOf(parseJson(rest));
    if (status < 300 && answer.errors === undefined) return answer;
    throw failure(purpose, { status, headers, text: problemOf(answer) });
  }

  /** Returns the data of an answer. */
  async graphql(
    purpose: Text,
    host: string,
    query: string,
    variables: object,
  ): Promise<Record<string, unknown>> {
    return recordOf((await this.post(purpose, host, "graphql", { query, variables })).data);
  }

  async #run(args: readonly string[], input?: string) {
    const env = { ...this.environment, NO_COLOR: "1", GH_PROMPT_DISABLED: "1", GH_NO_UPDATE_NOTIFIER: "1" };
    const options = { cwd: this.#cwd, env, input, signal: this.#signal };
    const result = await runProgram([this.#program, ...args], options);
    this.#signal?.throwIfAborted();
    return result;
  }
}

/** The sentence of a refusal. */
function problemOf({ message: text, errors }: Record<string, unknown>): string {
  const more = Array.isArray(errors)
    ? errors.map((each) => typeof each === "string" ? each : recordOf(each).message)
    : [];
  return [text, ...more].filter((each) => typeof each === "string").join(": ");
}

const WAIT_MS = 2000;

/** Makes the error of a request: what GitHub answered, and what the user can do. */
function failure(
  purpose: Text,
  { status = 0, headers = "", text }: {
    /** Absent: there was no answer. */
    readonly status?: number;
    readonly headers?: string;
    readonly text: string;
  },
): GitHubError {
  const header = (name: string) => Number(new RegExp(`^${name}: *(\\d+)`, "im").exec(headers)?.[1] ?? NaN);
  const said = /^To get started with GitHub CLI/.test(text.trim())
    ? message`gh is not signed in`
    : oneLine(text.trim().replace(/^(?:gh|GraphQL): /, ""), 300);
  const error = (remedy: Text, retryAfterMs?: number) =>
    new GitHubError(message`${purpose}: ${said || `HTTP ${status}`}`, remedy, status, retryAfterMs);
  if (status === 401 || /gh auth login|Bad credentials/.test(text) && !/known GitHub host/.test(text)) {
    return error(message`sign in with \`gh auth login\`, or set GH_TOKEN`);
  }
  if (/known GitHub host|no git remotes|not a git repository/.test(text)) {
    return error(message`add the remote of the repository on GitHub, or set GH_REPO=OWNER/NAME`);
  }
  const after = header("retry-after") * 1000;
  const isLimited = after >= 0 || header("x-ratelimit-remaining") === 0 || /rate limit/i.test(text);
  if (status === 429 || status === 403 && isLimited) {
    const reset = header("x-ratelimit-reset") * 1000 - Date.now();
    const wait = Math.max(0, [after, reset].find(Number.isFinite) ?? WAIT_MS);
    return error(message`run it again in ${Math.ceil(wait / 60_000)} min`, wait);
  }
  if (status >= 500 || status === 0 && /connect|timeout|EOF|reset/i.test(text)) {
    return error(message`run it again later`, Number.isFinite(after) ? after : WAIT_MS);
  }
  if (status === 403) return error(message`use a token with the permission "pull-requests"`);
  return error(message`check the number, and that your login (\`gh auth status\`) may read the repository`);
}
