/**
 * A live session that is still being opened. It lets the UI start before the agent is loaded. Calls wait until the
 * session is open. If the session cannot be opened, there are no items, and the code that created `opening` reports the
 * error.
 */
import type { LiveClient, LiveItem, LiveSession } from '../../live/client/index.ts';
import { LIVE_ROLES } from '../../live/client/roles/index.ts';

const TERMINAL: LiveClient = {
  id: 'terminal',
  name: 'terminal',
  kind: 'terminal',
  roles: LIVE_ROLES,
};

export function pendingSession(opening: Promise<LiveSession>): LiveSession {
  let opened: LiveSession | undefined;
  opening.then(
    (session) => (opened = session),
    () => undefined,
  );

  async function* items(options?: Parameters<LiveSession['items']>[0]): AsyncGenerator<LiveItem> {
    const session = await opening.catch(() => undefined);
    if (session) yield* session.items(options);
  }

  return {
    get self() {
      return opened?.self ?? TERMINAL;
    },
    items,
    prompt: async (content) => (await opening).prompt(content),
    confirm: async (confirmation) => (await opening).confirm(confirmation),
    cancel: async (options) => (await opening).cancel(options),
    commands: async () => (await opening).commands(),
    execute: async (request) => (await opening).execute(request),
    clients: async () => (await opening).clients(),
    revoke: async (client) => (await opening).revoke?.(client),
    async close() {
      await (await opening.catch(() => undefined))?.close();
    },
  };
}
