/**
 * The access of this page to its server: a ticket in the address, a token that this tab keeps, or none. The token is
 * never in a cookie, so the browser does not add it to requests of other pages.
 */
import { exchangeTicket, ticketIn } from '../../../live/client/index.ts';

/** The address of the agent, gateway or session that has served this page, without a slash at the end. */
export const BASE = new URL('.', location.href.replace(/[?#].*$/, '')).href.replace(/\/$/, '');

/** The kind of the server: a live session, an agent, a gateway, or `parley inspect`. */
export const SERVER_KIND = kindIn(
  document.querySelector<HTMLMetaElement>('meta[name="parley-server"]')?.content,
);

function kindIn(text: string | undefined): 'live' | 'gateway' | 'inspector' | 'agent' {
  return text === 'live' || text === 'gateway' || text === 'inspector' ? text : 'agent';
}

/** The name of this client, which the other clients of a live session see. */
export function ownName(): string {
  return /Mobi|Android/.test(navigator.userAgent) ? 'phone' : 'browser';
}

/**
 * Exchanges the ticket in the address for a token, which this tab keeps. Returns false if there is no ticket. The
 * ticket is removed from the address, so that it is neither shared nor bookmarked.
 */
export async function redeemTicket(): Promise<boolean> {
  const ticket = ticketIn(location.href);
  if (ticket === undefined) return false;
  history.replaceState(null, '', location.pathname + location.search);
  const { token } = await exchangeTicket(BASE, ticket, { name: ownName() });
  remembered('token').value = token;
  return true;
}

/**
 * A value that this tab keeps. If the browser does not allow storage, the value is only in memory. The key of a gateway
 * is also kept only in memory, because it may have all scopes. A script that reads the storage later does not find the
 * key there.
 */
export function remembered(what: 'token' | 'task') {
  const key = `parley.${what} ${BASE}`;
  const stores = !(what === 'token' && SERVER_KIND === 'gateway');
  return {
    get value(): string | undefined {
      if (!stores) return memory.get(key);
      try {
        return sessionStorage.getItem(key) ?? memory.get(key);
      } catch {
        return memory.get(key);
      }
    },
    set value(text: string | undefined) {
      if (text === undefined) memory.delete(key);
      else memory.set(key, text);
      if (!stores) return;
      try {
        if (text === undefined) sessionStorage.removeItem(key);
        else sessionStorage.setItem(key, text);
      } catch {
        // The value stays in memory.
      }
    },
  };
}

const memory = new Map<string, string>();
