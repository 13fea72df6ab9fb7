/** Returns a vendor's token count, or undefined if it is not a valid number. Budgets depend on this check. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
