/** An object with work that is done at the end of a turn of the event loop. */
export interface Flushable {
  flush(): void;
}

let due: Flushable[] = [];

function flushDue(): void {
  const objects = due;
  due = [];
  for (const object of objects) object.flush();
}

/**
 * Calls `flush` at the end of this turn of the event loop, directly after that of other objects. So all chunks that have
 * arrived are read first, and then all are parsed, logged and written. In measurements, this saves about a tenth of the
 * time per event, presumably because the code of each step stays in the processor's cache.
 */
export function flushAtEndOfTurn(object: Flushable): void {
  if (due.push(object) === 1) setImmediate(flushDue);
}
