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
      const ticketText = shortText('ticket', ticket);
      const nameText = name === undefined ? undefined : shortText('name', name);
      const issued = access.exchange(ticketText, { name: nameText, remote });
      return { headers: NO_STORE, body: issued };
    },
  };
}

function shortText(field: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= MAX_CHARS) return value;
  const rule = `must be a string of at most ${MAX_CHARS} characters`;
  throw new A2AError('invalidParams', `${field}: ${rule}`);
}
