/**
 * GitHub on a socket of this machine, for the real `gh`: pull requests, reviews and their comments. It
 * answers the REST and GraphQL requests that the program and `gh` 2.23 send. `gh` reaches it as github.com,
 * through `env`.
 */
import { makeTempDir } from "./tool_context.ts";

interface FakePull {
  readonly number: number;
  title: string;
  body: string;
  state: "OPEN" | "CLOSED" | "MERGED";
  readonly baseRefName: string;
  readonly headRefName: string;
  baseRefOid: string;
  headRefOid: string;
}

interface FakeReview {
  readonly id: string;
  readonly author: string;
  body: string;
  state: "PENDING" | "COMMENTED";
  readonly commit: string;
  readonly url: string;
}

interface FakeThread {
  readonly id: string;
  readonly review: string;
  readonly path: string;
  readonly line: number;
  readonly startLine?: number;
  readonly author: string;
  body: string;
}

interface FakeRequest {
  readonly method: string;
  readonly path: string;
  /** Name of a GraphQL operation; "" of REST. */
  readonly operation: string;
  readonly token: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

interface FakeAnswer {
  readonly status: number;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The work is done before this answer replaces the one of success. */
  readonly afterwards?: boolean;
}

export class FakeGitHub implements AsyncDisposable {
  readonly repository: string;
  readonly pulls: FakePull[] = [];
  readonly reviews: FakeReview[] = [];
  readonly threads: FakeThread[] = [];
  readonly labels: string[] = [];
  readonly requests: FakeRequest[] = [];
  /** Whose token arrives. */
  viewer = "me";
  /** Lines that a comment may be about. */
  accepts: (path: string, line: number) => boolean = () => true;
  /** Answers in place of success: the first that wants a request is taken for it and removed. */
  readonly failures: { readonly matches: (request: FakeRequest) => boolean; readonly answer: FakeAnswer }[] =
    [];
  /** Tokens that are refused. */
  readonly badTokens = new Set<string>();
  /** Environment in which `gh` talks to this server. */
  readonly env: Readonly<Record<string, string>>;
  readonly #temp: AsyncDisposable;
  readonly #server: Deno.HttpServer;
  #ids = 0;

  private constructor(repository: string, temp: { readonly path: string } & AsyncDisposable) {
    this.repository = repository;
    this.#temp = temp;
    this.env = { GH_CONFIG_DIR: temp.path, GH_TOKEN: "token-of-the-test" };
    const path = `${temp.path}/socket`;
    this.#server = Deno.serve({ path, onListen: () => {} }, (request) => this.#answer(request));
  }

  static async start(repository = "owner/project"): Promise<FakeGitHub> {
    const temp = await makeTempDir();
    await Deno.writeTextFile(`${temp.path}/config.yml`, `http_unix_socket: ${temp.path}/socket\n`);
    return new FakeGitHub(repository, temp);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await this.#temp[Symbol.asyncDispose]();
  }

  addPull(pull: Partial<FakePull> & Pick<FakePull, "number" | "baseRefOid" | "headRefOid">): FakePull {
    const made = {
      title: "A change",
      body: "",
      state: "OPEN",
      baseRefName: "main",
      headRefName: "topic",
      ...pull,
    };
    this.pulls.push(made as FakePull);
    return made as FakePull;
  }

  /** Requests that changed something, as "operation" or "METHOD path". */
  get writes(): string[] {
    return this.requests.filter(({ method, operation, json }) =>
      operation === "" ? method !== "GET" : String(json.query).trimStart().startsWith("mutation")
    ).map(({ method, path, operation }) => operation || `${method} ${path}`);
  }

  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url.replace(/^http\+unix/, "http")).pathname;
    const text = await request.text();
    const json = text === "" ? {} : JSON.parse(text);
    const operation = path === "/graphql" ? /\b(?:query|mutation)\s+(\w+)/.exec(json.query)?.[1] ?? "?" : "";
    const token = (request.headers.get("authorization") ?? "").replace(/^\w+ /, "");
    const seen: FakeRequest = { method: request.method, path, operation, token, json };
    this.requests.push(seen);
    if (this.badTokens.has(token)) return Response.json({ message: "Bad credentials" }, { status: 401 });
    const at = this.failures.findIndex(({ matches }) => matches(seen));
    const [failure] = at < 0 ? [] : this.failures.splice(at, 1);
    if (failure && !failure.answer.afterwards) return respond(failure.answer);
    const answer = operation === "" ? this.#rest(seen) : this.#graphql(seen);
    return respond(failure?.answer ?? answer);
  }

  #rest({ method, path, json }: FakeRequest): FakeAnswer {
    const found = /^\/repos\/([^/]+\/[^/]+)\/(pulls|issues)\/(\d+)(?:\/(reviews|labels)(?:\/(.+))?)?$/.exec(
      path,
    );
    if (path === "/") return { status: 200, json: {} };
    const pull = this.pulls.find(({ number }) => String(number) === found?.[3]);
    if (!found || found[1] !== this.repository || !pull) return NOT_FOUND;
    if (method === "DELETE" && found[4] === "labels") {
      const at = this.labels.indexOf(decodeURIComponent(found[5] ?? ""));
      if (at < 0) return NOT_FOUND;
      this.labels.splice(at, 1);
      return { status: 200, json: [] };
    }
    if (method === "POST" && found[4] === "reviews") return this.#review(pull, json);
    return NOT_FOUND;
  }

  // deno-lint-ignore no-explicit-any
  #review(pull: FakePull, json: any): FakeAnswer {
    if (this.reviews.some(({ author, state }) => author === this.viewer && state === "PENDING")) {
      return unprocessable("User can only have one pending review per pull request");
    }
    const comments = (json.comments ?? []) as {
      path: string;
      line: number;
      start_line?: number;
      body: string;
    }[];
    if (comments.some(({ path, line, start_line }) => !this.#fits(path, line, start_line))) {
      return unprocessable("Line could not be resolved");
    }
    if (json.event !== undefined && json.event !== "COMMENT") return unprocessable("Can not approve");
    const review = this.#addReview(
      pull,
      json.body ?? "",
      json.commit_id,
      json.event ? "COMMENTED" : "PENDING",
    );
    for (const { path, line, start_line, body } of comments) {
      this.#addThread(review.id, path, line, start_line, body);
    }
    return { status: 200, json: { id: ++this.#ids, node_id: review.id, html_url: review.url } };
  }

  #fits(path: string, line: number, start?: number): boolean {
    return this.accepts(path, line) && (start === undefined || start < line && this.accepts(path, start));
  }

  #addReview(pull: FakePull, body: string, commit: string, state: FakeReview["state"]): FakeReview {
    const id = `PRR_${++this.#ids}`;
    const url = `https://github.com/${this.repository}/pull/${pull.number}#pullrequestreview-${this.#ids}`;
    const review = { id, author: this.viewer, body, state, commit, url };
    this.reviews.push(review);
    return review;
  }

  #addThread(
    review: string,
    path: string,
    line: number,
    start: number | undefined,
    body: string,
  ): FakeThread {
    const id = `PRRC_${++this.#ids}`;
    const thread = {
      id,
      review,
      path,
      line,
      author: this.viewer,
      body,
      ...start ? { startLine: start } : {},
    };
    this.threads.push(thread);
    return thread;
  }

  #graphql({ operation, json }: FakeRequest): FakeAnswer {
    const { variables = {} } = json;
    const input = variables.input ?? variables;
    const data = (value: unknown) => ({ status: 200, json: { data: value } });
    const gone = (kind: string) =>
      graphqlError(`Could not resolve to a ${kind} with the global id of '${input.id}'`);
    if (operation === "UserCurrent") return data({ viewer: { login: this.viewer } });
    if (operation === "PullRequestCreate") {
      const number = Math.max(0, ...this.pulls.map((pull) => pull.number)) + 1;
      const { title, body, baseRefName, headRefName } = input;
      this.addPull({ number, title, body, baseRefName, headRefName, baseRefOid: "", headRefOid: "" });
      return data({ createPullRequest: { pullRequest: this.#view(number) } });
    }
    if (operation === "ReasonixEditComment") {
      const thread = this.threads.find(({ id }) => id === input.id);
      if (!thread) return gone("PullRequestReviewComment");
      thread.body = input.body;
      return data({ updatePullRequestReviewComment: { clientMutationId: null } });
    }
    if (operation === "ReasonixEditReview" || operation === "ReasonixSubmitReview") {
      const review = this.reviews.find(({ id }) => id === input.id);
      if (!review) return gone("PullRequestReview");
      review.body = input.body;
      if (operation === "ReasonixSubmitReview") review.state = "COMMENTED";
      return data({ updated: { clientMutationId: null } });
    }
    if (operation === "ReasonixDropReview") {
      const at = this.reviews.findIndex(({ id, state }) => id === input.id && state === "PENDING");
      if (at < 0) return gone("PullRequestReview");
      this.reviews.splice(at, 1);
      const kept = this.threads.filter(({ review }) => review !== input.id);
      this.threads.splice(0, Infinity, ...kept);
      return data({ deletePullRequestReview: { clientMutationId: null } });
    }
    if (operation === "ReasonixAddThread") {
      const { review, path, line, startLine, body } = input;
      // As the service does: no error, and no thread.
      if (!this.#fits(path, line, startLine ?? undefined)) {
        return data({ addPullRequestReviewThread: { thread: null } });
      }
      const { id } = this.#addThread(review, path, line, startLine, body);
      return data({ addPullRequestReviewThread: { thread: { id } } });
    }
    return this.#query(operation, variables);
  }

  #query(operation: string, variables: Readonly<Record<string, unknown>>): FakeAnswer {
    const { owner, name, repo, number, pr_number, headRefName, headBranch, states, state } = variables;
    if (`${owner}/${name ?? repo}` !== this.repository) {
      return graphqlError(`Could not resolve to a Repository with the name '${owner}/${name ?? repo}'.`);
    }
    const wanted = number ?? pr_number;
    const view = this.#view(Number(wanted));
    if (wanted !== undefined && !view) {
      return graphqlError(`Could not resolve to a PullRequest with the number of ${wanted}.`);
    }
    const branch = headRefName ?? headBranch;
    const open = (states ?? state ?? ["OPEN", "CLOSED", "MERGED"]) as readonly string[];
    const nodes = this.pulls.filter((pull) =>
      (branch === undefined || pull.headRefName === branch) && open.includes(pull.state)
    ).map((pull) => this.#view(pull.number));
    const [login = "", project = ""] = this.repository.split("/");
    const facts = {
      id: "R_1",
      name: project,
      nameWithOwner: this.repository,
      owner: { login },
      viewerPermission: "WRITE",
      defaultBranchRef: { name: "main" },
      parent: null,
      pullRequestTemplates: [],
    };
    const list = { nodes, totalCount: nodes.length, pageInfo: { hasNextPage: false, endCursor: null } };
    const pullRequest = operation === "ReasonixPullRequest" ? { ...view, ...this.#pages(variables) } : view;
    return {
      status: 200,
      json: {
        data: {
          viewer: { login: this.viewer },
          repo_000: facts,
          repository: { ...facts, pullRequests: list, ...pullRequest ? { pullRequest } : {} },
        },
      },
    };
  }

  #view(number: number): Record<string, unknown> | undefined {
    const pull = this.pulls.find((one) => one.number === number);
    return pull && {
      ...pull,
      id: `PR_${number}`,
      url: `https://github.com/${this.repository}/pull/${number}`,
      isDraft: false,
      isCrossRepository: false,
      headRepositoryOwner: { id: "U_1", login: this.repository.split("/")[0] },
    };
  }

  /** Pages are smaller than those of the service, so that a reader has to turn them. */
  #pages(variables: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const page = <T>(all: readonly T[], after: unknown, map: (one: T) => unknown) => {
      const from = Number(after ?? 0);
      const nodes = all.slice(from, from + PAGE).map(map);
      const pageInfo = { hasNextPage: from + PAGE < all.length, endCursor: String(from + PAGE) };
      return { nodes, pageInfo };
    };
    const mine = (author: string) => author === this.viewer;
    return {
      reviews: page(
        this.reviews.filter(({ author, state }) => state !== "PENDING" || mine(author)),
        variables.reviews,
        ({ id, body, state, url, author }) => ({ id, body, state, url, viewerDidAuthor: mine(author) }),
      ),
      reviewThreads: page(this.threads, variables.reviewThreads, ({ id, body, author }) => ({
        comments: { nodes: [{ id, body, viewerDidAuthor: mine(author) }] },
      })),
    };
  }
}

const PAGE = 25;

const NOT_FOUND: FakeAnswer = { status: 404, json: { message: "Not Found" } };

function unprocessable(error: string): FakeAnswer {
  return { status: 422, json: { message: "Unprocessable Entity", errors: [error] } };
}

/** An answer of GraphQL without data. */
function graphqlError(problem: string): FakeAnswer {
  return { status: 200, json: { data: null, errors: [{ type: "NOT_FOUND", message: problem }] } };
}

function respond({ status, json, headers = {} }: FakeAnswer): Response {
  return Response.json(json ?? { message: `Answer ${status}` }, { status, headers });
}

/** The installed `gh`, as `needs` wants it. */
export const HAS_GH = new Deno.Command("sh", { args: ["-c", "command -v gh"] }).outputSync().success;
