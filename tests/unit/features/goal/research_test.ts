import { demandsResearch, looksLikeResearch } from "../../../../src/features/goal/research.ts";
import { assertEquals } from "../../../support/assert.ts";

const ORDINARY = [
  "optimize this function",
  "research the best library for dates",
  "verify that the tests pass",
  "this is a long term project",
  "do some research",
  "debug the failing test",
  "why is this slow?",
  "what is autoresearch?",
  "how do I use autoresearch?",
  "fix the bug in autoresearch.ts",
  "do not use autoresearch for this",
  "document how to use autoresearch",
  "explain hypothesis testing",
  "write a function that tests a hypothesis",
  "add an experiment flag to the config",
  "keep going until the tests pass",
  "don't stop until it compiles",
  "run the experiment script",
  "write a report about the experiments in data/",
  "implement hypothesis tests and an experiment runner",
  "use hypothesis (the Python library) to test this",
  "rename Hypothesis to Theory",
  "investigate the memory leak",
  "find the root cause of the crash",
  "benchmark the parser",
  "profile the start of the program",
  "reduce the latency of the endpoint",
  "make it faster",
  "keep a log of requests",
  "write a final report",
  "work autonomously",
  "run overnight",
  "measure the time of each step",
  "long-running task: migrate the database",
  "review this change",
  "read the research paper in docs/ and summarise it",
  "tune the hyperparameters in config.yaml",
  'rename the string "use autoresearch"',
  "what does `start autoresearch` do",
  "hello",
  "optimise the images and verify that they load",
  "please research and verify",
  "the experiment failed, see log",
  "优化这个函数",
  "研究一下这个项目",
  "验证测试是否通过",
  "长期维护这个仓库",
  "调研日期库",
  "排查这个错误",
  "什么是自动研究？",
  "如何使用自动研究",
  "不要用自动研究",
  "解释假设检验",
  "写一个实验脚本",
  "一直做直到测试通过",
  "写一份报告",
  "记录所有请求",
  "自主完成这个任务",
  "性能优化",
  "假设用户没有登录，会怎样？",
  "说明自动研究的用法",
  "修复自动研究的测试",
  "跑一下对照实验",
];

const RESEARCH = [
  "Use autoresearch to cut the build time",
  "Start an auto-research on the flaky test",
  "Keep experimenting until p99 is below 50 ms: state hypotheses, run experiments, and keep a log of each",
  "Work on your own overnight. Write hypotheses, measure each experiment, and write a final report.",
  "用自动研究降低构建时间",
  "不要停，直到延迟低于 50 毫秒为止：提出假设，做实验，并记录每次结果",
];

Deno.test("demandsResearch accepts only prompts that request it explicitly", () => {
  assertEquals(ORDINARY.filter(demandsResearch), []);
  assertEquals(RESEARCH.filter((prompt) => !demandsResearch(prompt)), []);
});

Deno.test("looksLikeResearch distinguishes long experiments from small tasks", () => {
  const long = ["Find the root cause of the intermittent crash", "研究并优化查询性能", ...RESEARCH];
  const small = ["Greet the reader", "Optimize imports", "Research this", "写一个函数", "Fix the typo"];
  assertEquals([long.filter((text) => !looksLikeResearch(text)), small.filter(looksLikeResearch)], [[], []]);
});
