/** The way things look on a terminal: colours by meaning, diffs, outputs and Markdown. */
export { diffLines } from "./diff.ts";
export { cacheShare, grouped, lineFigures, moneyFigure, tokenFigures } from "./figures.ts";
export { loadMarkdown, MarkdownBlocks, type RenderMarkdown } from "./markdown.ts";
export { outputTail } from "./output_tail.ts";
export { type Palette, palette, wantsColour } from "./palette.ts";
export { type MeasureWidth, roughWidth, StreamWrap, wrapText } from "./wrap.ts";
