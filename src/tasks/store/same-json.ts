import { isDeepStrictEqual } from 'node:util';

/** Returns whether two values have the same JSON. Properties that are undefined are ignored. */
export function sameJson(one: object, other: object): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
}
