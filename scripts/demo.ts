/**
 * `deno task demo`: the real agent repairs a real, broken project. The model's replies are scripted: they
 * are played from demo/cassette.jsonl. With `--live [reasonix flags]` they come from the model of your
 * configuration.
 */
import { createTwoFilesPatch } from "diff";
import { DEMO_TASK, type DemoProject, makeScriptedDemo, PROGRAM } from "./demo_project.ts";
import { run, say, searchPath } from "./process.ts";

const SOURCES = ["src/wrap.ts", "src/duration.ts"];

async function tests(project: string): Promise<boolean> {
  const done = await run(Deno.execPath(), {
    args: ["test", "--quiet"],
    cwd: project,
    env: { NO_COLOR: "1" },
  });
  const names = done.output.split("\n").filter((line) => / \.\.\. (ok|FAILED)/.test(line));
  for (const name of names) say(`   ${name.replace(/ \([\d.]+(?:m|µ)?s\)$/, "")}`);
  say(`   ${done.output.match(/(?:ok|FAILED) \| .*(?= \()/)?.[0] ?? "the tests did not run"}`);
  return done.code === 0;
}

async function showDiff(demo: DemoProject): Promise<void> {
  for (const name of SOURCES) {
    const before = await Deno.readTextFile(new URL(`../demo/project/${name}`, import.meta.url));
    const after = await Deno.readTextFile(`${demo.project}/${name}`);
    if (before !== after) {
      say(
        createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, "", "").replace(/^=+\n/, "").trimEnd(),
      );
    }
  }
}

/**
 * The script continues only while commands print what they printed then, so what keeps them from running the
 * tests has to be said in words. Empty when they can.
 */
async function obstacle(demo: DemoProject): Promise<string> {
  const seen = await run(Deno.execPath(), {
    args: [...PROGRAM, "sandbox", "exec", "--", "deno", "--version"],
    cwd: demo.project,
    env: { REASONIX_HOME: demo.home, NO_COLOR: "1" },
  });
  if (seen.code === 0) return "";
  return `\nIn the way: commands of the agent cannot run deno, which is ${Deno.execPath()} here:\n` +
    `   ${seen.output.trim().replaceAll("\n", "\n   ")}\n` +
    "Move Deno to where the jail shows it (not below /run or /dev), and run the demo again.";
}

async function main(): Promise<number> {
  const live = Deno.args[0] === "--live";
  await using demo = await makeScriptedDemo();
  say(
    live
      ? "Reasonix demo: everything is live, the model included."
      : "Reasonix demo: the model's replies are SCRIPTED (demo/replies.ts), its token figures too; the agent, its tools,\n" +
        "the files and the tests are live. With your own model: deno task demo --live [--model NAME]",
  );
  say(`\n1. A copy of demo/project in ${demo.project}; its tests:`);
  if (await tests(demo.project)) throw new Error("The project of the demo is not broken");
  say(`\n2. reasonix run "${DEMO_TASK}"\n`);
  const agent = await new Deno.Command(Deno.execPath(), {
    args: [...PROGRAM, "run", "--permission-mode", "workspace-write", ...Deno.args.slice(1), DEMO_TASK],
    cwd: demo.project,
    env: { PATH: searchPath(), ...(live ? {} : { REASONIX_HOME: demo.home }) },
    stdin: "null",
  }).spawn().status;
  say("\n3. What changed:");
  await showDiff(demo);
  say("\n4. The tests again:");
  const green = await tests(demo.project);
  if (agent.code !== 0 && !live) say(await obstacle(demo));
  say(
    green && agent.code === 0
      ? "\nThe project is repaired."
      : `\nThe demo failed (reasonix ended with ${agent.code}).`,
  );
  return green && agent.code === 0 ? 0 : 1;
}

Deno.exit(await main());
