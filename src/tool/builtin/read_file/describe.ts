import type { ExistingFile } from "../../file/target.ts";
import { MAX_IMAGE_FILE_BYTES } from "../../../path/reference_text.ts";
import type { ImageInfo } from "../../../util/image/image_info.ts";
import { binaryKind } from "../../file/media.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

/** The image itself for a model that sees, else what can be said about it. Without bytes it is too large. */
export function describeImage(
  context: ToolContext,
  file: ExistingFile,
  bytes: Uint8Array | undefined,
  image: ImageInfo,
): ToolResult {
  const kind = image.mime.slice("image/".length).toUpperCase();
  const size = image.width === undefined ? "" : `, ${image.width}×${image.height} pixels`;
  const summary = `${kind} image${size}, ${bytes?.length ?? file.info.size} bytes`;
  const what = `${file.shown}: ${summary}`;
  if (!context.settings.vision) return { content: `${what}; this model cannot see images`, summary };
  if (!bytes) {
    return { content: `${what}; too large to show (at most ${MAX_IMAGE_FILE_BYTES})`, summary };
  }
  return { content: what, summary, images: [{ mime: image.mime, data: bytes.toBase64() }] };
}

export function describeBinary(file: ExistingFile, bytes: Uint8Array): ToolResult {
  const size = file.info.size || bytes.length;
  const what = `binary file, ${binaryKind(bytes)}, ${size} bytes`;
  return {
    content: `${file.shown}: ${what}; use bash (file, xxd, strings, unzip -l) to look inside`,
    summary: what,
  };
}
