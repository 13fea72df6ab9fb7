/**
 * The live session that a terminal shows. It attaches the images that a prompt names. The UI starts before the agent is
 * loaded, so the session may still be opening. Calls wait until the session is open. If the session cannot be opened,
 * there are no items, `close` does nothing, and other calls fail. The code that opens the session reports the error.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { LiveClient, LiveItem, LiveSession } from '../../live/client/index.ts';
import { LIVE_ROLES } from '../../live/client/roles/index.ts';
import { withImagesOf } from './prompt-images.ts';

const TERMINAL: LiveClient = {
  id: 'terminal',
  name: 'terminal',
  kind: 'terminal',
  roles: LIVE_ROLES,
};

export function terminalSession(given: MaybePromise<LiveSession>): LiveSession {
  let opened = given instanceof Promise ? undefined : given;
  const opening = Promise.resolve(given);
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
    prompt: async (content) => (await opening).prompt(await withImagesOf(content)),
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
