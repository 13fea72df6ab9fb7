export { canonicalJson } from './canonical-json.ts';
export { boundedFetch, limitBody } from './bounded-fetch.ts';
export { BoundedMap } from './bounded-map.ts';
export { ChurnMap } from './churn-map.ts';
export { ByteCollector, TextCollector } from './collect.ts';
export { createCircuits, type CircuitNews, type Circuits, type CircuitWait } from './circuit.ts';
export { flushAtEndOfTurn, flushLastInTurn } from './end-of-turn.ts';
export { reasonOf, rootCause, systemCode } from './errors.ts';
export { expiryClock } from './steady-clock.ts';
export { wordIssue } from './issue.ts';
export { imageType, isPdf, MAX_IMAGE_BYTES, sizeOf, UNKNOWN_MEDIA_TYPE } from './file-type.ts';
export { defined, isObject, lineSafe, type JsonObject, type JsonValue } from './json.ts';
export { hostNameOf, isLoopback, isThisMachine } from './loopback.ts';
export { optionalPackage } from './optional-package.ts';
export { retryAfterMs } from './retry-after.ts';
export { printableJson, reveal } from './reveal.ts';
export { createSlots, QueueFullError, type Slots } from './slots.ts';
export { StoreError, type StoreErrorCode } from './store-error.ts';
export {
  cutText,
  elide,
  inOnePiece,
  nearestNames,
  oneLine,
  shorten,
  singleQuoted,
  splitLast,
  trimEndOf,
} from './text.ts';
export { Turns } from './turns.ts';
export {
  allOf,
  andThen,
  backoffMs,
  Later,
  MAX_TIMER_MS,
  pause,
  raceAbort,
  rest,
  waitAtMost,
  type MaybePromise,
} from './wait.ts';
