/** Formatting for terminals: colors by meaning, diffs, outputs and Markdown. */
export {
  activityText,
  CALL_MARKS,
  type CallKind,
  callKind,
  callLine,
  callLines,
  callTitle,
  type CallView,
  earlyTitle,
} from "./call_lines.ts";
export { checklistLine, liveTail } from "./call_lines.ts";
export {
  CONTEXT,
  diffLines,
  type DiffMarks,
  diffText,
  hunkTexts,
  languageOf,
  loadDiffMarks,
  type StyledText,
} from "./diff.ts";
export { cacheShare, grouped, lineFigures, moneyFigure, timeText, tokenFigures } from "./figures.ts";
export { codeSpan, fenced, loadMarkdown, type MarkdownRenderer } from "./markdown.ts";
export { type Block, isTooDense, MarkdownBlocks } from "./markdown.ts";
export { type Palette, palette, ThemedPalette, wantsColor, wantsLinks } from "./palette.ts";
export { planText, retryText } from "./call_lines.ts";
export type { Theme } from "./palette.ts";
export { type MeasureWidth, roughWidth, StreamWrap, wrapText } from "./wrap.ts";
