/** read_file: reads lines of a text file, or an image. */
import * as z from 'zod';
import { imageType, MAX_IMAGE_BYTES, sizeOf, trimEndOf } from '../../base/index.ts';
import { RichResponse, type ToolContext } from '../../agent/index.ts';
import { FileError } from '../files/file-error.ts';
import { readLines, type LineWindow } from '../files/read-lines.ts';
import { binaryKind, SNIFF_BYTES } from '../files/text.ts';
import type { CoderTool, Display } from './tool.ts';
import type { OpenFile, Workspace } from '../files/workspace.ts';
import { defineTool, optionalCount, respond, workspacePath, type ViewOf } from './define-tool.ts';

const DEFAULT_LINES = 2000;
const MAX_LINE_BYTES = 2000;
const MAX_BYTES = 64 * 1024;
/** The lines of a file are counted up to this position, or up to the end of the requested range if that is later. */
const MAX_COUNTED_BYTES = 16 * 1024 * 1024;

const Arguments = z.strictObject({
  path: workspacePath(),
  offset: optionalCount().describe('The number of the first line to read, starting from 1.'),
  limit: optionalCount(DEFAULT_LINES).describe(
    `The maximum number of lines. Default: ${DEFAULT_LINES}.`,
  ),
});

const DESCRIPTION = `Reads a text file or an image (PNG, JPEG, GIF, WebP). Each line is preceded by its number and a \
tab, which are not part of the file. Returns at most ${DEFAULT_LINES} lines and ${MAX_BYTES / 1024} KB. For longer files, it \
also returns the offset for the next call. Lines are truncated after ${MAX_LINE_BYTES} bytes.`;

export function readFileTool(workspace: Workspace, viewOf: ViewOf = () => workspace): CoderTool {
  return defineTool({
    name: 'read_file',
    description: DESCRIPTION,
    input: Arguments,
    effect: 'read',
    describe: ({ path, offset }) =>
      `Read ${path}${offset === undefined ? '' : ` from line ${offset}`}`,
    async run({ path, offset = 1, limit = DEFAULT_LINES }, context) {
      await using file = await viewOf(context).openFile(path);
      const shown = workspace.show(file.path);
      const head = Buffer.alloc(Math.min(SNIFF_BYTES, file.size));
      const { bytesRead } = await file.handle.read(head, 0, head.length, 0);
      const start = head.subarray(0, bytesRead);
      const image = imageType(start);
      if (image !== undefined) return await readImage(file, shown, image);
      const kind = binaryKind(start);
      if (kind !== undefined) {
        throw new FileError(
          'binary',
          `${shown} is not text: ${kind}, ${sizeOf(file.size)}; use a shell command to inspect it`,
        );
      }
      return await readText(file, shown, offset, limit, context);
    },
  });
}

async function readText(
  file: OpenFile,
  shown: string,
  offset: number,
  limit: number,
  { signal }: ToolContext,
): Promise<RichResponse> {
  const window = await readLines(file.handle, {
    offset,
    limit,
    maxLine: MAX_LINE_BYTES,
    maxBytes: MAX_BYTES,
    countBytes: MAX_COUNTED_BYTES,
    signal,
  });
  if (window.counted === 0) return respond(`[${shown} is empty]`, '');
  if (window.lines.length === 0) {
    throw new FileError(
      'not-found',
      `${shown} has only ${window.counted} lines, so there is no line ${offset}`,
    );
  }
  const decoder = new TextDecoder();
  const texts = window.lines.map((line) => {
    const text = decoder.decode(line);
    return line.length === MAX_LINE_BYTES ? trimEndOf(text, '\ufffd') : text;
  });
  const numbered = texts.map((text, at) => `${offset + at}\t${text}`);
  const notes = notesOn(window, offset, texts, file.size);
  return respond([...numbered, ...notes].join('\n'), [...texts, ...notes].join('\n'));
}

function notesOn(
  { lines, more, counted, countedAll, cutLines }: LineWindow,
  offset: number,
  texts: readonly string[],
  size: number,
): string[] {
  const notes: string[] = [];
  const last = offset + lines.length - 1;
  if (more || offset > 1) {
    const whole = countedAll ? `${counted}` : `more than ${counted}, ${sizeOf(size)}`;
    const next = more ? `; continue with offset ${last + 1}` : '';
    notes.push(`[lines ${offset} to ${last} of ${whole}${next}]`);
  }
  if (cutLines) notes.push(`[lines longer than ${MAX_LINE_BYTES} bytes were truncated]`);
  if (texts.some((text) => text.includes('\ufffd'))) {
    notes.push('[some bytes are not UTF-8 and are shown as \ufffd: this file cannot be edited]');
  }
  return notes;
}

async function readImage(file: OpenFile, shown: string, mediaType: string): Promise<RichResponse> {
  const { size } = file;
  if (size > MAX_IMAGE_BYTES) {
    throw new FileError(
      'too-large',
      `${shown} is an image of ${sizeOf(size)}, larger than the limit of ${sizeOf(MAX_IMAGE_BYTES)}; make it smaller with a shell command`,
    );
  }
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.handle.read(bytes, 0, size, 0);
  const note = `[${shown}: ${mediaType}, ${sizeOf(bytesRead)}]`;
  const display: Display = { text: note };
  return new RichResponse(note, {
    parts: [{ kind: 'blob', mediaType, data: bytes.toString('base64', 0, bytesRead), name: shown }],
    display,
  });
}
