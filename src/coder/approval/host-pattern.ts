/** Patterns of rules for `fetch_url`. */
import { domainToASCII } from 'node:url';
import { trimEndOf } from '../../base/index.ts';
import { isLiteralName } from '../files/glob-pattern.ts';

/**
 * Returns the pattern in the form of the host of a URL: in lower case and Punycode, without a final dot, and with an
 * IPv6 address in brackets. Returns undefined if the pattern cannot match a host, for example because it contains a
 * scheme, a port or a path.
 */
export function hostPattern(pattern: string): string | undefined {
  const isAddress = /^[\da-f.]*:[\da-f.]*:[\da-f:.]*$/i.test(pattern);
  const given = isAddress ? `[${pattern}]` : pattern;
  const inBrackets = /^\[[\da-f:.*?]+\]$/i.test(given);
  // A URL may contain these characters before or after its host, and some of them would be left out.
  if (!inBrackets && /[\s/\\@#:%]/.test(given)) return undefined;
  const host = isLiteralName(given)
    ? (URL.parse(`http://${given}/`)?.hostname ?? '')
    : given.split('.').map(labelOf).join('.');
  const name = trimEndOf(host, '.');
  // A label with `*` or `?` has no Punycode, so with other characters than ASCII it would never match.
  return /^[\x21-\x7e]+$/.test(name) && !/^\.|\.\./.test(name) ? name : undefined;
}

/** Returns a label of a pattern with `*` or `?` in the form of a host. */
function labelOf(label: string): string {
  const isAscii = /^[\x20-\x7e]*$/.test(label);
  return isAscii || !isLiteralName(label) ? label.toLowerCase() : domainToASCII(label);
}
