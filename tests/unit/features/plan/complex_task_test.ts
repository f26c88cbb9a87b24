import { isComplexTask } from "../../../../src/features/plan/session_plans.ts";
import { say } from "../../../support/agent_fixture.ts";
import { assertEquals } from "../../../support/assert.ts";
import { onPlanStage } from "../../../support/plan_stage.ts";

const COMPLEX = [
  "Refactor the whole session package so that events are read lazily",
  "Migrate all tests from Jest to Vitest and update the CI",
  "Rewrite the parser across the codebase to use the new AST",
  "Split up the monolithic server into modules and redesign the database layer",
  "Port the entire project from JavaScript to TypeScript",
  "Implement user accounts:\n- sign-up\n- login\n- password reset\n- tests",
  "Add a plugin system\n1. registry\n2. loader\n3. sandbox",
  "重构整个会话模块，让事件按需读取",
  "把所有测试从 Jest 迁移到 Vitest，并更新 CI",
  "将整个项目从 JavaScript 移植到 TypeScript",
  "实现用户账户：\n1、注册\n2、登录\n3、重置密码",
  "全面改造数据库层，拆分各个模块",
];

const SIMPLE = [
  "",
  "hello",
  "fix the typo in README.md",
  "What does the session package do?",
  "How is the whole architecture organised?",
  "why do all tests fail after the migration to Vitest?",
  "explain the refactoring in the last commit",
  "rename the variable foo to bar in a.ts",
  "refactor this function",
  "add a test for parse",
  "add a comment to every exported function in a.ts",
  "run all the tests",
  "optimize the query",
  "research the API of the library",
  "verify that the long term plan holds",
  "create a file hello.txt, then print it",
  "update the dependencies",
  "list all services",
  "Could you rewrite this sentence?",
  "/review refactor the whole project",
  "!migrate all",
  "# rewrite everything",
  "- one\n- two\n- three",
  "修复 README.md 里的错别字",
  "整个项目的架构是怎样的？",
  "为什么迁移之后所有测试都失败",
  "解释一下上次提交的重构",
  "重构这个函数",
  "给 parse 增加一个测试",
  "运行所有测试",
  "优化查询",
  "列出所有服务",
];

Deno.test("isComplexTask returns true only for broad work, in English and in Chinese", () => {
  assertEquals(COMPLEX.filter((task) => !isComplexTask(task)), []);
  assertEquals(SIMPLE.filter((task) => isComplexTask(task)), []);
});

const [TASK = ""] = COMPLEX;
const config = { agent: { auto_plan: true } };

Deno.test("a complex task enters plan mode in every approval mode, with a notice and a message to the model", async () => {
  for (const approvalMode of ["ask", "auto", "yolo"] as const) {
    const options = { replies: [say("ok"), say("ok")], answers: [], config, approvalMode };
    await onPlanStage(
      { ...options, permissionMode: "workspace-write" },
      async ({ assembly, requests, all }) => {
        await assembly.run("rename foo");
        assertEquals(assembly.modes.collaboration, "normal");
        await assembly.run(TASK);
        assertEquals([assembly.modes.collaboration, assembly.modes.approval], ["plan", approvalMode]);
        assertEquals(all("notice").filter(({ code }) => code === "plan").length, 1);
        const notices = requests[1]?.filter(({ content }) =>
          String(content).startsWith("<mode>\nPlan mode is on")
        );
        assertEquals(notices?.length, 1);
      },
    );
  }
});

Deno.test("no plan is requested in a headless run, in read-only mode, or without the setting", async () => {
  const cases = [
    { config },
    { config, answers: [], permissionMode: "read-only" },
    { answers: [] },
  ] as const;
  for (const each of cases) {
    const options = { permissionMode: "workspace-write" as const, ...each, replies: [say("ok")] };
    await onPlanStage(options, async ({ assembly, all }) => {
      await assembly.run(TASK);
      assertEquals([assembly.modes.collaboration, all("plan.change").length], ["normal", 0]);
    });
  }
});
