/**
 * Returns the delay in a Retry-After header, in milliseconds. The header contains seconds or a date. Returns undefined
 * if there is no header, or if it is invalid.
 */
export function retryAfterMs(header: string | null | undefined): number | undefined {
  if (header === null || header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
