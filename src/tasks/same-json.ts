import { isDeepStrictEqual } from 'node:util';

/** Whether two values have the same JSON. Members that are undefined do not count. */
export function sameJson(one: object, other: object): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
}
