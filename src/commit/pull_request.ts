import { rmSync } from "node:fs";
import { message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import {
  type Change,
  defaultBranch,
  entries,
  firstLine,
  Git,
  openRepository,
  readChange,
} from "../git/mod.ts";
import type { Assembly } from "../run/mod.ts";
import { listSessions, loadEvents, projectDir } from "../session/mod.ts";
import { readSmallText } from "../path/probe.ts";
import { isRecord, parseJson, recordOf } from "../util/json.ts";
import { type ProgramResult, runProgram } from "../util/process.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";
import { userText } from "../util/user_text.ts";
import prompt from "./pull_request.md" with { type: "text" };
import {
  changeText,
  cleanMessage,
  cut,
  edited,
  type GitHost,
  keep,
  material,
  NO_TEXT,
  runUserGit,
  userEnvironment,
  userProgram,
  wishes,
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

/** The remotes of a repository: those that branches go to, and their pull requests. */
export interface Remotes {
  readonly git: Git;
  readonly top: string;
  readonly push: Remote;
  readonly target: Remote;
  readonly base: string;
}

/** A branch and where its pull request goes. */
interface Branch extends Remotes {
  readonly head: string;
  /** Undefined: the default branch, or none, is checked out, and a new one is to be made. */
  readonly name: string | undefined;
  readonly checkedOut: string | undefined;
  readonly change: Change;
  /** The file that keeps the text until it was used. */
  readonly kept: string;
}

export interface Draft {
  readonly branch: string;
  readonly title: string;
  readonly body: string;
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
  const { host } = options;
  const branch = await readBranch(options);
  const service = await serviceOf(branch, options);
  if (service.existing !== undefined) return await update(service.existing, branch, options);
  const draft = await draftOf(branch, service, options);
  const agreed = await agree(draft, branch, service, options);
  if (!agreed) {
    host.report(message`Nothing was pushed; the text is in ${branch.kept}`);
    return false;
  }
  if (branch.name === undefined) await makeBranch(agreed.branch, branch, options);
  await push(agreed.branch, branch, options);
  if (service.create) {
    const made = await service.create(agreed);
    if (made.code !== 0) {
      const remedy =
        message`the branch is pushed and the text is in ${branch.kept}; the next run continues there`;
      throw new ReasonixError(message`Cannot open the pull request: ${reasonOf(made)}`, { remedy });
    }
    host.show(made.text.trim());
  } else {
    const { push: { address }, target, base } = branch;
    const names = { base, branch: agreed.branch };
    const url = compareAddress(address, target.address, names, host.environment);
    host.show(`${agreed.title}\n\n${agreed.body}${url === undefined ? "" : `\n\n${url}`}`);
    if (service.problem !== undefined) host.report(service.problem);
  }
  rmSync(branch.kept, { force: true });
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
  rmSync(branch.kept, { force: true });
  host.show(url);
  return true;
}

export type RemoteOptions = Pick<PullRequestOptions, "cwd" | "base" | "host" | "signal" | "yes">;

/** Finds the remotes of a repository. Throws a ReasonixError where there is none to choose. */
export async function readRemotes(
  { cwd, base: wanted, host, signal, yes }: RemoteOptions,
): Promise<Remotes & Pick<Branch, "checkedOut"> & { readonly usual: string | undefined }> {
  const git = Git.find(cwd);
  const options = { cwd, signal };
  const ask = async (...args: readonly string[]) => (await git.run(args, options)).text.trim();
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
    await setting(`branch.${checkedOut ?? ""}.pushRemote`),
    await setting("remote.pushDefault"),
    ...names.includes("upstream") && names.includes("origin") ? ["origin"] : [],
    await setting(`branch.${checkedOut ?? ""}.remote`),
    "origin",
    ...names.length === 1 ? names : [],
  ].find((name) => names.includes(name));
  const pushName = configured ??
    (yes ? undefined : await choose(host, message`Which remote does the branch go to?`, names));
  if (pushName === undefined) {
    throw usageError(
      message`Cannot choose a remote of ${names.join(", ")}`,
      message`set ${"remote.pushDefault"} in git`,
    );
  }
  const remote = async (name: string, ...how: readonly string[]): Promise<Remote> => {
    const urlOf = async (...more: readonly string[]) =>
      (await ask("remote", "get-url", ...more, name)).split("\n", 1)[0] ?? "";
    const url = await urlOf(...how);
    // Pushes may go to an alias of the host.
    const found = addressOf(url) ? url : await urlOf();
    return {
      name,
      url: withoutPassword(url),
      address: await withoutAlias(found, { cwd: top, host, signal }),
    };
  };
  const push = await remote(pushName, "--push");
  const target = names.includes("upstream") ? await remote("upstream") : await remote(pushName);
  const usual = await defaultBranch(git, target.name, options);
  const base = wanted ?? usual;
  if (base === undefined) {
    throw usageError(
      message`Cannot find the default branch of ${target.name}`,
      message`name the base with --base BRANCH, or run ${`git fetch ${target.name}`}`,
    );
  }
  return { git, top, push, target, base, checkedOut, usual };
}

async function readBranch(options: PullRequestOptions): Promise<Branch> {
  const { usual, ...remotes } = await readRemotes(options);
  const { git, target, base, checkedOut } = remotes;
  const { cwd, host, signal } = options;
  const ask = async (...args: readonly string[]) => (await git.run(args, { cwd, signal })).text.trim();
  const change = await readChange(git, cwd, { kind: "base", base: `${target.name}/${base}` }, signal);
  if (change.messages.length === 0) {
    throw usageError(
      message`Cannot open a pull request: the branch has no commit that ${target.name}/${base} lacks`,
      message`commit first, such as with ${"`reasonix commit`"}`,
    );
  }
  const { files: { length: open } } = await readChange(git, cwd, { kind: "uncommitted" }, signal);
  if (open > 0) host.report(message`Uncommitted changes are not part of it (files: ${open})`);
  return {
    ...{ ...remotes, change },
    head: await ask("rev-parse", "HEAD"),
    name: checkedOut === base || checkedOut === usual ? undefined : checkedOut,
    kept: `${await ask("rev-parse", "--absolute-git-dir")}/REASONIX_PULL_REQUEST`,
  };
}

async function choose(host: GitHost, title: Text, names: readonly string[]): Promise<string | undefined> {
  const choices = names.slice(0, 9).map((name, at) => ({ label: name, key: String(at + 1), value: name }));
  return await host.choose(title, choices);
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

export function withoutPassword(url: string): string {
  return terminalSafe(url.replace(/^([a-z+]+:\/\/)[^@/]*@/, "$1"));
}

/** Services by the names of their hosts; any other host has the addresses of Gitea. */
const HOSTS = [
  ["github", /^github\.com$|\.ghe\.com$/],
  ["gitlab", /^gitlab\.|\.gitlab\./],
  ["bitbucket", /^bitbucket\.org$/],
] as const;

type HostKind = typeof HOSTS[number][0] | "gitea";

function hostKind(host: string, { GH_HOST, GITLAB_HOST }: Readonly<Record<string, string>>): HostKind {
  if (host === addressedHost(GH_HOST)) return "github";
  if (host === addressedHost(GITLAB_HOST)) return "gitlab";
  return HOSTS.find(([, names]) => names.test(host))?.[0] ?? "gitea";
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
  const kind = hostKind(target.host, environment);
  switch (kind) {
    case "gitlab": {
      const query = { "merge_request[source_branch]": branch, "merge_request[target_branch]": base };
      return `https://${push.host}/${push.path}/-/merge_requests/new?${new URLSearchParams(query)}`;
    }
    case "bitbucket": {
      const query = { source: branch, dest: `${target.path}::${base}` };
      return `https://${push.host}/${push.path}/pull-requests/new?${new URLSearchParams(query)}`;
    }
    default: {
      const form = kind === "github" ? "?expand=1" : "";
      return `https://${target.host}/${target.path}/compare/${inPath(base)}...${head}${form}`;
    }
  }
}

/** The program of a host: its arguments and answers. */
interface Client {
  /** Lists the pull requests of a branch as JSON. */
  list(branch: string, state: "open" | "all"): readonly string[];
  /** Returns the address of a listed one that comes from here. */
  ours(listed: Record<string, unknown>): unknown;
  create(draft: Draft): { readonly args: readonly string[]; readonly input?: string };
}

export interface Service {
  readonly kind: HostKind;
  /** Opens the pull request. Absent: the text is printed. */
  readonly create?: (draft: Draft) => Promise<ProgramResult>;
  /** Address of the pull request of the branch. */
  readonly existing?: string;
  readonly problem?: Text;
}

const LOGIN = /auth login|not logged in|authentication|unauthorized|\b401\b|token/i;

/** Asks the service of the target for a pull request of the branch. */
export async function serviceOf(
  branch: Remotes & Pick<Branch, "name">,
  { host, draft, signal }: Pick<PullRequestOptions, "host" | "draft" | "signal">,
  state: "open" | "all" = "open",
): Promise<Service> {
  const { target: { address: target }, push, top, base } = branch;
  const kind = target ? hostKind(target.host, host.environment) : "gitea";
  const name = kind === "github" ? "gh" : kind === "gitlab" ? "glab" : undefined;
  if (name === undefined || !target) return { kind };
  const program = userProgram(name, top, host);
  if (program === undefined) {
    return { kind, problem: message`${name} is not installed: open the pull request at the address above` };
  }
  const env = { ...userEnvironment(host), GH_PROMPT_DISABLED: "1", NO_PROMPT: "1", NO_COLOR: "1" };
  const run = (args: readonly string[], input?: string) =>
    runProgram([program, ...args], { cwd: top, env, input, signal });
  const client = (kind === "github" ? github : gitlab)(target, push.address ?? target, base);
  const listed = await run(client.list(branch.name ?? base, state));
  if (listed.code === 0) {
    const json = parseJson(listed.text);
    const addresses = Array.isArray(json) ? json.filter(isRecord).map(client.ours) : [];
    const url = branch.name === undefined ? undefined : addresses.find((each) => typeof each === "string");
    return {
      kind,
      create(written) {
        const { args, input } = client.create(written);
        return run([...args, ...draft ? ["--draft"] : []], input);
      },
      ...(url === undefined ? {} : { existing: terminalSafe(url) }),
    };
  }
  if (!LOGIN.test(`${listed.errors}${listed.text}`) && listed.code !== 4) {
    throw new ReasonixError(message`Cannot ask ${name} about ${target.path}: ${reasonOf(listed)}`, {
      remedy: message`nothing was pushed; try again`,
    });
  }
  host.report(message`${name} is not logged in: ${`${name} auth login --hostname ${target.host}`}`);
  return { kind, problem: message`${name} is not logged in: open the pull request at the address above` };
}

function github(target: RemoteAddress, push: RemoteAddress, base: string): Client {
  const repo = ["--repo", `${target.host}/${target.path}`];
  const [owner = ""] = push.path.split("/");
  return {
    list: (branch, state) => {
      const form = ["--state", state, "--json", "url,headRepositoryOwner"];
      return ["pr", "list", ...repo, "--head", branch, ...form];
    },
    ours: ({ url, headRepositoryOwner }) =>
      String(recordOf(headRepositoryOwner).login).toLowerCase() === owner.toLowerCase() ? url : undefined,
    create({ branch, title, body }) {
      const head = push.path === target.path ? branch : `${owner}:${branch}`;
      const words = ["--base", base, "--head", head, `--title=${title}`, "--body-file", "-"];
      return { args: ["pr", "create", ...repo, ...words], input: body };
    },
  };
}

function gitlab(target: RemoteAddress, push: RemoteAddress, base: string): Client {
  const repo = ["--repo", `https://${target.host}/${target.path}`];
  const fork = push.path !== target.path;
  return {
    list(branch, state) {
      const form = [...state === "all" ? ["--all"] : [], "--output", "json"];
      return ["mr", "list", ...repo, "--source-branch", branch, ...form];
    },
    ours: ({ source_project_id, target_project_id, web_url }) =>
      (source_project_id !== target_project_id) === fork ? web_url : undefined,
    create({ branch, title, body }) {
      const head = fork ? ["--head", push.path] : [];
      const words = ["--source-branch", branch, "--target-branch", base, ...head, `--title=${title}`];
      return { args: ["mr", "create", ...repo, ...words, `--description=${body}`, "--yes"] };
    },
  };
}

export function reasonOf({ code, errors, text }: ProgramResult): string {
  return oneLine(firstLine(errors) || firstLine(text)) || `exit code ${code}`;
}

/** The text of the last attempt where it is about the same commits, else a new one. */
async function draftOf(branch: Branch, service: Service, options: PullRequestOptions): Promise<Draft> {
  const { host, hint } = options;
  const { head, base, kept } = branch;
  const [first = "", ...lines] = (readSmallText(kept) ?? "").split("\n");
  const [, keptHead, keptBase, keptName = ""] = /^reasonix-pr (\S+) (\S+) (\S+)$/.exec(first) ?? [];
  const mayBe = branch.name === undefined || branch.name === keptName;
  if (keptHead === head && keptBase === base && mayBe && hint === "") {
    host.report(message`The text of the last attempt is used; a hint behind the command writes a new one`);
    return { branch: branch.name ?? await freeName(keptName, branch), ...partsOf(lines.join("\n")) };
  }
  const assembly = await host.assembly();
  const template = await templateOf(branch, service.kind, options);
  const naming = branch.name === undefined
    ? ", after a first line such as `Branch: fix-empty-input` with a name for the new branch"
    : "";
  const system = prompt.replace("{branch}", naming)
    .replace("{template}", template === "" ? "No headings where a few sentences do." : KEEP_TEMPLATE);
  const { name, ...parts } = await writtenBy(assembly, {
    ...{ agent: "pull_request", description: "write title and text", system, signal: options.signal },
    prompt: [
      material("template", template),
      material("commits, newest first", cut(branch.change.messages.join("\n\n"), MAX_SESSION)),
      await sessionText(branch, assembly, options),
      await changeText(branch.change, assembly),
      wishes(hint),
    ].join(""),
  }, (reply) => {
    const clean = cleanMessage(reply, [hint, template].join("\n"));
    const named = /^\W*branch:\s*(.+)\n/i.exec(clean);
    const { title, body } = partsOf(named ? cleanMessage(clean.slice(named[0].length)) : clean);
    if (title === "") return NO_TEXT;
    const missing = headingsOf(template).filter((heading) => !headingsOf(body).includes(heading));
    const problem = title.length > MAX_TITLE
      ? `the title has ${title.length} characters, ${MAX_TITLE} are allowed`
      : missing.length > 0
      ? `headings of the template are missing: ${missing.join(", ")}`
      : undefined;
    const name = named?.[1] ?? title.toLowerCase();
    return { value: { name, title, body: fitTemplate(body, template) }, problem };
  });
  return { branch: branch.name ?? await freeName(name, branch), ...parts };
}

const KEEP_TEMPLATE =
  "The text is the template, filled in: all its headings and check boxes, in its order, in its language. Leave every " +
  "box unchecked: the author checks them. Remove the comments that explain it.";

function partsOf(text: string): Pick<Draft, "title" | "body"> {
  const [title = "", ...rest] = text.trim().split("\n");
  return { title: oneLine(title, 250), body: rest.join("\n").trim().slice(0, MAX_BODY).toWellFormed() };
}

const HEADING = /^#{1,6}\s+\S.*$/gm;
const COMMENT = /<!--[\s\S]*?-->/g;
const BOX = /^\s*(?:[-*+]|\d+\.)\s+\[([ xX])\]\s+(.*\S)/;

function headingsOf(text: string): string[] {
  const visible = text.replace(COMMENT, "").replace(/^```[\s\S]*?^```/gm, "");
  return (visible.match(HEADING) ?? []).map((heading) => heading.trim());
}

/** Keeps headings and check boxes of the template; a box is checked only where the template checks it. */
export function fitTemplate(body: string, template: string): string {
  const asked = template.replace(COMMENT, "").split("\n").map((line) => {
    const [, mark = " ", text] = BOX.exec(line) ?? [];
    return { line, text, checked: mark !== " " };
  });
  const lines = body.split("\n").map((line) => {
    const keeps = asked.some(({ text, checked }) => checked && text !== undefined && line.includes(text));
    return keeps ? line : line.replace(/^(\s*(?:[-*+]|\d+\.)\s+)\[[xX]\](?=\s)/, "$1[ ]");
  });
  const missing = asked.filter(({ line, text }) => {
    if (text === undefined && !/^#{1,6}\s+\S/.test(line)) return false;
    const shown = line.trim();
    return !lines.some((each) => each.trim() === shown || (text !== undefined && each.trim().endsWith(text)));
  }).map(({ line }) => line);
  return [...lines, ...missing.length > 0 ? ["", ...missing] : []].join("\n").trim();
}

const TEMPLATES =
  /^(?:(?:\.github|\.gitea|\.forgejo|docs)\/)?pull_request_template(?:\/[^/]+)?\.(?:md|txt)$|^\.gitlab\/merge_request_templates\/[^/]+\.md$/i;

/** The template of the repository, as it is committed: a link out of the repository is none. */
async function templateOf(
  { git, top, change }: Branch,
  kind: HostKind,
  { host, yes }: PullRequestOptions,
): Promise<string> {
  const listing = ["ls-tree", "-r", "-z", "--name-only", "HEAD"];
  const places = [".github", ".gitlab", ".gitea", ".forgejo", "docs"];
  const inPlaces = entries((await git.run([...listing, "--", ...places], { cwd: top })).text);
  const atTop = entries((await git.run(["ls-tree", "-z", "--name-only", "HEAD"], { cwd: top })).text);
  const found = [...inPlaces, ...atTop].filter((path) =>
    TEMPLATES.test(path) && path.startsWith(".gitlab/") === (kind === "gitlab")
  );
  if (found.length === 0) return "";
  const usual = found.find((path) => /(?:template|\/default)\.(?:md|txt)$/i.test(path)) ??
    (found.length === 1 || yes ? found[0] : undefined);
  const path = usual ?? await choose(host, message`Which template?`, found);
  const bytes = path === undefined ? undefined : await change.head.read(path);
  return bytes ? new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n").slice(0, MAX_SESSION).trim() : "";
}

/** The latest conversation in the directory since the branch began: the user's words and the last answers. */
async function sessionText(
  { git, top, change }: Branch,
  { paths: { home }, redact }: Assembly,
  { cwd }: PullRequestOptions,
): Promise<string> {
  const log = ["log", "-1", "--no-show-signature", "--format=%cI", change.base.id ?? "HEAD"];
  const began = await git.run(log, { cwd: top });
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
  const name = branch.name ?? (yes ? draft.branch : await askName(draft.branch, branch, host));
  if (name === undefined) return undefined;
  let current = { ...draft, branch: name };
  const { push, target, base, kept, head } = branch;
  for (;;) {
    signal.throwIfAborted();
    const text = `${current.title}\n\n${current.body}`;
    await keep(kept, `reasonix-pr ${head} ${base} ${current.branch}\n${text}`);
    if (yes) return current;
    host.show(text);
    const question = service.create
      ? message`Push ${current.branch} to ${push.name} (${push.url}), and open this pull request into ${base} of ${
        target.address?.path ?? target.name
      }?`
      : message`Push ${current.branch} to ${push.name} (${push.url})?`;
    const answer = await host.choose(question, [
      { label: service.create ? message`push and open` : message`push`, key: "y", value: "yes" },
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

async function askName(proposed: string, branch: Branch, host: GitHost): Promise<string | undefined> {
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

async function makeBranch(name: string, branch: Branch, options: PullRequestOptions): Promise<void> {
  const { git, top, checkedOut, base, target, kept } = branch;
  const code = await runUserGit(["switch", "--create", name], top, options);
  const now = (await git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], { cwd: top })).text.trim();
  if (now !== name) {
    throw new ReasonixError(
      message`Cannot make the branch ${name}: git switch ended with exit code ${code}`,
      { remedy: message`the text is in ${kept}` },
    );
  }
  if (checkedOut !== undefined) {
    const back = `git branch --force ${checkedOut} ${target.name}/${base}`;
    options.host.report(message`${checkedOut} still has the commits too; ${`\`${back}\``} sets it back`);
  }
}

async function push(name: string, branch: Branch, options: PullRequestOptions): Promise<void> {
  const { top, push: remote } = branch;
  const words = ["push", "--set-upstream", remote.name, `refs/heads/${name}:refs/heads/${name}`];
  const code = await runUserGit(words, top, options);
  if (code === 0) return;
  const remedy =
    message`if it has commits that are not here, run ${`git pull --rebase ${remote.name} ${name}`}; then run this again`;
  throw new ReasonixError(
    message`Cannot push ${name} to ${remote.name}: git push ended with exit code ${code}`,
    { remedy, exit: options.signal.aborted ? "interrupt" : "failed" },
  );
}
