/**
 * Remembers the reasons for failures, by correlation id. Peers get only the correlation id. The person who runs the
 * program also gets the reason, which `parley -p` prints and the terminal shows.
 */
import { BoundedMap, oneLine, reasonOf } from '../../base/index.ts';
import type { Logger } from '../../tasks/index.ts';

/** Maximum number of reasons that are remembered. */
const MAX_CAUSES = 100;

/**
 * Returns a log that also remembers the errors that have a correlation id. `causeOf` returns the reason for such an
 * error in one line.
 */
export function rememberCauses<Log extends Logger>(given: Log) {
  const causes = new BoundedMap<string>(MAX_CAUSES);
  const log: Log = {
    ...given,
    error(fields, message) {
      const id: unknown = Reflect.get(fields, 'correlationId');
      const cause = causeIn(fields);
      if (typeof id === 'string' && cause !== undefined) causes.set(id, cause);
      given.error(fields, message);
    },
  };
  return { log, causeOf: (correlationId: string) => causes.get(correlationId) };
}

/** Returns the reason in the fields of a log line, if there is one. The reason has one line. */
export function causeIn(fields: object): string | undefined {
  const problem: unknown = Reflect.get(fields, 'problem');
  const error: unknown = Reflect.get(fields, 'err');
  if (typeof problem === 'string') return oneLine(problem);
  return error === undefined ? undefined : reasonOf(error);
}
