/** The route at which a client exchanges a ticket for a token. */
import { isObject } from '../../base/index.ts';
import { NO_STORE, type JsonRoute } from '../../http/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { LiveAccess } from '../access.ts';

/** Maximum length of a ticket and of a name. */
const MAX_CHARS = 256;
/** Maximum size of a request's body. The limit is small, because the route accepts requests without a token. */
const MAX_BODY_BYTES = 8 * 1024;

export function ticketRoute(access: LiveAccess): JsonRoute {
  return {
    verb: 'POST',
    path: '/session/tickets',
    public: true,
    maxBodyBytes: MAX_BODY_BYTES,
    async handle({ body, remote }) {
      const { ticket, name } = isObject(body) ? body : {};
      if (!isShort(ticket))
        throw new A2AError(
          'invalidParams',
          `ticket: must be a string of at most ${MAX_CHARS} characters`,
        );
      if (name !== undefined && !isShort(name)) {
        throw new A2AError(
          'invalidParams',
          `name: must be a string of at most ${MAX_CHARS} characters`,
        );
      }
      const issued = access.exchange(ticket, { name, remote });
      return { headers: NO_STORE, body: issued };
    },
  };
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_CHARS;
}
