/** ETags: a card's version in quotes. */

export function etagOf({ version }: { readonly version: number }): string {
  return `"${version}"`;
}

/** Whether If-Match lets a change through. A weak tag never does (RFC 9110, 13.1.1). */
export function ifMatch(header: string | undefined, etag: string): boolean {
  return header === undefined || tags(header).some((tag) => tag === '*' || tag === etag);
}

/** Whether If-None-Match says that the client has it already. A weak tag will do (RFC 9110, 13.1.2). */
export function ifNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return tags(header).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag);
}

function tags(header: string): string[] {
  return header.split(',').map((tag) => tag.trim());
}
