/**
 * Asks one place after the other until one begins to answer. From then on the answer is that place's alone: nothing is
 * asked anywhere else, and no two answers are ever mixed.
 *
 * A place is asked again where that may help and the wait is short; one that wants a long wait is left for the next.
 * A place whose circuit is open is passed over, one that has no free slot is asked after the others.
 */
import { backoffMs, pause } from '../../base/index.ts';
import { ModelError, mayTryAgain } from '../../agent/index.ts';
import type { Candidate } from './catalogue.ts';
import { failsOver, isIll } from './failure.ts';

export interface FailoverOptions<Answer> {
  readonly places: readonly Candidate[];
  /** Resolves as soon as the answer has begun, and throws a ModelError where there is none. */
  begin(place: Candidate, signal: AbortSignal): Promise<Answer>;
  /** The caller's. */
  readonly signal: AbortSignal;
  /** When it is over for all places together, as `performance.now` counts. */
  readonly deadline: number;
  /** The same moment as a signal, beside the caller's. */
  readonly within: AbortSignal;
  readonly random: () => number;
  /** The first wait before a place is asked again; each further one is twice as long. */
  readonly delayMs: number;
  /** Told of each failure, and what follows. Must not throw. */
  onFailure?(place: Candidate, error: ModelError, next: 'again' | 'elsewhere' | 'nothing'): void;
}

/** The place that answers. */
export interface Answering<Answer> {
  readonly place: Candidate;
  readonly answer: Answer;
  /** The answer is over: whole, broken, or left by its reader. Later calls do nothing. */
  end(how: 'whole' | 'broken' | 'left'): void;
}

/** The longest wait of our own choice. */
const MAX_DELAY_MS = 5000;
/** A place that wants more (Retry-After) is left, if there is another. */
const SHORT_WAIT_MS = 1000;
/** The longest that the only place there is may make us wait. */
const LONG_WAIT_MS = 30_000;

/** The place and its error travel together: the error's text has the place's name for the model. */
export class NoAnswer extends Error {
  readonly error: ModelError;
  readonly place: Candidate | undefined;

  constructor(error: ModelError, place?: Candidate) {
    super(error.message, { cause: error });
    this.error = error;
    this.place = place;
  }
}

/** Throws NoAnswer; once the caller's signal is aborted, its reason. */
export async function firstAnswer<Answer>(
  options: FailoverOptions<Answer>,
): Promise<Answering<Answer>> {
  const { places, signal, within } = options;
  const queue = places.map((place) => ({ place, waits: false }));
  let failure: NoAnswer | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { place, waits } = next;
    const { circuit, slots } = place.provider;
    if (!waits && !slots.free && queue.length > 0) {
      queue.push({ place, waits: true });
      continue;
    }
    if (circuit.waitMs > 0) continue;
    let giveBack: (() => void) | undefined;
    try {
      giveBack = await slots.take(within);
      const others = queue.some((each) => each.place.provider.circuit.waitMs === 0);
      const answering = await askPlace(place, options, others, giveBack);
      if (answering !== undefined) return answering;
    } catch (error) {
      giveBack?.();
      signal.throwIfAborted();
      const known = modelError(error);
      // Of several, what may pass is told rather than what will not.
      if (!failure?.error.retryable || known.retryable) failure = new NoAnswer(known, place);
      const over = !failsOver(known) || within.aborted;
      options.onFailure?.(place, known, over || queue.length === 0 ? 'nothing' : 'elsewhere');
      if (over) throw new NoAnswer(known, place);
      continue;
    }
    giveBack();
  }
  throw failure ?? new NoAnswer(allOpen(places));
}

/** One place, as often as it may be asked. Undefined: its circuit is open. Throws what the last attempt threw. */
async function askPlace<Answer>(
  place: Candidate,
  options: FailoverOptions<Answer>,
  others: boolean,
  giveBack: () => void,
): Promise<Answering<Answer> | undefined> {
  const { signal, within } = options;
  const { circuit, config } = place.provider;
  let last: ModelError | undefined;
  for (let attempt = 1; ; attempt++) {
    const permit = circuit.enter();
    if (permit === undefined) {
      if (last !== undefined) throw last;
      return undefined;
    }
    try {
      const answer = await options.begin(place, within);
      permit.begun();
      let ended = false;
      return {
        place,
        answer,
        end(how) {
          if (ended) return;
          ended = true;
          giveBack();
          if (how === 'whole') permit.ok();
          else if (how === 'broken') permit.failed();
          else permit.leave();
        },
      };
    } catch (error) {
      if (signal.aborted) permit.leave();
      signal.throwIfAborted();
      last = within.aborted ? modelError(within.reason) : modelError(error);
      if (isIll(last)) permit.failed();
      else permit.ok();
      const wait = waitBefore(attempt, last, options, others);
      if (wait === undefined || attempt >= config.attempts || within.aborted) throw last;
      options.onFailure?.(place, last, 'again');
      await pause(wait, within);
    }
  }
}

/** Undefined: it is not worth asking the same place again. */
function waitBefore(
  attempt: number,
  error: ModelError,
  { delayMs, random, deadline }: FailoverOptions<unknown>,
  others: boolean,
): number | undefined {
  if (!mayTryAgain(error)) return undefined;
  const asked = error.retryAfterMs ?? 0;
  if (asked > (others ? SHORT_WAIT_MS : LONG_WAIT_MS)) return undefined;
  const wait = Math.max(backoffMs(attempt, delayMs, MAX_DELAY_MS, random), asked);
  return performance.now() + wait < deadline ? wait : undefined;
}

function allOpen(places: readonly Candidate[]): ModelError {
  const retryAfterMs = Math.min(...places.map(({ provider }) => provider.circuit.waitMs));
  return new ModelError('overloaded', 'all of its providers failed lately and are left alone', {
    retryable: true,
    retryAfterMs,
  });
}

/** What is no ModelError is a fault of ours; the caller hears that it failed, and the log has the cause. */
export function modelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError('failed', 'the call failed', { cause: error });
}
