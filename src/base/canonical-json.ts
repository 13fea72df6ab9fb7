/**
 * Writes JSON in the canonical form of RFC 8785, so that a signature over it can be verified by other programs. The
 * value must come from JSON: numbers are finite, and nothing is undefined except members, which are left out.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // The RFC sorts by UTF-16 code units, as JavaScript compares strings.
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
