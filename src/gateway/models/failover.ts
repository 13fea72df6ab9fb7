/**
 * Tries one candidate after the other until one starts to answer. From then on only that candidate is used, so that two
 * answers are never mixed.
 *
 * A candidate is retried if that may help and the wait is short; otherwise the next one is tried. A candidate whose
 * circuit is open is skipped. A candidate without a free slot is tried after the others.
 */
import { backoffMs, pause } from '../../base/index.ts';
import { ModelError } from '../../agent/index.ts';
import { mayTryAgain } from '../../agent/internal/index.ts';
import type { Candidate } from './catalogue.ts';
import { failsOver, isProviderFault } from './failure.ts';

export interface FailoverOptions<Answer> {
  readonly candidates: readonly Candidate[];
  /** Resolves as soon as the answer has started. Throws a ModelError. */
  begin(candidate: Candidate, signal: AbortSignal): Promise<Answer>;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  /** The deadline for all candidates together, in the time of `performance.now`. */
  readonly deadline: number;
  /** Aborted by the caller's signal or at the deadline. */
  readonly within: AbortSignal;
  readonly random: () => number;
  /** The wait before the first retry. It doubles with each further retry. */
  readonly delayMs: number;
  /** Called for each failure, with what happens next. Must not throw. */
  onFailure?(
    candidate: Candidate,
    error: ModelError,
    next: 'again' | 'elsewhere' | 'nothing',
  ): void;
}

/** The candidate that answers, and its answer. */
export interface Answering<Answer> {
  readonly candidate: Candidate;
  readonly answer: Answer;
  /** The answer has ended: complete, broken off, or abandoned by its reader. Only the first call has an effect. */
  end(how: 'whole' | 'broken' | 'left'): void;
}

/** The longest backoff. */
const MAX_DELAY_MS = 5000;
/** If a candidate asks for more (Retry-After), another candidate is tried. */
const SHORT_WAIT_MS = 1000;
/** The longest Retry-After that is accepted from the last candidate. */
const LONG_WAIT_MS = 30_000;

/** No candidate answered. The error's message contains the candidate's name for the model. */
export class NoAnswer extends Error {
  readonly error: ModelError;
  readonly candidate: Candidate | undefined;

  constructor(error: ModelError, candidate?: Candidate) {
    super(error.message, { cause: error });
    this.error = error;
    this.candidate = candidate;
  }
}

/** Throws NoAnswer. If the caller's signal is aborted, throws its reason. */
export async function firstAnswer<Answer>(
  options: FailoverOptions<Answer>,
): Promise<Answering<Answer>> {
  const { candidates, signal, within } = options;
  const queue = candidates.map((candidate) => ({ candidate, waits: false }));
  let failure: NoAnswer | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { candidate, waits } = next;
    const { circuit, slots } = candidate.provider;
    if (!waits && !slots.free && queue.length > 0) {
      queue.push({ candidate, waits: true });
      continue;
    }
    if (circuit.waitMs > 0) continue;
    let release: (() => void) | undefined;
    try {
      release = await slots.take(within);
      const others = queue.some((each) => each.candidate.provider.circuit.waitMs === 0);
      const answering = await tryCandidate(candidate, options, others, release);
      if (answering !== undefined) return answering;
    } catch (error) {
      release?.();
      signal.throwIfAborted();
      const known = modelError(error);
      // Of several errors, a retryable one is reported.
      if (!failure?.error.retryable || known.retryable) failure = new NoAnswer(known, candidate);
      const over = !failsOver(known) || within.aborted;
      options.onFailure?.(candidate, known, over || queue.length === 0 ? 'nothing' : 'elsewhere');
      if (over) throw new NoAnswer(known, candidate);
      continue;
    }
    release();
  }
  throw failure ?? new NoAnswer(allOpen(candidates));
}

/** Tries one candidate up to its number of attempts. Undefined: its circuit is open. Throws the last error. */
async function tryCandidate<Answer>(
  candidate: Candidate,
  options: FailoverOptions<Answer>,
  others: boolean,
  release: () => void,
): Promise<Answering<Answer> | undefined> {
  const { signal, within } = options;
  const { circuit, config } = candidate.provider;
  let last: ModelError | undefined;
  for (let attempt = 1; ; attempt++) {
    const permit = circuit.enter();
    if (permit === undefined) {
      if (last !== undefined) throw last;
      return undefined;
    }
    try {
      const answer = await options.begin(candidate, within);
      permit.begun();
      let ended = false;
      return {
        candidate,
        answer,
        end(how) {
          if (ended) return;
          ended = true;
          release();
          if (how === 'whole') permit.ok();
          else if (how === 'broken') permit.failed();
          else permit.leave();
        },
      };
    } catch (error) {
      if (signal.aborted) permit.leave();
      signal.throwIfAborted();
      last = within.aborted ? modelError(within.reason) : modelError(error);
      if (isProviderFault(last)) permit.failed();
      else permit.ok();
      const wait = waitBefore(attempt, last, options, others);
      if (wait === undefined || attempt >= config.attempts || within.aborted) throw last;
      options.onFailure?.(candidate, last, 'again');
      await pause(wait, within);
    }
  }
}

/** The wait before a retry. Undefined: do not retry. */
function waitBefore(
  attempt: number,
  error: ModelError,
  { delayMs, random, deadline }: FailoverOptions<unknown>,
  others: boolean,
): number | undefined {
  if (!mayTryAgain(error)) return undefined;
  const requestedMs = error.retryAfterMs ?? 0;
  if (requestedMs > (others ? SHORT_WAIT_MS : LONG_WAIT_MS)) return undefined;
  const wait = Math.max(backoffMs(attempt, delayMs, MAX_DELAY_MS, random), requestedMs);
  return performance.now() + wait < deadline ? wait : undefined;
}

function allOpen(candidates: readonly Candidate[]): ModelError {
  const retryAfterMs = Math.min(...candidates.map(({ provider }) => provider.circuit.waitMs));
  return new ModelError(
    'overloaded',
    'the circuit breakers of all providers of the model are open',
    {
      retryable: true,
      retryAfterMs,
    },
  );
}

/** Any other error is internal: the caller learns only that the call failed, the log has the cause. */
export function modelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError('failed', 'the call failed', { cause: error });
}
