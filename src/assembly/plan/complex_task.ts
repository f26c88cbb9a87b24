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
const ITEM = /^\s*(?:[-*+•]|\d{1,2}\s*[.)、．]|[（(]\d{1,2}[)）])\s*\S/gmu;

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

/** Words of a text; a Chinese word has about two characters. */
function sizeOf(text: string): number {
  const wide = text.match(/[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]/g)?.length ?? 0;
  const words = text.match(/[\p{Script=Latin}\p{Script=Cyrillic}\p{N}_'-]+/gu)?.length ?? 0;
  return words + wide / 2;
}
