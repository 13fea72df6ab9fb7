/** The supported protocol versions, oldest first. */
export const VERSIONS = ['0.3', '1.0'] as const;
/** A supported version of A2A. */
export type ProtocolVersion = (typeof VERSIONS)[number];

/**
 * Returns the version for a text such as `1.0.3`, or undefined if the version is not supported. The patch number is
 * ignored.
 */
export function versionOf(text: string): ProtocolVersion | undefined {
  if (text === '1.0' || text === '0.3') return text;
  const [major, minor, patch, ...rest] = text.trim().split('.');
  if (rest.length > 0 || (patch !== undefined && !/^\d+$/.test(patch))) return undefined;
  return VERSIONS.find((version) => version === `${major}.${minor}`);
}
