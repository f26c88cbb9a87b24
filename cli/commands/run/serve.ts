import { readFileSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { choice, command, flag, type FlagsOf, option, toggle } from "../../command.ts";
import { SESSION_FLAGS } from "../../run_flags.ts";
import { languageOf, textsFor } from "../../terminal/language.ts";
import { type CliContext, errorText, logDefect, onSignals, runPaths } from "../../terminal/process.ts";
import { loadRunConfig } from "./config.ts";
import { unnamedProvider } from "../../../src/config/mod.ts";
import { errorMessage, EXIT, message, usageError } from "../../../src/core/mod.ts";
import { FRONTENDS } from "../../../src/frontend/mod.ts";
import { findSession } from "../../../src/session/mod.ts";
import { defined } from "../../../src/util/json.ts";
import { lazy } from "../../../src/util/lazy.ts";
import { openInBrowser } from "../../../src/util/network/browser.ts";

const FLAGS = {
  addr: option("Listen here; default: serve.addr, 127.0.0.1:8787", "host:port"),
  auth: choice("Set the sign-in; default: serve.auth_mode, token", ["token", "password", "none"]),
  token: option("Accept this token of scripts as well", "token"),
  tokenFile: option("Read that token from a file", "file"),
  password: option("Sign in with this password", "password"),
  hashPassword: flag("Print the bcrypt hash of --password, or of standard input"),
  share: flag("Print a link for viewers as well, who can only look"),
  open: toggle("Open the page in the browser"),
  tlsCert: option("Serve HTTPS with this certificate (PEM)", "file"),
  tlsKey: option("Set the private key of the certificate (PEM)", "file"),
  behindProxy: flag("Trust X-Forwarded-* headers of a reverse proxy"),
  origin: option("Set the public address, such as https://agent.example.org", "url"),
  insecure: flag("Allow plain HTTP beyond this machine"),
  pidFile: option("Write the process id to a file", "file"),
  portFile: option("Write the address, host:port, to a file", "file"),
  resume: option("Begin with this session", "id", { complete: "sessions" }),
  browserBroker: flag("Without effect", { hidden: true }),
  detachedHeal: flag("Without effect", { hidden: true }),
  sessionEvents: flag("Without effect", { hidden: true }),
} as const;

const SPEC = { flags: { ...SESSION_FLAGS, ...FLAGS }, aliases: { m: "model" } } as const;

type ServeFlags = FlagsOf<typeof SPEC.flags>;

/** Serves the page until a signal stops it. `isWeb`: at the next free port, in the browser. */
async function serve(context: CliContext, flags: ServeFlags, isWeb: boolean): Promise<void> {
  const { serveWeb, hashPassword, LiveSessions, SessionTexts } = await FRONTENDS.web();
  const { serverOptions } = await import("./hand_over.ts");
  const { stdout, env } = context.process;
  if (flags.hashPassword) {
    const password = flags.password ?? readFileSync(0, "utf8").replace(/\r?\n$/, "");
    return stdout.write(`${await hashPassword(password)}\n`);
  }
  const end = Promise.withResolvers<number>();
  onSignals({
    stop: (reason) => end.resolve(EXIT[reason === "interrupted" ? "interrupt" : "terminated"]),
    exit: (code) => process.exit(code),
  });
  const { resume, sessionId, token: _token, ...rest } = flags;
  const paths = runPaths(context, flags.dir);
  const load = () => loadRunConfig(paths, { ...rest, outputFormat: "text", ignoreUntrusted: true });
  const loaded = await load();
  const { tlsCert, tlsKey, tokenFile, password, insecure = false } = flags;
  const isTls = tlsCert !== undefined || tlsKey !== undefined;
  const fileToken = tokenFile === undefined ? "" : contentOf("--token-file", tokenFile).trim();
  const set = {
    ...loaded.config.serve,
    ...defined({
      addr: flags.addr,
      auth_mode: flags.auth ?? (password === undefined ? undefined : "password"),
      token: fileToken || flags.token || env.REASONIX_SERVE_TOKEN || undefined,
      password_hash: password === undefined ? undefined : await hashPassword(password),
      behind_proxy: flags.behindProxy,
      origin: flags.origin,
    }),
  };
  const { locale } = languageOf(context, loaded);
  const [t, texts] = await Promise.all([textsFor("serve", context, loaded), SessionTexts.load(locale)]);
  const opener = lazy(async () =>
    (await import("./open_chat.ts")).chatOpener(context, { ...rest, program: "web" })
  );
  const sessions = new LiveSessions({
    texts,
    setUp: async (person) => await (await import("./open_chat.ts")).setUpAt(context, person),
    open: async (request, person) => await (await opener())({ waitForServers: false, ...request }, person),
  });
  const linkOf = (role: "owner" | "viewer") => {
    return role === "owner" ? t.signIn(server.link(role)) : t.watch(server.link(role));
  };
  const server = await serveWeb({
    ...serverOptions(set, isWeb),
    ...{ insecure, sessions, texts, home: paths.home, directory: paths.cwd },
    tls: isTls ? { cert: contentOf("--tls-cert", tlsCert), key: contentOf("--tls-key", tlsKey) } : undefined,
    only: sessionId ?? (resume === undefined ? undefined : findSession(paths.home, resume, paths).id),
    configured: async () => (unnamedProvider(await load())?.key ?? "environment") === "environment",
    failed(error) {
      context.process.stderr.write(`${errorText(error)}\n`);
      void logDefect(error, context);
    },
    signedIn: (role, from) => {
      stdout.write(`${t.signedIn(from, t[role])}\n${set.auth_mode === "token" ? `${linkOf(role)}\n` : ""}`);
    },
  });
  try {
    if (sessionId !== undefined) await sessions.open({ sessionId });
    const files = [[flags.pidFile, process.pid], [flags.portFile, new URL(server.local).host]] as const;
    for (const [file, text] of files) if (file !== undefined) writeTo(file, `${text}\n`);
    const notes = [
      t.serves(server.origin),
      ...(set.auth_mode === "token" ? [linkOf("owner"), t.once] : set.auth_mode === "none" ? [t.open] : []),
      ...(flags.share ? [linkOf("viewer")] : []),
      ...(insecure && !isTls ? [t.plain] : []),
      ...(set.behind_proxy && set.origin === "" ? [t.proxy] : []),
      t.stop,
    ];
    stdout.write(`${notes.join("\n")}\n`);
    if (flags.open ?? isWeb) openInBrowser(new URL(server.link("owner")), [paths.cwd]);
    context.process.exitCode = await end.promise;
    for (const [file] of files) if (file !== undefined) rmSync(file, { force: true });
  } finally {
    await server.close();
    await sessions.close();
  }
}

function contentOf(flagName: string, file: string | undefined): string {
  if (file === undefined) {
    throw usageError(message`Cannot serve HTTPS without ${flagName}`, message`give --tls-cert and --tls-key`);
  }
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageError(message`Cannot read ${file} of ${flagName}: ${errorMessage(error)}`);
  }
}

function writeTo(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw usageError(message`Cannot write ${file}: ${errorMessage(error)}`);
  }
}

export const serveCommand = command({
  description: "Serve the web page, and an API for scripts (docs/web-api.md), at a fixed address.\n" +
    "The page shows the sessions of all projects. Flags of sessions count for all\n" +
    "of them.",
  ...SPEC,
  run(flags) {
    return serve(this, flags, false);
  },
});

export const webCommand = command({
  description: "Open the web page: as reasonix serve, at the next free port, in the browser\n" +
    "($BROWSER). Closing the page stops nothing; Ctrl-C stops the server.",
  ...SPEC,
  run(flags) {
    return serve(this, flags, true);
  },
});
