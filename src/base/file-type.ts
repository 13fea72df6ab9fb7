/** Recognizes the type of a file from its first bytes, because names and declared types are not reliable. */

const IMAGES: readonly (readonly [type: string, at: number, magic: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a'],
  ['image/gif', 0, 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
];

/** The media type of bytes whose type is unknown. */
export const UNKNOWN_MEDIA_TYPE = 'application/octet-stream';
/** Maximum size of an image. In base64 it is about 5 MB, which is the limit of some model vendors. */
export const MAX_IMAGE_BYTES = 3_750_000;

/** Returns the media type of an image, or undefined if the file is not an image that models support. */
export function imageType(head: Uint8Array): string | undefined {
  const starts = (magic: string, at: number) => latin1(head, at, magic.length) === magic;
  const found = IMAGES.find(([, at, magic]) => starts(magic, at));
  if (found?.[0] === 'image/webp' && !starts('RIFF', 0)) return undefined;
  return found?.[0];
}

export function isPdf(head: Uint8Array): boolean {
  return latin1(head, 0, 5) === '%PDF-';
}

/** Returns the size as text for people: `12 bytes`, `1.5 KB`, `3.0 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const kilo = bytes / 1024;
  return kilo < 1024 ? `${kilo.toFixed(1)} KB` : `${(kilo / 1024).toFixed(1)} MB`;
}

function latin1(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
