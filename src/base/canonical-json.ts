/**
 * Writes JSON in the canonical form of RFC 8785, so that other programs can verify a signature over the text. All
 * numbers must be finite. Members whose value is undefined are left out.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // The RFC sorts by UTF-16 code units. JavaScript compares strings in the same way.
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
