/** Conditions for which zod has no method. The schemas and the generated checks (checks.ts) call these functions. */

export function hasOneContent({ bytes, uri }: { bytes?: unknown; uri?: unknown }): boolean {
  return (bytes === undefined) !== (uri === undefined);
}

export function isDefined(value: unknown): value is {} | null {
  return value !== undefined;
}

export function isIdText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

export function isTextList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length <= 256 &&
    value.every((item: unknown) => typeof item === 'string')
  );
}
