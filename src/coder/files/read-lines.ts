/** A window of a file's lines, read in pieces: a file of any size costs what is shown of it. */
import type { FileHandle } from 'node:fs/promises';

const PIECE = 256 * 1024;
const FEED = 0x0a;

export interface LineWindow {
  /** Each without its line end, cut to `maxLine` bytes. */
  readonly lines: readonly Buffer[];
  /** Whether some were cut. */
  readonly cutLines: boolean;
  /** There are lines behind the window. */
  readonly more: boolean;
  /** Lines that were counted: all of the file's when `more` is false, or when it has at most `countBytes`. */
  readonly counted: number;
  readonly countedAll: boolean;
}

export interface WindowOptions {
  /** The first line, from 1. */
  readonly offset: number;
  readonly limit: number;
  readonly maxLine: number;
  /** Of all lines together. */
  readonly maxBytes: number;
  /** Behind the window, lines are counted as long as the file's bytes are fewer. */
  readonly countBytes: number;
  readonly signal: AbortSignal;
}

export async function readLines(handle: FileHandle, options: WindowOptions): Promise<LineWindow> {
  const { offset, limit, maxLine, maxBytes, countBytes, signal } = options;
  const piece = Buffer.allocUnsafe(PIECE);
  const lines: Buffer[] = [];
  /** Of the line that is being read: what is kept of it, and how long it is. */
  let kept: Buffer[] = [];
  let length = 0;
  let total = 0;
  let number = 1;
  let cutLines = false;
  let full = false;
  let position = 0;

  const take = (bytes: Buffer): void => {
    if (number >= offset && !full) {
      const room = Math.max(0, maxLine + 1 - length);
      if (room > 0 && bytes.length > 0) kept.push(Buffer.from(bytes.subarray(0, room)));
    }
    length += bytes.length;
  };
  const close = (): void => {
    if (number >= offset && !full) {
      const line = withoutCr(Buffer.concat(kept));
      const cut = line.length > maxLine;
      const shown = cut ? line.subarray(0, maxLine) : line;
      // The first line is shown whatever its size, or the window could never move on.
      if (lines.length >= limit || (lines.length > 0 && total + shown.length > maxBytes)) {
        full = true;
      } else {
        lines.push(shown);
        total += shown.length;
        cutLines ||= cut;
      }
    }
    number += 1;
    kept = [];
    length = 0;
  };

  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(piece, 0, PIECE, position);
    if (bytesRead === 0) break;
    const bytes = piece.subarray(0, bytesRead);
    let from = 0;
    for (let at = bytes.indexOf(FEED); at !== -1; at = bytes.indexOf(FEED, from)) {
      take(bytes.subarray(from, at));
      close();
      from = at + 1;
    }
    take(bytes.subarray(from));
    position += bytesRead;
    if (full && position >= countBytes) {
      return { lines, cutLines, more: true, counted: number - 1, countedAll: false };
    }
  }
  // A last line without a line end.
  if (length > 0) close();
  const counted = number - 1;
  return { lines, cutLines, more: full, counted, countedAll: true };
}

function withoutCr(line: Buffer): Buffer {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}
