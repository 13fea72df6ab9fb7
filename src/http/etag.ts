/** Entity tags, and the headers of conditional requests (RFC 9110, section 13.1). */
import { createHash } from 'node:crypto';

/** Returns the entity tag of a body. */
export function bodyEtag(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
}

/** Returns whether If-Match allows a change. A request without this header is allowed. Weak tags never match. */
export function ifMatch(header: string | undefined, etag: string): boolean {
  return header === undefined || tagsIn(header).some((tag) => tag === '*' || tag === etag);
}

/** Returns whether If-None-Match matches, which means that the client has the current version. Weak tags match too. */
export function ifNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return tagsIn(header).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag);
}

function tagsIn(header: string): string[] {
  return header.split(',').map((tag) => tag.trim());
}
