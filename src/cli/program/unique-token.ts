import { usageError } from './exit.ts';

/** Throws if the name or the token is already in `tokens`. */
export function checkUnique(
  place: string,
  { name, token }: { readonly name: string; readonly token: string },
  tokens: ReadonlyMap<string, string>,
): void {
  if (tokens.has(name)) throw usageError(`${place}: the name ${name} is used twice: remove one`);
  if ([...tokens.values()].includes(token)) {
    throw usageError(`${place}: ${name} has the same token as another name: use different tokens`);
  }
}
