/** Work that is done by trying, measuring and trying again. */
const KINDS = [
  /\bresearch\b|\binvestigat\w*|\broot[- ]cause\b|\bbenchmark\w*|\bprofil(?:e|ing)\b|\bablation\b/i,
  /\boptimi[sz]\w+|\bspeed(?:ing)?[- ]up\b|\b(?:reduce|cut|halve|lower)\b.{0,60}\b(?:latency|time|memory|size|cost|loss)\b/i,
  /\bflaky\b|\bintermittent\w*|\bheisenbug\b|\bmemory leak\b|\brace condition\b|\breproduc\w+/i,
  /\bhypothes[ei]s\b|假设/i,
  /\bexperiments?\b|\btune\b|\btuning\b|\bhyper-?parameters?\b|实验|调参/i,
  /研究|调研/,
  /排查|根因|复现|偶发|内存泄漏/,
  /性能|优化|基准测试|提速|降低.{0,12}(?:延迟|耗时|内存|成本)/,
];

/** Whether the objective of a goal looks like research, debugging or optimisation of some length. */
export function looksLikeResearch(objective: string): boolean {
  const kinds = KINDS.filter((pattern) => pattern.test(objective)).length;
  return kinds >= 2 || (kinds === 1 && objective.length >= 200) || demandsResearch(objective);
}

/** A word for the protocol itself, which is asked for and not talked about. */
function namesProtocol(text: string): boolean {
  const word = "(?:auto-?research|自动研究)";
  const asked = new RegExp(
    `\\b(?:use|using|start|run|begin|in|with|via|do|launch)\\s+(?:an?\\s+|the\\s+)?${word}\\b` +
      `|(?:用|使用|启动|开始|进入|采用|以)\\s*${word}`,
    "i",
  );
  const isQuestion =
    /^\s*(?:what|how|why|when|where|does|do|is|are|can|could|explain|describe|fix|document|test)\b/i
      .test(text) || /什么|怎么|如何|为什么|解释|说明|修复|文档|[?？]\s*$/.test(text);
  const isRefused = /\b(?:don'?t|do not|never|without|no need|instead of|not)\b.{0,20}research/i.test(text) ||
    /(?:不要|别|不用|无需|不必)[^。，,]{0,8}研究/.test(text);
  return asked.test(text) && !isQuestion && !isRefused;
}

/** It shall go on by itself. */
const AUTONOMY =
  /\b(?:do not|don'?t|never) (?:stop|give up|come back)\b.{0,30}\buntil\b|\bkeep (?:going|working|trying|experimenting|iterating)\b.{0,60}\buntil\b|\b(?:autonomously|unattended|overnight|on your own)\b|一直.{0,20}直到|(?:不要|别)停.{0,20}(?:直到|为止)|直到.{0,40}为止|自主|无人值守|整晚|通宵/i;
/** By the steps of research. */
const METHOD = /\bhypothes[ei]s\b|假设/i;
const TRIALS = /\bexperiments?\b|\bmeasure\w*\b|\bablations?\b|实验|测量|对照/i;
/** With a record that stays. */
const RECORD =
  /\b(?:keep|write|maintain)\b.{0,30}\b(?:log|record|journal|notes|report)\b|\b(?:log|record|document) (?:every|each|all)\b|\bfinal report\b|记录(?:每|所有|下)|研究(?:报告|记录|日志)|(?:写|撰写|给出|输出).{0,8}报告/i;

/**
 * Whether an ordinary prompt asks for autonomous research in so many words: all four of going on by itself,
 * hypotheses, experiments and a record, or the protocol by its name. Single words such as "optimize",
 * "research", "long term" or "verify" never suffice.
 */
export function demandsResearch(prompt: string): boolean {
  if (/^\s*[/!#]/.test(prompt)) return false;
  // What stands in quotation marks or code is talked about.
  const text = prompt.replace(/```[^]*?```|`[^`]*`|"[^"\n]*"|“[^”]*”|「[^」]*」/g, " ");
  if (namesProtocol(text)) return true;
  const isAsked = !/[?？]\s*$/.test(text.trim());
  return isAsked && [AUTONOMY, METHOD, TRIALS, RECORD].every((pattern) => pattern.test(text));
}
