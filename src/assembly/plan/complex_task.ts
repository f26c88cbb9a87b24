/** What is asked, not done: such a text never begins with a plan. */
const QUESTION =
  /^(?:what|why|how (?:do|does|is|are|can|much|many)|where|which|who|when|is|are|does|do|can you (?:explain|tell)|explain|describe|show|list|find|tell|summari[sz]e)\b|^(?:什么|为什么|怎么|如何|哪|谁|是否|解释|说明|介绍|列出|查找|总结)|[?？]\s*$/i;

/** Work of a kind that goes through a whole project. */
const BROAD =
  /\b(?:refactor|rewrite|re-?architect|redesign|restructure|migrate|port|overhaul|modernis|moderniz|moderni[sz]e|split (?:up )?the|replace (?:all|every)|convert (?:all|every|the whole))\b|重构|重写|迁移|改造|重新设计|拆分|移植|整体改|全面/i;

/** It concerns more than a place. */
const WIDE =
  /\b(?:entire|whole|all|every|across|throughout|end[- ]to[- ]end|codebase|project|repository|modules|services|packages|subsystem|architecture|database|schema|api)\b|整个|所有|全部|各个|跨|全项目|代码库|模块|服务|架构|数据库|接口/i;

/** Building something that has parts. */
const BUILD =
  /\b(?:implement|build|design|introduce|integrate|develop|create|add)\b|实现|构建|设计|引入|集成|开发|新增|增加/i;

/** One thing after another. */
const JOINED =
  /\b(?:then|after that|afterwards|finally|as well as|and also)\b|然后|接着|之后|最后|同时|并且|以及|还要/gi;

/** Items that somebody lists. */
const ITEM = /^[^\S\n\r\u2028\u2029]*(?:[-*+•]|\d{1,2}\s*[.)、．]|[（(]\d{1,2}[)）])\s*\S/gmu;

/**
 * Tells whether a task of the user's is one that people would want to see a plan of: a broad change of a wide
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

/** Somebody asks for a plan. */
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
 * Tells whether a task of the user's is worth a look by a model that only plans: a complex one, one that asks
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
