/** An object with work that is done at the end of a turn of the event loop. */
export interface Flushable {
  /** Must not throw, because the objects after this one would not be flushed. */
  flush(): void;
}

let due: Flushable[] = [];
let dueLast: Flushable[] = [];
let isScheduled = false;

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  // Between two immediates, Node runs the callbacks of promises that the first immediate has resolved.
  setImmediate(flushDue);
  setImmediate(flushLast);
}

function flushDue(): void {
  const objects = due;
  due = [];
  for (const object of objects) object.flush();
}

function flushLast(): void {
  isScheduled = false;
  const objects = dueLast;
  dueLast = [];
  if (due.length > 0) schedule();
  for (const object of objects) object.flush();
}

/**
 * Calls `flush` at the end of this turn of the event loop, together with `flush` of the other objects. So all chunks
 * that have arrived are read first, and then all are parsed, logged and written. In measurements, this saves about a
 * tenth of the time per event, presumably because the code of each step stays in the processor's cache.
 */
export function flushAtEndOfTurn(object: Flushable): void {
  due.push(object);
  schedule();
}

/**
 * Calls `flush` at the end of this turn, after the objects of `flushAtEndOfTurn` were flushed, and after the callbacks
 * of promises that these objects have resolved. So the events that are parsed or released at the end of a turn are
 * stored in the same turn, in one transaction.
 */
export function flushLastInTurn(object: Flushable): void {
  dueLast.push(object);
  schedule();
}
