/** Conditions on what the client has (RFC 9110, 13.1). */

/** Whether If-Match lets a change through. A weak tag never does. */
export function ifMatch(header: string | undefined, etag: string): boolean {
  return header === undefined || tagsIn(header).some((tag) => tag === '*' || tag === etag);
}

/** Whether If-None-Match says that the client has it already. A weak tag will do. */
export function ifNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return tagsIn(header).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag);
}

function tagsIn(header: string): string[] {
  return header.split(',').map((tag) => tag.trim());
}
