/** The versions of the protocol that are spoken, oldest first. */
export const VERSIONS = ['0.3', '1.0'] as const;
/** A version of A2A. */
export type ProtocolVersion = (typeof VERSIONS)[number];

/** The version that a text such as `1.0.3` stands for: a patch number does not count. Undefined: not spoken. */
export function versionOf(text: string): ProtocolVersion | undefined {
  if (text === '1.0' || text === '0.3') return text;
  const [major, minor, patch, ...rest] = text.trim().split('.');
  if (rest.length > 0 || (patch !== undefined && !/^\d+$/.test(patch))) return undefined;
  return VERSIONS.find((version) => version === `${major}.${minor}`);
}
