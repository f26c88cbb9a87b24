import type { TurnOutcome } from "../../agent/mod.ts";
import {
  errorMessage,
  type Event,
  message,
  type NewEvent,
  type NewEventOf,
  newNotice,
} from "../../core/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import type {
  Features,
  PlanAnswer,
  PlanApproval,
  PlanController,
  PlanProposal,
  PlanReviewer,
  RunContext,
  TurnInput,
} from "../../run/mod.ts";
import type { SessionState, TodoItem } from "../../session/mod.ts";
import { checklist, type PlanReply, type TodoStore } from "../../tool/mod.ts";

/** Most steps of a todo list. */
const MAX_STEPS = 50;
const MAX_LENGTH = 300;

const NUMBERED = /^(?:\d{1,3}\s*[.)、．]|[（(]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}、)\s*(\S.*)$/u;
const CHECKBOX = /^[-*+]\s+\[[ xX]\]\s+(\S.*)$/;
const BULLET = /^[-*+•]\s+(\S.*)$/u;

/**
 * The steps of a plan, in order: its numbered items that are not part of another one, where there are none
 * its checkboxes, else its bullets. Fenced code has none. Empty for prose.
 */
export function planSteps(plan: string): readonly string[] {
  const lines = topLines(plan);
  for (const kind of [NUMBERED, CHECKBOX, BULLET]) {
    const steps = lines.flatMap((line) => kind.exec(line)?.[1] ?? []).map(plainStep).filter((step) =>
      step !== ""
    );
    if (steps.length > 0) return [...new Set(steps)].slice(0, MAX_STEPS);
  }
  return [];
}

/** Lines that belong to no other item and to no code. */
function topLines(plan: string): string[] {
  let fence = "";
  return plan.split(/\r?\n/).filter((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== "") {
      if (mark?.startsWith(fence)) fence = "";
      return false;
    }
    if (mark) fence = mark;
    return !mark && /^\S/.test(line);
  });
}

/** A step without the marks of Markdown around its words, in one line. */
function plainStep(text: string): string {
  const plain = text.replace(/\*\*|__/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ")
    .trim();
  const characters = [...plain];
  return characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH - 1).join("")}…` : plain;
}

/** Recognizes questions, for which no plan is made. */
const QUESTION =
  /^(?:what|why|how (?:do|does|is|are|can|much|many)|where|which|who|when|is|are|does|do|can you (?:explain|tell)|explain|describe|show|list|find|tell|summari[sz]e)\b|^(?:什么|为什么|怎么|如何|哪|谁|是否|解释|说明|介绍|列出|查找|总结)|[?？]\s*$/i;

/** Work of a kind that goes through a whole project. */
const BROAD =
  /\b(?:refactor|rewrite|re-?architect|redesign|restructure|migrate|port|overhaul|modernis|moderniz|moderni[sz]e|split (?:up )?the|replace (?:all|every)|convert (?:all|every|the whole))\b|重构|重写|迁移|改造|重新设计|拆分|移植|整体改|全面/i;

/** It concerns more than a place. */
const WIDE =
  /\b(?:entire|whole|all|every|across|throughout|end[- ]to[- ]end|codebase|project|repository|modules|services|packages|subsystem|architecture|database|schema|api)\b|整个|所有|全部|各个|跨|全项目|代码库|模块|服务|架构|数据库|接口/i;

const BUILD =
  /\b(?:implement|build|design|introduce|integrate|develop|create|add)\b|实现|构建|设计|引入|集成|开发|新增|增加/i;

const JOINED =
  /\b(?:then|after that|afterwards|finally|as well as|and also)\b|然后|接着|之后|最后|同时|并且|以及|还要/gi;

const ITEM = /^[^\S\n\r\u2028\u2029]*(?:[-*+•]|\d{1,2}\s*[.)、．]|[（(]\d{1,2}[)）])\s*\S/gmu;

/**
 * Reports whether a task of the user deserves a plan: a broad change of a wide
 * area, three listed things to build or change, or a long description of them. Conservative: questions, small
 * edits and anything that begins with a command are none.
 */
export function isComplexTask(text: string): boolean {
  const task = text.trim();
  if (task === "" || /^[/!#]/.test(task) || QUESTION.test(task)) return false;
  const isBroad = BROAD.test(task);
  const isBuilt = BUILD.test(task);
  if (!isBroad && !isBuilt) return false;
  const items = task.match(ITEM)?.length ?? 0;
  if (items >= 3) return true;
  const joined = task.match(JOINED)?.length ?? 0;
  if (isBroad && (WIDE.test(task) || joined >= 2)) return true;
  return sizeOf(task) >= 60 && joined >= 2 && WIDE.test(task);
}

/** Work that changes something, of a common kind. */
const WORK =
  /\b(?:fix|change|update|remove|delete|rename|move|extract|support|handle|make|write|test|optimi[sz]e|improve|debug|investigate|clean|upgrade|replace|configure|extend|simplify|document)\b|修复|修改|更新|删除|重命名|优化|改进|支持|编写|添加|调试|升级|替换|清理|扩展|简化/i;

const PLAN_WISH =
  /\bplan (?:first|it|this|how|the)\b|\b(?:make|write|draw up|work out|propose|begin with|start with) (?:a|the) plan\b|先(?:做|写|想|制定)?(?:一?个)?(?:计划|规划|方案)|制定.{0,4}(?:计划|方案)/i;

/** The beginning of an answer to what the model said. */
const REPLY =
  /^(?:(?:yes|no|ok(?:ay)?|sure|thanks?|thank you|right|correct|go (?:on|ahead)|continue|proceed|looks good|lgtm)\b|(?:好|可以|继续|是的|不是|不用|不要|对|谢谢|没错))/i;

/** A request in the form of a question. */
const POLITE =
  /^(?:please\s+)?(?:can|could|would|will) you\s+(?:please\s+)?(?!explain|tell)|^(?:请)?(?:你)?能(?:不能|否)?/i;

/** Words from which on a task is more than a single change. */
const SEVERAL_WORDS = 12;
/** Words from which on a text that names no work is a description of it. */
const DESCRIPTION_WORDS = 40;

/**
 * Reports whether a task of the user deserves the planner model: a complex one, one that asks
 * for a plan, and a change that takes a sentence or a list to describe. Conservative: answers to the model,
 * questions, single small changes and anything that begins with a command are none.
 */
export function isTaskToPlan(text: string): boolean {
  const given = text.trim();
  if (given === "" || /^[/!#]/.test(given)) return false;
  if (PLAN_WISH.test(given) || isComplexTask(given)) return true;
  const asked = given.replace(POLITE, "");
  const task = asked === given ? given : asked.replace(/[?？吗]+\s*$/, "");
  if (REPLY.test(task) || QUESTION.test(task)) return false;
  const size = sizeOf(task);
  if (![WORK, BUILD, BROAD].some((words) => words.test(task))) return size >= DESCRIPTION_WORDS;
  return size >= SEVERAL_WORDS || (task.match(ITEM)?.length ?? 0) >= 2;
}

/** Words of a text; a Chinese word has about two characters. */
function sizeOf(text: string): number {
  const wide = text.match(/[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]/g)?.length ?? 0;
  const words = text.match(/[\p{Script=Latin}\p{Script=Cyrillic}\p{N}_'-]+/gu)?.length ?? 0;
  return words + wide / 2;
}

/** No one reads a longer one, and the tool's result may have to repeat it. */
const MAX_PLAN = 30_000;

/**
 * The plans of a session: proposed by the model, decided by the user, executed within the window that an
 * approval opens. What it knows is in the session's events; nothing but a reviewer approves a plan.
 */
export class SessionPlans implements PlanController {
  readonly #deps: RunContext;
  /** A plan was proposed by a call of this turn. */
  #proposed = false;
  /** The approved plan is being executed, or will be by the next turn. */
  #underWay = false;

  constructor(deps: RunContext) {
    this.#deps = deps;
    deps.extensions.add({
      onEvent: (event) => this.#follow(event),
      after: (outcome, signal) => this.#after(outcome, signal),
    });
  }

  get #reviewer(): PlanReviewer | undefined {
    return this.#deps.options.planReviewer;
  }

  get latest(): SessionState["plan"] {
    return this.#deps.recorder.state.plan;
  }

  get pending(): PlanProposal | undefined {
    return this.#deps.modes.planWaits ? this.latest : undefined;
  }

  get attended(): boolean {
    return this.#reviewer !== undefined;
  }

  async propose(plan: string, signal: AbortSignal): Promise<PlanReply> {
    const { modes } = this.#deps;
    const reviewer = this.#reviewer;
    const text = plan.trim();
    if (modes.collaboration !== "plan") {
      return refusal("Cannot propose a plan: plan mode is off; continue with the work itself");
    }
    if (text === "") return refusal("Cannot propose a plan: it is empty; write its steps as Markdown");
    if (text.length > MAX_PLAN) {
      const size = `${text.length} characters, at most ${MAX_PLAN} are read`;
      return refusal(`Cannot propose a plan of ${size}; say what matters and leave details to its steps`);
    }
    this.#proposed = true;
    const proposal = await this.#present(text);
    if (!reviewer) {
      return {
        content: "The plan is kept; no user is available to approve it now, so this turn is over.",
        summary: message`proposed`,
        endsTurn: { answer: text },
      };
    }
    const answer = await reviewer.review(proposal, signal);
    signal.throwIfAborted();
    if (!answer) {
      const content = "The user has not decided yet. Plan mode stays on; wait for what they say.";
      return { content, summary: message`left open`, endsTurn: { answer: "" } };
    }
    const content = await this.#decide(answer);
    return { content, summary: answer.approve ? message`approved` : message`to be changed` };
  }

  async ask(signal: AbortSignal): Promise<TurnInput | undefined> {
    const { pending } = this;
    const answer = pending && await this.#reviewer?.review(pending, signal);
    signal.throwIfAborted();
    return answer && await this.inputOf(answer);
  }

  async inputOf(answer: PlanAnswer): Promise<TurnInput> {
    const text = await this.#decide(answer);
    return answer.approve
      ? { text, origin: "continue", literal: true }
      : { text: answer.note, origin: "user", literal: true };
  }

  async present(plan: string): Promise<void> {
    await this.#present(plan.trim());
  }

  async reject(): Promise<void> {
    if (this.pending) await this.#record({ state: "rejected" });
  }

  /** Records a decision and its consequences; returns the message to the model. */
  async #decide(answer: PlanAnswer): Promise<string> {
    if (!answer.approve) {
      await this.#record({ state: "revised", ...(answer.note === "" ? {} : { note: answer.note }) });
      const note = answer.note === "" ? "but did not say how; ask" : answer.note;
      return `The user wants the plan changed: ${note}\nPlan mode stays on: propose the changed plan.`;
    }
    return await this.#approve(answer);
  }

  async completeStep(step: number): Promise<PlanReply> {
    const { latest } = this;
    if (latest?.state === "finished") return refusal("The plan is finished already");
    if (latest?.state !== "approved") {
      return refusal(`Cannot complete step ${step}: no plan is approved; propose one in plan mode first`);
    }
    const steps = planSteps(latest.plan);
    if (steps.length === 0) return refusal("The plan has no list of steps; continue without marking them");
    const content = steps[step - 1];
    if (content === undefined) {
      return refusal(`Cannot complete step ${step}: the plan has the steps 1 to ${steps.length}`);
    }
    const { tools: { todos }, modes } = this.#deps;
    todos.set(withStepDone(todos.get(), steps, content));
    const done = todos.get().filter(({ content, status }) =>
      status === "completed" && steps.includes(content)
    );
    if (done.length === steps.length) {
      modes.approvedPlan = false;
      await this.#record({ state: "finished" });
    }
    return { content: checklist(todos.get()), summary: message`${`${done.length}/${steps.length}`} done` };
  }

  async #approve({ plan, note, window, acceptEdits, by }: PlanApproval): Promise<string> {
    const { modes, tools: { todos } } = this.#deps;
    const before = this.latest?.plan ?? "";
    const changed = plan !== undefined && plan.trim() !== before ? plan.trim() : undefined;
    const file = changed === undefined ? undefined : await this.#save(changed);
    await this.#record({
      state: "approved",
      ...(changed === undefined ? {} : { plan: changed }),
      ...(file === undefined ? {} : { file }),
      ...(note ? { note } : {}),
      ...(window ? { window } : {}),
      ...(acceptEdits ? { acceptEdits } : {}),
      ...(by ? { by } : {}),
    });
    await modes.setCollaboration("normal");
    modes.skipAnnouncement();
    if (acceptEdits) modes.allowForSession("Edit");
    modes.approvedPlan = window ?? false;
    this.#underWay = true;
    const steps = planSteps(changed ?? before);
    if (steps.length > 0) todos.set(stepsToDo(steps));
    return approvedText({ changed, note, steps });
  }

  async #present(plan: string): Promise<PlanProposal> {
    const file = await this.#save(plan);
    const proposal = { plan, ...(file === undefined ? {} : { file }) };
    await this.#record({ state: "proposed", ...proposal });
    return proposal;
  }

  async #record(change: Omit<NewEventOf<"plan.change">, "type">): Promise<void> {
    await this.#deps.recorder.record({ type: "plan.change", ...change });
  }

  /** Writes a plan into a file of the session; a failure is a notice. */
  async #save(plan: string): Promise<string | undefined> {
    const { session, redact, recorder } = this.#deps;
    const directory = `${session.paths.dir}/plans`;
    try {
      await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
      for (let number = 1;; number++) {
        const file = `${directory}/plan-${number}.md`;
        try {
          await Deno.writeTextFile(file, `${redact(plan)}\n`, { createNew: true, mode: 0o600 });
          return file;
        } catch (error) {
          if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
        }
      }
    } catch (error) {
      const why = errorMessage(error);
      const text =
        message`The plan cannot be written to ${directory}: ${why}; the session has it all the same`;
      await recorder.record(newNotice("warning", "plan", text));
      return undefined;
    }
  }

  /** Ends an approval with the turn that executed its plan. */
  #follow(event: Event): NewEvent | undefined {
    if (event.type === "turn.start") this.#proposed = false;
    if (event.type !== "turn.end" || !this.#underWay) return undefined;
    this.#underWay = false;
    this.#deps.modes.approvedPlan = false;
    const { latest } = this;
    if (latest?.state !== "approved" || event.reason !== "done") return undefined;
    const items = this.#deps.tools.todos.get();
    const isDone = (step: string) =>
      items.some(({ content, status }) => content === step && status === "completed");
    return planSteps(latest.plan).every(isDone) ? { type: "plan.change", state: "finished" } : undefined;
  }

  /** Treats an answer without a proposal as the plan, where a person cannot discuss it. */
  async #after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    const { modes } = this.#deps;
    const reviewer = this.#reviewer;
    const isPlan = outcome.reason === "done" && !this.#proposed && modes.collaboration === "plan" &&
      outcome.answer.trim() !== "" && (reviewer === undefined || reviewer.takesProse === true);
    if (!isPlan) return undefined;
    const proposal = await this.#present(outcome.answer.trim());
    const answer = await reviewer?.review(proposal, signal);
    return answer && !signal.aborted ? await this.inputOf(answer) : undefined;
  }
}

function refusal(content: string): PlanReply {
  return { content: `error: ${content}`, summary: content, isError: true };
}

type Todos = ReturnType<TodoStore["get"]>;

function stepsToDo(steps: readonly string[]): Todos {
  return steps.map((content, at) => ({ content, status: at === 0 ? "in_progress" : "pending" }));
}

/** The list with one step done; the model may have rewritten it, but the steps of the plan stay on it. */
function withStepDone(items: Todos, steps: readonly string[], done: string): Todos {
  const listed = new Set(items.map(({ content }) => content));
  const whole = [...items, ...stepsToDo(steps).filter(({ content }) => !listed.has(content))]
    .map((item) =>
      item.content === done
        ? { ...item, status: "completed" as const }
        : { ...item, status: item.status === "in_progress" ? "pending" as const : item.status }
    );
  const next = whole.findIndex(({ status }) => status === "pending");
  return whole.map((item, at) => at === next ? { ...item, status: "in_progress" as const } : item);
}

interface Approved {
  readonly changed: string | undefined;
  readonly note: string | undefined;
  readonly steps: readonly string[];
}

function approvedText({ changed, note, steps }: Approved): string {
  return [
    "The user approved the plan. Plan mode is off: execute it now.",
    ...(changed === undefined ? [] : [`They changed it; this is what counts:\n\n${changed}\n`]),
    ...(note ? [`They add: ${note}`] : []),
    ...(steps.length > 0
      ? [
        "Mark each step with complete_step as soon as it is done:",
        ...steps.map((step, at) => `${at + 1}. ${step}`),
      ]
      : []),
  ].join("\n");
}

/** Lets a run have plans from its beginning; a complex task may begin with one. */
export async function attachPlans(
  { modes, extensions, recorder, options }: RunContext,
  { plans }: Features,
): Promise<void> {
  const desk = await plans();
  if (!options.loaded.config.agent.auto_plan || !desk.attended) return;
  extensions.add({
    async before(input) {
      const isFree = modes.collaboration === "normal" && modes.permission !== "read-only" && !input.readOnly;
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      if (!isFree || !isUsers || !isComplexTask(input.text)) return input;
      await modes.setCollaboration("plan");
      await recorder.record(
        newNotice(
          "info",
          "plan",
          message`This task is complex, so it begins in plan mode: nothing changes before you approve a plan; /plan off leaves it`,
        ),
      );
      await modes.announce();
      return input;
    },
  });
}

/** Begins a todo list for a complex task of a session that has none; the model makes it its own. */
export function attachTodos({ modes, extensions, options, registry, tools: { todos } }: RunContext): void {
  let items: readonly TodoItem[] = [];
  extensions.add({
    async before(input) {
      items = [];
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      const isOpen = todos.get().some(({ status }) => status !== "completed");
      if (modes.collaboration !== "normal" || !isUsers || isOpen || !registry.get("todo_write")) return input;
      if (isComplexTask(input.text)) items = await firstTodos(input.text, options);
      return input;
    },
    // After the message: it is part of the turn, and going back takes the list with it.
    onEvent(event) {
      if (event.type !== "message.user" || event.origin !== "user" || items.length === 0) return undefined;
      todos.set(items);
      extensions.notify(
        "A todo list was begun for this task. Before any other call, write the real steps with todo_write, and " +
          `keep them true while you work:\n${checklist(items)}`,
      );
      items = [];
      return undefined;
    },
  });
}

/** The steps that the task lists, else the usual ones. */
async function firstTodos(
  text: string,
  { paths, loaded: { config: { language } } }: RunContext["options"],
): Promise<readonly TodoItem[]> {
  const listed = planSteps(text);
  const { locale } = detectLocale({ env: paths.env, language });
  const steps = listed.length > 1 ? listed : (await loadTexts("setting_commands", locale)).firstTodos;
  return steps.map((content, at) => ({ content, status: at === 0 ? "in_progress" : "pending" }));
}
