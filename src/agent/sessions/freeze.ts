/**
 * Freezes a JSON value deeply and returns it. The function is not recursive, because a deeply nested value could
 * overflow the stack.
 */
export function deepFreeze<T>(value: T): T {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const child of Object.values(next)) open.push(child);
  }
  return value;
}
