#!/usr/bin/env node
/**
 * Starts the program where the shell command could not replace this file. It becomes the shell command if
 * this Node can do that; otherwise it starts it, passes on every signal and ends the way the program ended.
 */
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const { constants } = require("os");
const process = require("process");
const { flags, missing, name, program, runtime, shellCommand } = require("../package.cjs");

const WINDOWS = process.platform === "win32";
/** Signals that end or stop a process, or that its program may wait for. */
const PASSED_ON = WINDOWS
  ? ["SIGINT", "SIGBREAK", "SIGHUP"]
  : ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCONT", "SIGWINCH"];

/** Numbers of the processes that wait for this one, which may end alone: npx, and its shell if it has one. */
function waiting() {
  if (process.env.npm_command !== "exec") return [];
  try {
    const words = fs.readFileSync("/proc/" + process.ppid + "/stat", "utf8").split(" ");
    if (/^\((ba|da|a|z|k)?sh\)$/.test(words[1])) return [process.ppid, words[3]];
  } catch (_) { /* another system than Linux */ }
  return [process.ppid];
}

function start(deno) {
  const args = process.argv.slice(2);
  // The program learns what started it, and the processes whose end it has to notice.
  const environment = (processes) =>
    Object.assign({}, process.env, { REASONIX_LAUNCHER: "node:" + processes.join(",") + ":" + name });
  if (WINDOWS) {
    const words = ["run"].concat(flags, "--no-config", program, args);
    follow(spawn(deno, words, { stdio: "inherit", env: environment([process.pid].concat(waiting())) }));
    return;
  }
  const words = ["-c", shellCommand(deno), "reasonix"].concat(args);
  if (process.execve) {
    process.removeAllListeners("warning");
    process.execve("/bin/sh", ["sh"].concat(words), environment(waiting()));
  }
  follow(spawn("/bin/sh", words, { stdio: "inherit", env: environment([process.pid].concat(waiting())) }));
}

/** Passes signals on to the child until it has ended, and ends the same way. */
function follow(child) {
  PASSED_ON.forEach((signal) => {
    // A console sends its signals to every process of the window.
    process.on(signal, () => WINDOWS || child.kill(signal));
  });
  if (!WINDOWS) {
    process.on("SIGTSTP", () => {
      child.kill("SIGTSTP");
      process.kill(process.pid, "SIGSTOP");
    });
  }
  child.on("error", (error) => fail("error: Cannot start " + child.spawnfile + ": " + error.message + "\n"));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal that does not end this process.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  });
}

function fail(text) {
  process.stderr.write(text);
  process.exitCode = 1;
}

const found = runtime();
if (found === undefined) fail(missing());
else start(found);
