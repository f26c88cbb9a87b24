/**
 * Scripts of the installation: first the check of the platform and of the files, whose failure makes npm undo
 * everything; at the end the replacement of the launcher by the shell command, which starts three times as
 * fast. The launcher remains on Windows, on a read-only disk, and where another program than npm makes the
 * links to it.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const process = require("process");

let files;
try {
  files = require("./package.cjs");
} catch (error) {
  const text = "error: Cannot install the package: its files are not complete: " + error.message + "\n" +
    "       check the network and the free space on the disk, then install it again; nothing was installed\n";
  files = { unsupported: () => text, runtime: () => undefined };
}

// Others may execute the scripts before they have put the dependencies in place.
const isNpm = /^npm\//.test(process.env.npm_config_user_agent || "");

exports.check = function () {
  const reason = files.unsupported() || (isNpm ? files.incomplete() : undefined);
  if (reason === undefined) return;
  process.stderr.write(reason);
  process.exitCode = 1;
};

exports.replaceLauncher = function () {
  const deno = files.runtime();
  if (!isNpm || process.platform === "win32" || deno === undefined) return;
  const file = path.join(__dirname, "bin", "reasonix");
  const made = file + ".new";
  try {
    fs.writeFileSync(made, files.shellCommand(deno), { mode: 0o755 });
    fs.chmodSync(made, 0o755);
    fs.renameSync(made, file);
  } catch (_) {
    // The launcher works without it.
    try {
      fs.unlinkSync(made);
    } catch (_) { /* it was not made */ }
  }
};
