/** The commands `/remote` and `/clients`: they let other devices join the session, and list and remove clients. */
import type { LiveClient, LiveSession, OwnerNotice } from '../../live/client/index.ts';
import { cleanLine } from '../../display/index.ts';
import type { TuiOptions } from './options.ts';

type Notice = Extract<OwnerNotice, { kind: 'notice' }>;

/** Runs `/remote` or `/clients`, and returns the notice that shows the result. */
export async function runSharing(
  command: 'remote' | 'clients',
  words: readonly string[],
  session: LiveSession,
  { remote }: Pick<TuiOptions, 'remote'>,
): Promise<Notice> {
  if (command === 'clients') return info(await clients(session, words));
  if (!remote) {
    return {
      kind: 'notice',
      level: 'error',
      text: 'Only the terminal that runs the session can open it to other devices.',
    };
  }
  const { text, url } = await remote(words);
  if (url === undefined) return info(text);
  // The package for QR codes is loaded on demand, because it is rarely used.
  const { encode } = await import('uqr');
  return { ...info(text), link: { url, code: encode(url, { border: 0 }).data } };
}

function info(text: string): Notice {
  return { kind: 'notice', level: 'info', text };
}

async function clients(session: LiveSession, words: readonly string[]): Promise<string> {
  const [action, ...rest] = words;
  const all = await session.clients();
  if (action === undefined) return list(all, session.self);
  const wanted = rest.join(' ');
  if (action !== 'revoke' || wanted === '') {
    return 'Type /clients to list the clients, or /clients revoke and the id or the name of one.';
  }
  // Clients choose their own names. So the text may be the id of one client and the name of another client. In this
  // case, it means the client with the id.
  const byId = all.filter(({ id }) => id === wanted);
  const found = byId.length > 0 ? byId : all.filter(({ name }) => name === wanted);
  const [client] = found;
  if (!client) return `No client has the id or the name ${cleanLine(wanted)}. Type /clients.`;
  // Connections with the same token count as one client.
  if (new Set(found.map(({ id, token }) => token ?? id)).size > 1) {
    return `Several clients have the name ${cleanLine(wanted)}. Use an id.`;
  }
  if (!session.revoke) return 'This session cannot remove clients.';
  await session.revoke(client.id);
  const removed = `${cleanLine(client.name)} was removed.`;
  return client.token === undefined ? removed : `${removed} Its token is no longer valid.`;
}

function list(all: readonly LiveClient[], self: LiveClient): string {
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));
  const ids = widest(all.map(({ id }) => id));
  const names = widest(all.map(({ name }) => cleanLine(name)));
  const lines = all.map(({ id, name, roles, connected }) => {
    const note = id === self.id ? ' (this client)' : connected === false ? ' (not connected)' : '';
    return `${id.padEnd(ids)}  ${cleanLine(name).padEnd(names)}  ${roles.join(', ')}${note}`;
  });
  return [...lines, '/clients revoke NAME or ID removes a client and revokes its token.'].join(
    '\n',
  );
}
