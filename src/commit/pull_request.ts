import { message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import { type Change, entries, firstLine, Git, openRepository, readChange } from "../git/mod.ts";
import type { Assembly } from "../run/mod.ts";
import { listSessions, loadEvents, projectDir } from "../session/mod.ts";
import { isRecord, parseJson, recordOf } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";
import { type ProgramResult, runProgram } from "../util/process.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";
import { userText } from "../util/user_text.ts";
import prompt from "./pull_request.md" with { type: "text" };
import {
  changeText,
  cleanMessage,
  cut,
  edited,
  KeptText,
  material,
  runForUser,
  userEnvironment,
  userProgram,
  type WritingOptions,
  writtenBy,
} from "./writing.ts";

export interface PullRequestOptions extends WritingOptions {
  /** Absent: the default branch of the remote. */
  readonly base?: string | undefined;
  readonly draft: boolean;
}

/** A repository at its host. */
export interface RemoteAddress {
  readonly host: string;
  /** "owner/name"; with subgroups at GitLab. */
  readonly path: string;
}

interface Remote {
  readonly name: string;
  readonly url: string;
  /** Absent: the remote is a directory. */
  readonly address: RemoteAddress | undefined;
}

/** A branch and where its pull request goes. */
interface Branch {
  readonly git: Git;
  readonly top: string;
  readonly head: string;
  /** Undefined: the default branch, or none, is checked out, and a new one is to be made. */
  readonly name: string | undefined;
  readonly checkedOut: string | undefined;
  readonly push: Remote;
  readonly target: Remote;
  readonly base: string;
  readonly change: Change;
  readonly kept: KeptText;
}

interface Draft {
  readonly branch: string;
  readonly title: string;
  readonly body: string;
  /** The host shows it as a draft. */
  readonly draft: boolean;
}

const MAX_SESSION = 12_000;
const MAX_BODY = 60_000;
const MAX_TITLE = 72;

/**
 * Writes title and text of a pull request for the commits of the branch, shows them, pushes the branch with
 * the user's git and opens the pull request with the user's `gh` or `glab`. Returns false where the user
 * left. The next call continues after the last step that succeeded.
 */
export async function openPullRequest(options: PullRequestOptions): Promise<boolean> {
  const { host, signal } = options;
  const branch = await readBranch(options);
  const service = await serviceOf(branch, host, signal);
  if (service.existing !== undefined) return await update(service.existing, branch, options);
  const draft = await draftOf(branch, service, options);
  const agreed = draft && await agree(draft, branch, service, options);
  if (!agreed) {
    host.report(message`Nothing was pushed; the text is in ${branch.kept.path}`);
    return false;
  }
  if (branch.name === undefined) await makeBranch(agreed.branch, branch, options);
  await push(agreed.branch, branch, options);
  if (service.client) {
    const made = await service.client.create(agreed);
    if (made.code !== 0) {
      throw new ReasonixError(message`Cannot open the pull request: ${reasonOf(made)}`, {
        remedy:
          message`the branch is pushed and the text is in ${branch.kept.path}; the next run continues there`,
      });
    }
    host.show(made.text.trim());
  } else {
    const url = compareAddress(branch.push.address, branch.target.address, {
      base: branch.base,
      branch: agreed.branch,
    }, host.environment);
    host.show(`${agreed.title}\n\n${agreed.body}${url === undefined ? "" : `\n\n${url}`}`);
    if (service.problem !== undefined) host.report(service.problem);
  }
  branch.kept.remove();
  return true;
}

/** The pull request is there: a push updates it. */
async function update(url: string, branch: Branch, options: PullRequestOptions): Promise<boolean> {
  const { host, yes } = options;
  const name = branch.name ?? "";
  host.report(message`The branch ${name} has a pull request, which a push updates: ${url}`);
  const question = message`Push ${name} to ${branch.push.name} (${branch.push.url})?`;
  const pushes = yes || await host.choose(question, [
    { label: message`push`, key: "y", value: true },
    { label: message`leave`, key: "n", value: false },
  ]);
  if (!pushes) return false;
  await push(name, branch, options);
  branch.kept.remove();
  host.show(url);
  return true;
}

async function readBranch({ cwd, base: wanted, host, signal, yes }: PullRequestOptions): Promise<Branch> {
  const git = Git.find(cwd);
  const ask = async (...args: readonly string[]) => (await git.run(args, { cwd, signal })).text.trim();
  const purpose = message`Cannot open a pull request from ${cwd}`;
  const { top } = await openRepository(git, cwd, { purpose, signal });
  const names = (await ask("remote")).split("\n").filter((name) => name !== "");
  if (names.length === 0) {
    throw new ReasonixError(message`${purpose}: the repository has no remote`, {
      remedy: message`add one with ${"`git remote add origin URL`"}`,
    });
  }
  const checkedOut = await ask("symbolic-ref", "--quiet", "--short", "HEAD") || undefined;
  const setting = async (key: string) => await ask("config", "--get", key);
  const configured = [
    checkedOut === undefined ? "" : await setting(`branch.${checkedOut}.pushRemote`),
    await setting("remote.pushDefault"),
    ...names.includes("upstream") && names.includes("origin") ? ["origin"] : [],
    checkedOut === undefined ? "" : await setting(`branch.${checkedOut}.remote`),
    "origin",
    names.length === 1 ? names[0] ?? "" : "",
  ].find((name) => names.includes(name));
  const pushName = configured ?? (yes ? undefined : await host.choose(
    message`Which remote does the branch go to?`,
    names.map((name, at) => ({ label: name, key: String(at + 1), value: name })),
  ));
  if (pushName === undefined) {
    throw usageError(
      message`Cannot choose a remote of ${names.join(", ")}`,
      message`set ${"remote.pushDefault"} in git`,
    );
  }
  const remote = async (name: string, ...how: readonly string[]): Promise<Remote> => {
    const url = (await ask("remote", "get-url", ...how, name)).split("\n", 1)[0] ?? "";
    // Pushes may go to an alias of the host.
    const others = addressOf(url) ? "" : await ask("remote", "get-url", name);
    const found = addressOf(url) ? url : others.split("\n", 1)[0] ?? "";
    return {
      name,
      url: withoutPassword(url),
      address: await withoutAlias(found, { cwd: top, host, signal }),
    };
  };
  const push = await remote(pushName, "--push");
  const target = names.includes("upstream") ? await remote("upstream") : await remote(pushName);
  const base = wanted ?? await defaultBranch(target.name, ask);
  const change = await readChange(git, cwd, { kind: "base", base: `${target.name}/${base}` }, signal);
  if (change.messages.length === 0) {
    throw new ReasonixError(
      message`Cannot open a pull request: the branch has no commit that ${target.name}/${base} lacks`,
      {
        exit: "usage",
        remedy: message`commit first, such as with ${"`reasonix commit`"}`,
      },
    );
  }
  const { files: { length: open } } = await readChange(git, cwd, { kind: "uncommitted" }, signal);
  if (open > 0) host.report(message`Uncommitted changes are not part of it (files: ${open})`);
  return {
    ...{ git, top, push, target, base, change, checkedOut },
    head: await ask("rev-parse", "HEAD"),
    name: checkedOut === base || checkedOut === await defaultBranch(target.name, ask, "")
      ? undefined
      : checkedOut,
    kept: new KeptText(await ask("rev-parse", "--absolute-git-dir"), "REASONIX_PULL_REQUEST"),
  };
}

async function defaultBranch(
  remote: string,
  ask: (...args: readonly string[]) => Promise<string>,
  otherwise?: string,
): Promise<string> {
  const named = await ask("symbolic-ref", "--quiet", "--short", `refs/remotes/${remote}/HEAD`);
  if (named.startsWith(`${remote}/`)) return named.slice(remote.length + 1);
  for (const name of ["main", "master", "trunk", "develop"]) {
    if (await ask("rev-parse", "--quiet", "--verify", `refs/remotes/${remote}/${name}`) !== "") return name;
  }
  if (otherwise !== undefined) return otherwise;
  throw usageError(
    message`Cannot find the default branch of ${remote}`,
    message`name the base with --base BRANCH, or run ${`git fetch ${remote}`}`,
  );
}

/** "git@host:owner/name.git", "https://host/owner/name" → host and path; undefined for a directory. */
export function addressOf(url: string): RemoteAddress | undefined {
  const match =
    /^(?:https?|ssh|git|git\+ssh):\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)(?::\d+)?\/(.+)$/.exec(url) ??
      /^(?:[^@/:]+@)?([^:/\\]{2,}):(?!\/\/|\\)\/?(.+)$/.exec(url);
  const path = match?.[2]?.replace(/\/+$/, "").replace(/\.git$/, "");
  const host = match?.[1]?.toLowerCase().replace(/^ssh\.(?=github\.com$)|^altssh\.(?=gitlab\.com$)/, "");
  return host !== undefined && path?.includes("/") ? { host, path } : undefined;
}

/** The address of a remote, in which an alias of the user's ssh is replaced by its host. */
async function withoutAlias(
  url: string,
  { cwd, host, signal }: Pick<PullRequestOptions, "cwd" | "host" | "signal">,
): Promise<RemoteAddress | undefined> {
  const address = addressOf(url);
  if (!address || /^https?:/.test(url) || hostKind(address.host, host.environment) !== "gitea") {
    return address;
  }
  const ssh = userProgram("ssh", cwd, host);
  const options = { cwd, env: userEnvironment(host), signal };
  const settings = ssh && (await runProgram([ssh, "-G", "--", address.host], options)).text;
  const name = /^hostname (\S+)$/m.exec(settings ?? "")?.[1] ?? address.host;
  return addressOf(`ssh://${name}/${address.path}`) ?? address;
}

function withoutPassword(url: string): string {
  return terminalSafe(url.replace(/^([a-z+]+:\/\/)[^@/]*@/, "$1"));
}

type HostKind = "github" | "gitlab" | "bitbucket" | "gitea";

/** Services by the names of their hosts; any other host has the addresses of Gitea. */
const HOST_NAMES: Readonly<Record<Exclude<HostKind, "gitea">, RegExp>> = {
  github: /^github\.com$|\.ghe\.com$/,
  gitlab: /^gitlab\.|\.gitlab\./,
  bitbucket: /^bitbucket\.org$/,
};

function hostKind(host: string, { GH_HOST, GITLAB_HOST }: Readonly<Record<string, string>>): HostKind {
  if (host === addressedHost(GH_HOST)) return "github";
  if (host === addressedHost(GITLAB_HOST)) return "gitlab";
  const kinds = ["github", "gitlab", "bitbucket"] as const;
  return kinds.find((kind) => HOST_NAMES[kind].test(host)) ?? "gitea";
}

/** The host of a variable that has a name or an address. */
function addressedHost(text = ""): string {
  return text.replace(/^https?:\/\//, "").replace(/[:/].*$/, "").toLowerCase();
}

/** The page on which a person opens the pull request; undefined where no host is known. */
export function compareAddress(
  push: RemoteAddress | undefined,
  target: RemoteAddress | undefined,
  { base, branch }: { readonly base: string; readonly branch: string },
  environment: Readonly<Record<string, string>>,
): string | undefined {
  if (!push || !target) return undefined;
  const inPath = (name: string) => name.split("/").map(encodeURIComponent).join("/");
  const fork = push.path !== target.path;
  const head = `${fork ? `${encodeURIComponent(push.path.split("/")[0] ?? "")}:` : ""}${inPath(branch)}`;
  switch (hostKind(target.host, environment)) {
    case "github":
      return `https://${target.host}/${target.path}/compare/${inPath(base)}...${head}?expand=1`;
    case "gitlab": {
      const query = new URLSearchParams({
        "merge_request[source_branch]": branch,
        "merge_request[target_branch]": base,
      });
      return `https://${push.host}/${push.path}/-/merge_requests/new?${query}`;
    }
    case "bitbucket": {
      const query = new URLSearchParams({ source: branch, dest: `${target.path}::${base}` });
      return `https://${push.host}/${push.path}/pull-requests/new?${query}`;
    }
    case "gitea":
      return `https://${target.host}/${target.path}/compare/${inPath(base)}...${head}`;
  }
}

/** The program of the host with the user's login. */
interface Client {
  /** Lists the open pull requests of a branch. */
  list(branch: string): Promise<ProgramResult>;
  /** Returns the address of the one that comes from here. */
  ours(listed: string): unknown;
  create(draft: Draft): Promise<ProgramResult>;
}

interface Service {
  readonly kind: HostKind;
  /** Absent: the text is printed. */
  readonly client?: Client;
  /** Address of the open pull request of the branch. */
  readonly existing?: string;
  readonly problem?: Text;
}

const LOGIN = /auth login|not logged in|authentication|unauthorized|\b401\b|token/i;

async function serviceOf(
  branch: Branch,
  host: WritingOptions["host"],
  signal: AbortSignal,
): Promise<Service> {
  const { target, push, top, base } = branch;
  const kind = target.address ? hostKind(target.address.host, host.environment) : "gitea";
  const name = kind === "github" ? "gh" : kind === "gitlab" ? "glab" : undefined;
  if (name === undefined || !target.address) return { kind };
  const program = userProgram(name, top, host);
  if (program === undefined) {
    return { kind, problem: message`${name} is not installed: open the pull request at the address above` };
  }
  const run = (args: readonly string[], input?: string) =>
    runProgram([program, ...args], {
      cwd: top,
      env: { ...userEnvironment(host), GH_PROMPT_DISABLED: "1", NO_PROMPT: "1", NO_COLOR: "1" },
      input,
      signal,
    });
  const client = (kind === "github" ? githubClient : gitlabClient)(run, {
    target: target.address,
    push: push.address,
    base,
  });
  const listed = await client.list(branch.name ?? base);
  if (listed.code === 0) {
    const url = branch.name === undefined ? undefined : client.ours(listed.text);
    return { kind, client, ...(typeof url === "string" ? { existing: terminalSafe(url) } : {}) };
  }
  if (!LOGIN.test(`${listed.errors}${listed.text}`) && listed.code !== 4) {
    throw new ReasonixError(message`Cannot ask ${name} about ${target.address.path}: ${reasonOf(listed)}`, {
      remedy: message`nothing was pushed; try again`,
    });
  }
  host.report(message`${name} is not logged in: ${`${name} auth login --hostname ${target.address.host}`}`);
  return { kind, problem: message`${name} is not logged in: open the pull request at the address above` };
}

interface ClientDeps {
  readonly target: RemoteAddress;
  readonly push: RemoteAddress | undefined;
  readonly base: string;
}

type Run = (args: readonly string[], input?: string) => Promise<ProgramResult>;

function githubClient(run: Run, { target, push, base }: ClientDeps): Client {
  const repo = ["--repo", `${target.host}/${target.path}`];
  const [owner = ""] = (push ?? target).path.split("/");
  return {
    list: (branch) =>
      run(["pr", "list", ...repo, "--head", branch, "--state", "open", "--json", "url,headRepositoryOwner"]),
    ours: (listed) =>
      listOf(listed).find(({ headRepositoryOwner }) =>
        String(recordOf(headRepositoryOwner).login).toLowerCase() === owner.toLowerCase()
      )?.url,
    create({ branch, title, body, draft }) {
      const head = push && push.path !== target.path ? `${owner}:${branch}` : branch;
      const words = ["--base", base, "--head", head, `--title=${title}`, "--body-file", "-"];
      return run(["pr", "create", ...repo, ...words, ...draft ? ["--draft"] : []], body);
    },
  };
}

function gitlabClient(run: Run, { target, push, base }: ClientDeps): Client {
  const repo = ["--repo", `https://${target.host}/${target.path}`];
  const fork = push !== undefined && push.path !== target.path;
  return {
    list: (branch) => run(["mr", "list", ...repo, "--source-branch", branch, "--output", "json"]),
    ours: (listed) =>
      listOf(listed).find(({ source_project_id, target_project_id }) =>
        (source_project_id !== target_project_id) === fork
      )?.web_url,
    create({ branch, title, body, draft }) {
      const head = fork ? ["--head", push.path] : [];
      const words = ["--source-branch", branch, "--target-branch", base, ...head, `--title=${title}`];
      return run([
        "mr",
        "create",
        ...repo,
        ...words,
        `--description=${body}`,
        "--yes",
        ...draft ? ["--draft"] : [],
      ]);
    },
  };
}

function listOf(json: string): Record<string, unknown>[] {
  const read = attempt(() => parseJson(json));
  return Array.isArray(read) ? read.filter(isRecord) : [];
}

function reasonOf({ code, errors, text }: ProgramResult): string {
  return oneLine(firstLine(errors) || firstLine(text)) || `exit code ${code}`;
}

/** The text of the last attempt where it is about the same commits, else a new one. */
async function draftOf(branch: Branch, service: Service, options: PullRequestOptions): Promise<Draft> {
  const { host, hint, draft } = options;
  const { head, base, kept } = branch;
  const [first = "", ...lines] = kept.read().split("\n");
  const [, keptHead, keptBase, keptName = ""] = /^reasonix-pr (\S+) (\S+) (\S+)$/.exec(first) ?? [];
  const mayBe = branch.name === undefined || branch.name === keptName;
  if (keptHead === head && keptBase === base && mayBe && hint === "") {
    host.report(message`The text of the last attempt is used; a hint behind the command writes a new one`);
    return { branch: branch.name ?? await freeName(keptName, branch), draft, ...partsOf(lines.join("\n")) };
  }
  const assembly = await host.assembly();
  const template = await templateOf(branch, service.kind, host, options.yes);
  const makesBranch = branch.name === undefined;
  const system = prompt
    .replace(
      "{branch}",
      makesBranch
        ? ", after a first line such as `Branch: fix-empty-input` with a name for the new branch"
        : "",
    )
    .replace("{template}", template === "" ? "No headings where a few sentences do." : KEEP_TEMPLATE);
  const text = await writtenBy(assembly, {
    agent: "pull_request",
    description: "write title and text",
    system,
    signal: options.signal,
    prompt: [
      material("template", template),
      material(
        "commits, newest first",
        cut(branch.change.messages.join("\n\n"), MAX_SESSION),
      ),
      await sessionText(branch, assembly, options),
      await changeText(branch.change, assembly),
      hint === "" ? "" : `The author says about this change: ${hint}`,
    ].join(""),
  }, (reply) => {
    const clean = cleanMessage(reply, [hint, template].join("\n"));
    const named = /^\W*branch:\s*(.+)\n/i.exec(clean);
    const { title, body } = partsOf(named ? cleanMessage(clean.slice(named[0].length)) : clean);
    const missing = headingsOf(template).filter((heading) => !headingsOf(body).includes(heading));
    const problem = title === ""
      ? "there is no title in it"
      : title.length > MAX_TITLE
      ? `the title has ${title.length} characters, ${MAX_TITLE} are allowed`
      : missing.length > 0
      ? `headings of the template are missing: ${missing.join(", ")}`
      : undefined;
    return {
      problem,
      text: title === ""
        ? ""
        : [named?.[1] ?? title.toLowerCase(), title, "", fitTemplate(body, template)].join("\n"),
    };
  });
  const [name = "", ...rest] = assembly.redact(text).split("\n");
  return { branch: branch.name ?? await freeName(name, branch), draft, ...partsOf(rest.join("\n")) };
}

const KEEP_TEMPLATE =
  "The text is the template, filled in: all its headings and check boxes, in its order, in its language. Leave every " +
  "box unchecked: the author checks them. Remove the comments that explain it.";

function partsOf(text: string): Pick<Draft, "title" | "body"> {
  const [title = "", ...rest] = text.trim().split("\n");
  return { title: oneLine(title, 250), body: rest.join("\n").trim().slice(0, MAX_BODY).toWellFormed() };
}

const HEADING = /^#{1,6}\s+\S.*$/gm;
const BOX = /^(\s*(?:[-*+]|\d+\.)\s+)\[[xX]\](?=\s)/gm;
const ANY_BOX = /^\s*(?:[-*+]|\d+\.)\s+\[[ xX]\]\s+(.*\S)/gm;

function headingsOf(text: string): string[] {
  const visible = text.replace(/<!--[\s\S]*?-->|^```[\s\S]*?^```/gm, "");
  return (visible.match(HEADING) ?? []).map((heading) => heading.trim());
}

/** Keeps headings and check boxes of the template; a box is checked only where the template checks it. */
export function fitTemplate(body: string, template: string): string {
  const visible = template.replace(/<!--[\s\S]*?-->/g, "");
  const boxes = [...visible.matchAll(ANY_BOX)].map(([line, text = ""]) => ({ line, text }));
  const checked = boxes.filter(({ line }) => /\[[xX]\]/.test(line)).map(({ text }) => text);
  const filled = body.replace(
    /^.*\[[xX]\].*$/gm,
    (line) => checked.some((text) => line.includes(text)) ? line : line.replace(BOX, "$1[ ]"),
  );
  const lines = filled.split("\n").map((line) => line.trim());
  const missing = visible.split("\n").filter((line) => {
    const kept = /^#{1,6}\s+\S/.test(line) || boxes.some((box) => box.line.trim() === line.trim());
    const text = boxes.find((box) => box.line.trim() === line.trim())?.text;
    return kept && !lines.some((each) => each === line.trim() || (text !== undefined && each.endsWith(text)));
  });
  return [filled, ...missing.length > 0 ? ["", ...missing] : []].join("\n").trim();
}

const TEMPLATES =
  /^(?:(?:\.github|\.gitea|\.forgejo|docs)\/)?pull_request_template(?:\/[^/]+)?\.(?:md|txt)$|^\.gitlab\/merge_request_templates\/[^/]+\.md$/i;

/** The template of the repository, as it is committed: a link out of the repository is none. */
async function templateOf(
  { git, top, change }: Branch,
  kind: HostKind,
  host: WritingOptions["host"],
  yes: boolean,
): Promise<string> {
  const listing = ["ls-tree", "-r", "-z", "--name-only", "HEAD"];
  const places = [".github", ".gitlab", ".gitea", ".forgejo", "docs"];
  const inPlaces = entries((await git.run([...listing, "--", ...places], { cwd: top })).text);
  const atTop = entries((await git.run(["ls-tree", "-z", "--name-only", "HEAD"], { cwd: top })).text);
  const found = [...inPlaces, ...atTop].filter((path) =>
    TEMPLATES.test(path) && path.startsWith(".gitlab/") === (kind === "gitlab")
  );
  const usual = found.find((path) => /(?:template|\/default)\.(?:md|txt)$/i.test(path)) ??
    (found.length === 1 || yes ? found[0] : undefined);
  const path = usual ?? (found.length === 0 ? undefined : await host.choose(
    message`Which template?`,
    found.slice(0, 9).map((name, at) => ({ label: name, key: String(at + 1), value: name })),
  ));
  const bytes = path === undefined ? undefined : await change.head.read(path);
  return bytes ? new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n").slice(0, MAX_SESSION).trim() : "";
}

/** The latest conversation in the directory since the branch began: the user's words and the last answers. */
async function sessionText(
  { git, top, change }: Branch,
  { paths: { home }, redact }: Assembly,
  { cwd }: PullRequestOptions,
): Promise<string> {
  const began = await git.run(
    ["log", "-1", "--no-show-signature", "--format=%cI", change.base.id ?? "HEAD"],
    { cwd: top },
  );
  const projects = [...new Set([cwd, top])].map((directory) => projectDir(home, directory));
  const session = listSessions(projects, { limit: 20 }).find(({ prompt, updated }) =>
    prompt !== "" && Date.parse(updated) > Date.parse(began.text.trim())
  );
  if (!session) return "";
  const { state: { turns, title } } = loadEvents(session.path);
  const answered = turns.slice(-3);
  const lines = turns.flatMap((turn) => [
    `User: ${redact(userText(turn.prompt)).slice(0, 2_000)}`,
    ...answered.includes(turn) && turn.answer ? [`Agent: ${redact(turn.answer).slice(0, 3_000)}`] : [],
  ]);
  // The end of a session says what became of it.
  return material("session", `${title ?? session.title}\n\n${lines.join("\n\n").slice(-MAX_SESSION)}`);
}

async function agree(
  draft: Draft,
  branch: Branch,
  service: Service,
  { host, yes, signal }: PullRequestOptions,
): Promise<Draft | undefined> {
  let current = draft;
  if (branch.name === undefined) {
    const name = yes ? draft.branch : await askName(draft.branch, branch, host);
    if (name === undefined) return undefined;
    current = { ...draft, branch: name };
  }
  const { push, target, base, kept, head } = branch;
  for (;;) {
    signal.throwIfAborted();
    const text = `${current.title}\n\n${current.body}`;
    await kept.save(`reasonix-pr ${head} ${base} ${current.branch}\n${text}\n`);
    if (yes) return current;
    host.show(text);
    const question = service.client
      ? message`Push ${current.branch} to ${push.name} (${push.url}), and open this pull request into ${base} of ${
        target.address?.path ?? target.name
      }?`
      : message`Push ${current.branch} to ${push.name} (${push.url})?`;
    const answer = await host.choose(question, [
      { label: service.client ? message`push and open` : message`push`, key: "y", value: "yes" },
      { label: message`edit the text`, key: "e", value: "edit" },
      { label: message`leave`, key: "n", value: "leave" },
    ]);
    if (answer === "yes") return current;
    if (answer !== "edit") return undefined;
    const parts = partsOf(await edited(text, undefined, host));
    if (parts.title === "") return undefined;
    current = { ...current, ...parts };
  }
}

async function askName(
  proposed: string,
  branch: Branch,
  host: WritingOptions["host"],
): Promise<string | undefined> {
  for (;;) {
    const name = (await host.prompt(message`Name of the new branch:`, proposed))?.trim();
    if (name === undefined || name === "") return undefined;
    if (await freeName(name, branch) === name) return name;
    host.report(message`${name} is no name for a new branch here`);
  }
}

/** A name for a branch that no branch has, as near to the wanted one as git allows. */
async function freeName(wanted: string, { git, top, push }: Branch): Promise<string> {
  const run = async (...args: readonly string[]) => (await git.run(args, { cwd: top })).code === 0;
  const plain = wanted.replace(/[^\p{L}\p{N}._/-]+/gu, "-").replace(/^[-./]+|[-./]+$/g, "").slice(0, 80);
  const usable = plain !== "" && await run("check-ref-format", `refs/heads/${plain}`) ? plain : "change";
  for (let count = 1;; count += 1) {
    const name = count === 1 ? usable : `${usable}-${count}`;
    const taken = await run("show-ref", "--verify", "--quiet", `refs/heads/${name}`) ||
      await run("show-ref", "--verify", "--quiet", `refs/remotes/${push.name}/${name}`);
    if (!taken) return name;
  }
}

async function makeBranch(name: string, branch: Branch, { host, signal }: PullRequestOptions): Promise<void> {
  const { git, top, checkedOut, base, target } = branch;
  const program = userProgram("git", top, host) ?? "git";
  const code = await runForUser([program, "switch", "--create", name], { cwd: top, host, signal });
  const now = (await git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], { cwd: top })).text.trim();
  if (now !== name) {
    throw new ReasonixError(
      message`Cannot make the branch ${name}: git switch ended with exit code ${code}`,
      {
        remedy: message`the text is in ${branch.kept.path}`,
      },
    );
  }
  if (checkedOut !== undefined) {
    const back = `git branch --force ${checkedOut} ${target.name}/${base}`;
    host.report(message`${checkedOut} still has the commits too; ${`\`${back}\``} sets it back`);
  }
}

async function push(name: string, branch: Branch, { host, signal }: PullRequestOptions): Promise<void> {
  const { top, push: remote } = branch;
  const program = userProgram("git", top, host) ?? "git";
  const words = ["push", "--set-upstream", remote.name, `refs/heads/${name}:refs/heads/${name}`];
  const code = await runForUser([program, ...words], { cwd: top, host, signal });
  if (code === 0) return;
  throw new ReasonixError(
    message`Cannot push ${name} to ${remote.name}: git push ended with exit code ${code}`,
    {
      remedy:
        message`if it has commits that are not here, run ${`git pull --rebase ${remote.name} ${name}`}; then run this again`,
    },
  );
}
