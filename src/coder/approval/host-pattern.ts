/** Patterns of rules for `fetch_url`. */
import { domainToASCII } from 'node:url';
import { trimEndOf } from '../../base/index.ts';
import { isLiteralName } from '../files/glob-pattern.ts';

/**
 * Normalizes the pattern like the host of a URL: in lower case and Punycode, without a final dot, and with an IPv6
 * address in brackets. Returns undefined if the pattern cannot match a host, for example because it contains a scheme,
 * a port or a path.
 */
export function hostPattern(pattern: string): string | undefined {
  const isAddress = /^[\da-f.]*:[\da-f.]*:[\da-f:.]*$/i.test(pattern);
  const given = isAddress ? `[${pattern}]` : pattern;
  const inBrackets = /^\[[\da-f:.*?]+\]$/i.test(given);
  // A host does not contain these characters. The URL parser would drop or decode them, or end the host there.
  if (!inBrackets && /[\s/\\@#:%]/.test(given)) return undefined;
  const host = isLiteralName(given)
    ? (URL.parse(`http://${given}/`)?.hostname ?? '')
    : given.split('.').map(labelOf).join('.');
  const name = trimEndOf(host, '.');
  // A label with `*` or `?` cannot be converted to Punycode. If it contains characters outside ASCII, it could never
  // match a host, so the pattern is invalid.
  return /^[\x21-\x7e]+$/.test(name) && !/^\.|\.\./.test(name) ? name : undefined;
}

/** Normalizes one label of a pattern. The pattern contains `*` or `?`, possibly in another label. */
function labelOf(label: string): string {
  const isAscii = /^[\x20-\x7e]*$/.test(label);
  return isAscii || !isLiteralName(label) ? label.toLowerCase() : domainToASCII(label);
}
