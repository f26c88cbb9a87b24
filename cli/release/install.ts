/**
 * Entry of `install.js`: installs the release whose directory has this file, on any server. It is one file,
 * so that `deno run -A https://HOST/install.js` loads nothing that is not verified.
 */
import { compareVersions, openRelease, type Release } from "./download.ts";
import { installVersion, interrupted } from "./install_version.ts";
import { commandText, directoryOf, lockStore, nameIn, storeOf, versionsOf } from "./store.ts";
import { EXIT, message, ReasonixError } from "../../src/core/mod.ts";
import { VERSION } from "../../src/util/version.ts";

async function install(address: string): Promise<void> {
  const env = Deno.env.toObject();
  const store = storeOf(env, "address");
  const before = commandText(store);
  const release = await openRelease(directoryOf(address));
  refuseOther(release, nameIn(before ?? "")?.replace(/\+\w+$/, ""), env.REASONIX_VERSION);
  if (!release.isSigned) {
    write("Signatures are not checked: this build names no key. The server vouches for the files.");
  }
  try {
    using _lock = lockStore(store);
    await installVersion(store, release, {
      channel: "address",
      mirror: release.directory,
      signal: untilSignal(),
      onDownload: () => write(`Downloading Reasonix ${release.version} from ${release.directory}`),
    });
  } finally {
    // After a failure they may be empty.
    for (const directory of [versionsOf(store), store.root]) await Deno.remove(directory).catch(() => {});
  }
  write(`Installed Reasonix ${release.version} as ${store.command}`);
  const separator = Deno.build.os === "windows" ? ";" : ":";
  const directory = directoryOf(store.command);
  if (!(env.PATH ?? "").split(separator).includes(directory)) {
    write(`Add ${directory} to PATH, or start it by its path`);
  }
  write("Next: reasonix setup");
}

/**
 * An older release is installed only by its number: a server may offer one that has known faults, and its
 * signature is valid for ever.
 */
function refuseOther(
  { version, directory }: Release,
  installed: string | undefined,
  wanted: string | undefined,
): void {
  if (wanted !== undefined && wanted !== version) {
    throw new ReasonixError(
      message`Cannot install version ${wanted}: ${directory} has version ${version}`,
      { remedy: message`use the address of that version, or unset REASONIX_VERSION` },
    );
  }
  if (wanted !== undefined) return;
  const remedy = message`to install it nevertheless, set REASONIX_VERSION=${version}`;
  if (installed !== undefined && compareVersions(version, installed) < 0) {
    throw new ReasonixError(
      message`Cannot install version ${version}: version ${installed} is installed, which is newer`,
      { remedy },
    );
  }
  if (compareVersions(version, VERSION) < 0) {
    throw new ReasonixError(
      message`Cannot install version ${version}: the server has install.js of version ${VERSION}, which is newer`,
      { remedy },
    );
  }
}

function write(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

/** Aborts at the first Ctrl-C or request to terminate. */
function untilSignal(): AbortSignal {
  const control = new AbortController();
  Deno.addSignalListener("SIGINT", () => control.abort(interrupted("interrupted")));
  const other = Deno.build.os === "windows" ? "SIGBREAK" : "SIGTERM";
  Deno.addSignalListener(other, () => control.abort(interrupted("terminated")));
  return control.signal;
}

try {
  await install(import.meta.url);
  Deno.exit();
} catch (error) {
  if (!(error instanceof ReasonixError)) throw error;
  const remedy = error.remedy === undefined ? "" : `\n       ${error.remedy}`;
  Deno.stderr.writeSync(new TextEncoder().encode(`error: ${error.message}${remedy}\n`));
  Deno.exit(EXIT[error.exit]);
}
