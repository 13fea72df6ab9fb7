/**
 * Error messages of failed turns. Peers (clients over the network) get only a message without internal details, and a
 * correlation id. The person who runs the program gets the reason and the next step. The reason and the next step are
 * shown in the terminal and by `parley -p`, and are written to the log.
 */
import { trimEndOf } from '../../base/index.ts';
import type { Event } from '../../agent/index.ts';

/** A failed run. */
type Failure = Pick<Event, 'error'>;

/** Messages for failures whose reason may be sent to peers, by the code of the failure. */
const FAILURES: Readonly<Record<string, string>> = {
  'step-limit': 'The turn has reached its limit of model calls.',
  'time-limit': 'The turn has reached its time limit.',
  'event-limit': 'The turn has reached its limit of events.',
  'token-limit': 'The session has reached its token limit (limits.maxTokens). Start a new session.',
  'cost-limit': 'The session has reached its cost limit (limits.maxCostUsd). Start a new session.',
  'model-exhausted': 'The scripted model has no more responses (script exhausted).',
};

/**
 * Returns the next steps for the person, by the code of the failure. Most error messages of models already contain the
 * next step. In a live session, the person can select another model with /model. Without a live session, the model is
 * chosen when the program starts.
 */
function nextSteps(isLive: boolean): Readonly<Record<string, string>> {
  const another = isLive
    ? 'use /model to select another model'
    : 'choose another model with --model';
  return {
    'model-too-long': 'Use /compress to shorten the conversation, or /clear to start a new one.',
    'step-limit':
      'Send another message to continue; limits.maxSteps in settings.json sets the limit.',
    'token-limit': 'Start a new session, or raise limits.maxTokens in settings.json.',
    'cost-limit': 'Start a new session, or raise limits.maxCostUsd in settings.json.',
    'model-no-key': `Then start Parley again, or ${another}.`,
    'model-bad-key': `Then start Parley again, or ${another}.`,
    'model-not-found': `${another.charAt(0).toUpperCase()}${another.slice(1)}.`,
  };
}

/** Returns the code of a failure, or undefined if the code must not be sent to peers. */
export function publicCode({ error }: Failure): string | undefined {
  return error && Object.hasOwn(FAILURES, error.code) ? error.code : undefined;
}

/** Returns whether the failure was caused by the model. */
export function isModelFailure({ error }: Failure): boolean {
  return error?.code.startsWith('model-') === true;
}

/** Returns the error message for peers. It contains no internal details. */
export function publicReason(failure: Failure): string {
  const known = FAILURES[failure.error?.code ?? ''];
  return known ?? (isModelFailure(failure) ? 'The model gave no answer.' : 'The agent failed.');
}

/** Returns the reason for a failure, and the next step if there is one, for the person who runs the program. */
export function fullReason({ error }: Failure, isLive: boolean): string {
  const { code = '', message = 'the agent failed' } = error ?? {};
  const next = nextSteps(isLive)[code];
  return next === undefined ? message : `${trimEndOf(message, '. \t\r\n')}. ${next}`;
}
