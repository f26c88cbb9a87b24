/**
 * The npm package at run time: the platform, the runtime that npm installed, and the command that starts the
 * program with it. Every Node that may start it has to read it, so that it uses no recent syntax.
 */
"use strict";
const { spawnSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const process = require("process");

const manifest = require("./package.json");
const name = manifest.name;
const leastNode = Number(/[0-9]+/.exec(manifest.engines.node)[0]);

/** An error as the program writes it: its sentence and the remedy. */
function lines(error, remedy) {
  return "error: " + error + "\n       " + remedy + "\n";
}

/** Returns the reason why the program cannot run here, or undefined. */
exports.unsupported = function () {
  if (Number(process.versions.node.split(".")[0]) < leastNode) {
    return lines(
      "Node " + process.versions.node + " is too old for " + name,
      "install Node " + leastNode + " or later, and then " + name + " again",
    );
  }
  const platform = process.platform + " on " + process.arch;
  if (manifest.os.indexOf(process.platform) < 0 || manifest.cpu.indexOf(process.arch) < 0) {
    return lines(
      "There is no runtime for " + platform,
      "it exists for Linux, macOS and Windows on 64-bit x86 and ARM processors",
    );
  }
  if (isMusl()) {
    return lines(
      "There is no runtime for Linux with musl (Alpine)",
      "use a system or an image with glibc, such as Debian or Ubuntu",
    );
  }
};

/** Reports whether programs of this Linux are linked with musl. */
function isMusl() {
  if (process.platform !== "linux") return false;
  const loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
  if (loaders.some(fs.existsSync)) return false;
  try {
    return fs.readdirSync("/lib").some((file) => file.indexOf("ld-musl-") === 0);
  } catch (_) {
    return false;
  }
}

/** Returns the path of the runtime that npm installed for this platform, or undefined. */
exports.runtime = function () {
  const libc = process.platform === "linux" ? "-glibc" : "";
  const target = "@deno/" + process.platform + "-" + process.arch + libc;
  const file = process.platform === "win32" ? "deno.exe" : "deno";
  try {
    const deno = path.dirname(require.resolve("deno/package.json"));
    const directory = path.dirname(require.resolve(target + "/package.json", { paths: [deno] }));
    const found = path.join(directory, file);
    return fs.existsSync(found) ? found : undefined;
  } catch (_) {
    return undefined;
  }
};

/** Returns the reason why the runtime is not there. */
exports.missing = function () {
  return exports.unsupported() || lines(
    "Cannot find the runtime: npm did not install the package of this platform",
    "check the network and the free space on the disk, then: npm install -g " + name + " --include=optional",
  );
};

/** Returns the reason why files are missing or cut off: npm only warns when the disk is full. */
exports.incomplete = function () {
  const found = exports.runtime();
  if (found === undefined) return exports.missing();
  const cut = Object.keys(manifest.sizes).find((file) => {
    try {
      return fs.statSync(path.join(__dirname, file)).size !== manifest.sizes[file];
    } catch (_) {
      return true;
    }
  });
  const starts = spawnSync(found, ["--version"], { encoding: "utf8" });
  if (cut === undefined && starts.status === 0) return undefined;
  return lines(
    "Cannot install " + name + ": " + (cut || found) + " is not complete",
    "check the network and the free space on the disk, then install it again; nothing was installed",
  );
};

exports.program = path.join(__dirname, "lib", "reasonix.js");

/** Returns the shell command that starts the program with this runtime. */
exports.shellCommand = function (runtime) {
  const words = { "@RUNTIME@": runtime, "@PROGRAM@": exports.program };
  return fs.readFileSync(path.join(__dirname, "command.sh"), "utf8").replace(
    /@RUNTIME@|@PROGRAM@/g,
    (word) => "'" + words[word].replace(/'/g, "'\\''") + "'",
  );
};

exports.name = name;

/** The start flags, for where no shell starts the program. */
exports.flags = manifest.startFlags;
