import { isDeepStrictEqual } from 'node:util';

/** Whether two values are the same once they are JSON: what is undefined is not there. */
export function sameJson(one: object, other: object): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
}
