/** Converts bytes to text and back, and preserves line ends and the byte order mark. Recognizes binary files. */
import { imageType, sizeOf } from '../../base/index.ts';
import { FileError } from './file-error.ts';

/** Maximum size of a file that the tools edit, before and after the edit. */
export const MAX_TEXT_BYTES = 10 * 1024 * 1024;
/**
 * The number of bytes at the start of a file that are searched for a NUL byte, which marks a binary file. Git uses the
 * same number.
 */
export const SNIFF_BYTES = 8000;

const BOM = '\uFEFF';

export interface Text {
  /** The text without the byte order mark, with its original line ends. */
  readonly text: string;
  readonly bom: boolean;
}

/**
 * Returns the text of a file. Throws if the file is not UTF-8 text, because such a file could not be written back
 * unchanged.
 */
export function decodeText(bytes: Buffer, shown: string): Text {
  const kind = binaryKind(bytes);
  if (kind !== undefined && kind !== UTF_16) {
    throw new FileError('binary', `${shown} is not text (${kind}, ${sizeOf(bytes.length)})`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.startsWith(BOM) ? { text: text.slice(1), bom: true } : { text, bom: false };
  } catch {
    throw new FileError(
      'binary',
      `${shown} is not UTF-8, so an edit would damage it; convert it with a shell command first`,
    );
  }
}

export function encodeText({ text, bom }: Text): Buffer {
  return Buffer.from(bom && !text.startsWith(BOM) ? BOM + text : text);
}

/** Returns whether most lines end with CRLF. */
export function usesCrlf(text: string): boolean {
  const crlf = text.split('\r\n').length - 1;
  return crlf > 0 && crlf * 2 > text.split('\n').length - 1;
}

export function hasOnlyCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

export function toLf(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

export function toCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}

const UTF_16 = 'UTF-16 text';
const BINARIES: readonly (readonly [kind: string, magic: string])[] = [
  ['PDF document', '%PDF-'],
  ['ZIP archive', 'PK\x03\x04'],
  ['gzip archive', '\x1f\x8b'],
  ['ELF program', '\x7fELF'],
  ['SQLite database', 'SQLite format 3\0'],
  [UTF_16, '\xff\xfe'],
  [UTF_16, '\xfe\xff'],
];

/** Returns the kind of a binary file, determined from its first bytes, or undefined for text. */
export function binaryKind(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, SNIFF_BYTES);
  const known = BINARIES.find(([, magic]) => head.toString('latin1', 0, magic.length) === magic);
  if (known !== undefined) return known[0];
  return imageType(head) ?? (head.includes(0) ? 'binary data' : undefined);
}
