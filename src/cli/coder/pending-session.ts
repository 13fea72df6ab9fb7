/**
 * A live session that is still being opened, so that the screen is there before the agent is: what is asked of it waits,
 * and its items begin when it does. Where it cannot be opened it has none; whoever opens it says why.
 */
import type { LiveClient, LiveItem, LiveSession } from '../../live/client/index.ts';

const SOMEBODY: LiveClient = {
  id: 'terminal',
  name: 'terminal',
  kind: 'terminal',
  roles: ['view', 'prompt', 'approve'],
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
      return opened?.self ?? SOMEBODY;
    },
    items,
    prompt: async (content) => (await opening).prompt(content),
    confirm: async (confirmation) => (await opening).confirm(confirmation),
    cancel: async () => (await opening).cancel(),
    commands: async () => (await opening).commands(),
    execute: async (request) => (await opening).execute(request),
    clients: async () => (await opening).clients(),
    async close() {
      await (await opening.catch(() => undefined))?.close();
    },
  };
}
