/**
 * Tries one candidate after another until one starts to answer. From then on, only this candidate is used, so that two
 * answers are never mixed.
 *
 * A failed candidate is retried if a retry may succeed, the wait is short, and the candidate has attempts left
 * (`attempts`). If one of these conditions is not met, the next candidate is tried. After an error about the request
 * itself, no other candidate is tried. A candidate whose circuit is open, or that must not be called for a while
 * (`pausesProvider`), is skipped. A candidate whose provider has no free slot for another concurrent call
 * (`maxConcurrent`) is tried after the others.
 */
import { backoffMs, type CircuitWait, pause, QueueFullError } from '../../base/index.ts';
import { ModelError } from '../../agent/index.ts';
import { mayTryAgain } from '../../agent/internal/index.ts';
import type { Candidate } from './catalogue.ts';
import { failsOver, isProviderFault, pausesProvider } from './failure.ts';

export interface FailoverOptions<Answer> {
  readonly candidates: readonly Candidate[];
  /** The workspace of the caller. Circuit breakers and slots treat each workspace as a separate caller. */
  readonly workspace: string;
  /** Calls a candidate. Resolves as soon as its answer has started. Throws if the call fails. */
  begin(candidate: Candidate, signal: AbortSignal): Promise<Answer>;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  /** The deadline for all candidates together, on the clock of `performance.now`. */
  readonly deadline: number;
  /** A signal that is aborted at the deadline or by the caller's signal. */
  readonly within: AbortSignal;
  readonly random: () => number;
  /**
   * The delay before the first retry, in milliseconds. It doubles with each further retry, up to MAX_DELAY_MS. Each
   * delay is shortened at random, by up to half. A longer Retry-After replaces this delay.
   */
  readonly delayMs: number;
  /** Called with the next step after a failure, unless the caller has left. Must not throw. */
  onFailure(candidate: Candidate, error: ModelError, next: NextStep): void;
}

/** The step after a failure: retry the same candidate, try another candidate, or give up. */
export type NextStep = 'again' | 'elsewhere' | 'nothing';

/** The candidate that answers, and its answer. */
export interface Answering<Answer> {
  readonly candidate: Candidate;
  readonly answer: Answer;
  /**
   * Ends the answer. `whole`: the answer is complete. `broken`: the model failed. `left`: the reader stopped. Only the
   * first call has an effect.
   */
  end(how: 'whole' | 'broken' | 'left'): void;
}

/** Maximum delay before a retry, if the provider does not request a longer one. */
const MAX_DELAY_MS = 5000;
/**
 * The longest Retry-After for which a candidate is retried although an untried candidate can be called. If Retry-After
 * is longer, the untried candidate is called.
 */
const SHORT_WAIT_MS = 1000;
/** The longest Retry-After for which a candidate is retried if no untried candidate can be called. */
const LONG_WAIT_MS = 30_000;

/** Thrown if no candidate answered. The message of `error` may contain the provider's name for the model. */
export class NoAnswer extends Error {
  readonly error: ModelError;
  readonly candidate: Candidate | undefined;

  constructor(error: ModelError, candidate?: Candidate) {
    super(error.message, { cause: error });
    this.error = error;
    this.candidate = candidate;
  }
}

/**
 * Returns the first answer that starts. Throws NoAnswer if no candidate answers. If the caller's signal is aborted,
 * throws its reason.
 */
export async function firstAnswer<Answer>(
  options: FailoverOptions<Answer>,
): Promise<Answering<Answer>> {
  const { candidates, workspace, signal, within } = options;
  await untilOneIsReady(options);
  const queue = candidates.map((candidate) => ({ candidate, waits: false }));
  const isReady = ({ provider, model }: Candidate): boolean =>
    provider.circuits.wait(model, workspace) === undefined;
  let failure: NoAnswer | undefined;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { candidate, waits } = next;
    if (!waits && queue.length > 0 && !candidate.provider.slots.free(workspace)) {
      queue.push({ candidate, waits: true });
      continue;
    }
    if (!isReady(candidate)) continue;
    const others = () => queue.some((each) => isReady(each.candidate));
    try {
      const answering = await tryCandidate(candidate, options, others);
      if (answering !== undefined) return answering;
    } catch (error) {
      signal.throwIfAborted();
      const known = modelError(error);
      // If all candidates fail, the last retryable error is reported, or the last error if none is retryable.
      if (!failure?.error.retryable || known.retryable) failure = new NoAnswer(known, candidate);
      const over = !failsOver(known) || within.aborted;
      options.onFailure(candidate, known, over || queue.length === 0 ? 'nothing' : 'elsewhere');
      if (over) throw new NoAnswer(known, candidate);
    }
  }
  throw failure ?? new NoAnswer(noneReady(candidates, workspace));
}

/**
 * If no candidate can be called now, waits for the candidate with the shortest wait. Does so only if this candidate has
 * a retryable rate limit, and if the wait is at most LONG_WAIT_MS and ends before the deadline.
 */
async function untilOneIsReady(options: FailoverOptions<unknown>): Promise<void> {
  const { candidates, workspace, within, deadline } = options;
  const first = firstReady(candidates, workspace);
  if (first?.cause?.code !== 'rate-limit' || !first.cause.retryable) return;
  if (first.ms > LONG_WAIT_MS || performance.now() + first.ms >= deadline) return;
  await pause(first.ms, within);
}

/** Returns the shortest wait among the candidates, or undefined if a candidate can be called now. */
function firstReady(
  candidates: readonly Candidate[],
  workspace: string,
): CircuitWait<ModelError> | undefined {
  let first: CircuitWait<ModelError> | undefined;
  for (const { provider, model } of candidates) {
    const wait = provider.circuits.wait(model, workspace);
    if (!wait) return undefined;
    if (!first || wait.ms < first.ms) first = wait;
  }
  return first;
}

/**
 * Calls one candidate, and retries up to its number of attempts. Returns undefined if its circuit rejects the first
 * attempt. If no attempt succeeds, throws the error of the last one. Releases the candidate's slot during the delay
 * before a retry.
 */
async function tryCandidate<Answer>(
  candidate: Candidate,
  options: FailoverOptions<Answer>,
  others: () => boolean,
): Promise<Answering<Answer> | undefined> {
  const { workspace, signal, within } = options;
  const { model, provider } = candidate;
  const { circuits, slots, config } = provider;
  let last: ModelError | undefined;
  for (let attempt = 1; ; attempt++) {
    const release = await slots.take(workspace, within);
    const permit = circuits.enter(model, workspace);
    if (permit === undefined) {
      release();
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
      release();
      if (signal.aborted) permit.leave();
      signal.throwIfAborted();
      last = within.aborted ? modelError(within.reason) : modelError(error);
      if (isProviderFault(last)) permit.failed();
      else permit.ok();
      if (pausesProvider(last)) circuits.pause(model, workspace, last);
      const wait = waitBefore(attempt, last, options, others());
      if (wait === undefined || attempt >= config.attempts || within.aborted) throw last;
      options.onFailure(candidate, last, 'again');
      await pause(wait, within);
    }
  }
}

/** Returns the delay before a retry, or undefined if there should be no retry. */
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

/** Returns the error for the case that no candidate can be called now. */
function noneReady(candidates: readonly Candidate[], workspace: string): ModelError {
  const { ms = 0, cause } = firstReady(candidates, workspace) ?? {};
  if (cause) {
    const { code, message, status, retryable } = cause;
    const retryAfterMs = retryable ? ms : undefined;
    return new ModelError(code, message, { status, retryable, retryAfterMs, cause });
  }
  const message = 'the circuit breakers of all providers of the model are open';
  return new ModelError('overloaded', message, { retryable: true, retryAfterMs: ms });
}

/**
 * Converts an error to a ModelError. The details of an unknown error are only in the `cause` of the ModelError, for the
 * log.
 */
export function modelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof QueueFullError) {
    const message = 'too many calls are waiting for this provider';
    return new ModelError('overloaded', message, { retryable: true });
  }
  return new ModelError('failed', 'the call failed', { cause: error });
}
