/** Signs a person in and out. `signedIn` is the current state. */
import { signal } from '@preact/signals';
import { redeemTicket, remembered, SERVER_KIND } from './access.ts';
import { goTo } from './route.ts';
import { isRefused, signIn, type Server } from './server.ts';

export type SignedIn =
  | { readonly kind: 'checking' }
  /**
   * The server needs a key. `why` is the reason why the last key or link is not accepted. It is empty if there was no
   * key or link, or if the person signed out.
   */
  | { readonly kind: 'out'; readonly why: string }
  | { readonly kind: 'in'; readonly server: Server }
  | { readonly kind: 'failed'; readonly error: unknown };

export const signedIn = signal<SignedIn>({ kind: 'checking' });

/**
 * Signs in with the key of this tab, or without a key if the tab has none. On the page of `parley inspect`, first
 * exchanges the ticket in the link for a token.
 */
export async function begin(): Promise<void> {
  signedIn.value = { kind: 'checking' };
  try {
    if (SERVER_KIND === 'inspector' && (await redeemTicket())) goTo('#/', { replace: true });
    await enter(remembered('token').value);
  } catch (error) {
    if (isRefused(error)) leave('This link has already been used, or it has expired.');
    else signedIn.value = { kind: 'failed', error };
  }
}

/** Signs in with this key. If the server refuses the key, asks for another key. Throws any other error. */
export async function enter(key: string | undefined): Promise<void> {
  // Keys contain only printable ASCII. A browser refuses to send most other characters in a header, such as the "…" at
  // the end of a shortened key in the list.
  if (key !== undefined && /[^\x21-\x7e]/.test(key)) {
    leave('The server does not accept this key.');
    return;
  }
  try {
    const server = await signIn(key);
    remembered('token').value = key;
    signedIn.value = { kind: 'in', server };
  } catch (error) {
    if (!isRefused(error)) throw error;
    leave(key === undefined ? '' : 'The server does not accept this key.');
  }
}

/** Forgets the key and asks for another one. `why` is shown to the person. */
export function leave(why = ''): void {
  remembered('token').value = undefined;
  signedIn.value = { kind: 'out', why };
}

/** If the error means that the server refuses the current key, asks for another key and returns true. */
export function leaveIfRefused(error: unknown): boolean {
  if (!isRefused(error)) return false;
  leave('The server no longer accepts this key.');
  return true;
}
