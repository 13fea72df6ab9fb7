/** Without the members that are undefined: what is given so is not given, and spread over defaults it leaves them. */
export function defined<T extends object>(
  values: T | undefined,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(values ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
