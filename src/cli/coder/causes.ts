/**
 * Remembers why something failed, by the correlation id. Peers get only this id. The person who runs the program gets
 * the reason: `parley -p` prints it, and the terminal shows it.
 */
import { BoundedMap, reasonOf } from '../../base/index.ts';
import type { Logger } from '../../tasks/index.ts';

/** Maximum number of reasons that are remembered. */
const MAX_CAUSES = 100;

export interface Causes<Log extends Logger> {
  /** Writes to the given log, and remembers the errors that have a correlation id. */
  readonly log: Log;
  /** Returns the reason for a failure in one line, or undefined if it is not known here. */
  readonly causeOf: (correlationId: string) => string | undefined;
}

export function rememberCauses<Log extends Logger>(log: Log): Causes<Log> {
  const causes = new BoundedMap<string>(MAX_CAUSES);
  return {
    log: {
      ...log,
      error(fields, message) {
        const id: unknown = Reflect.get(fields, 'correlationId');
        const cause = causeIn(fields);
        if (typeof id === 'string' && cause !== undefined) causes.set(id, cause);
        log.error(fields, message);
      },
    },
    causeOf: (id) => causes.get(id),
  };
}

/** Returns the reason in the fields of a log line, if there is one. */
export function causeIn(fields: object): string | undefined {
  const problem: unknown = Reflect.get(fields, 'problem');
  const error: unknown = Reflect.get(fields, 'err');
  if (typeof problem === 'string') return problem;
  return error === undefined ? undefined : reasonOf(error);
}
