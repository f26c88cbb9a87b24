/**
 * Scripts that npm executes around the installation: before it the check of the platform, after it the
 * replacement of the launcher by the shell command, which starts three times as fast. The launcher remains on
 * Windows, on a read-only disk, and where another program than npm makes the links to it.
 */
"use strict";
const fs = require("fs");
const path = require("path");
const process = require("process");
const { runtime, shellCommand, unsupported } = require("./package.cjs");

function check() {
  const reason = unsupported();
  if (reason === undefined) return;
  process.stderr.write(reason);
  process.exitCode = 1;
}

function replaceLauncher() {
  const isNpm = /^npm\//.test(process.env.npm_config_user_agent || "");
  const deno = runtime();
  if (!isNpm || process.platform === "win32" || deno === undefined) return;
  const file = path.join(__dirname, "bin", "reasonix");
  const made = file + ".new";
  try {
    fs.writeFileSync(made, shellCommand(deno), { mode: 0o755 });
    fs.chmodSync(made, 0o755);
    fs.renameSync(made, file);
  } catch (_) {
    // The launcher works without it.
    try {
      fs.unlinkSync(made);
    } catch (_) { /* it was not made */ }
  }
}

if (process.argv[2] === "check") check();
else replaceLauncher();
